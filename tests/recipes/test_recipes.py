import inspect
from dataclasses import replace

import pytest

from prmkit.recipes import RECIPES, Recipe
from prmkit.recipes.signal import balanced_agreement
from prmkit.scorers.combine import by_steps
from prmkit.testing import check_scorer
from prmkit.types import Group, Problem, Scores, Step, Trajectory
from prmkit.worlds.exact import PROBLEM


async def clerk(prefixes, n=1, /, *, until="step"):
    """A policy that repeats the question's last word."""
    return [[t.then(Step(t.problem.prompt.split()[-1]), "done") for _ in range(n)] for t in prefixes]


async def critic(trajectories, /):
    """A scorer that knows which steps are right by themselves."""
    return [Scores(tuple(float(s.text != "wrong") for s in t.actions), "correctness") for t in trajectories]


@pytest.fixture
def build(world):
    """A recipe by name, with the parts it asks for taken from the exact world."""

    def make(name, **settings):
        have = {
            "policy": clerk if name == "critique" else world.policy,
            "verify": world.verify,
            "critic": critic,
            "ask": lambda t, i: f"is it {t.actions[i].text}",
            "read": lambda answer: float(answer == "right"),
        }
        parameters = inspect.signature(RECIPES[name]).parameters.values()
        return RECIPES[name](**{p.name: have[p.name] for p in parameters if p.default is p.empty}, **settings)

    return make


@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_builds_and_runs(name, run, build, world, solutions, group):
    r = build(name)
    assert isinstance(r, Recipe)
    assert any([r.label, r.objective, r.search, r.credit, r.curate, r.pair]), "a recipe fills a slot"
    if r.label:
        run(check_scorer(r.label, solutions))
    if r.search:
        assert run(r.search(PROBLEM, world.policy, by_steps(world.oracle, r.aggregate)))
    if r.credit:
        assert [len(a) for a in r.credit(group)] == [len(t.actions) for t in solutions]
    if r.curate:
        assert set(r.curate(group).trajectories) <= set(group.trajectories)
    if r.pair:
        assert all(
            group.outcomes[solutions.index(a)] > group.outcomes[solutions.index(b)] for a, b in r.pair(group)
        )


def test_a_recipe_is_short():
    assert max(len(inspect.getsource(f).splitlines()) for f in RECIPES.values()) <= 15


@pytest.mark.parametrize("name", ["math-shepherd", "omega-prm", "lessons"])
def test_labels_stop_being_good_at_the_first_error(name, run, build, world, solutions):
    scored = run(build(name, rollouts=64).label(solutions))
    truly = [tuple(float(v > 0) for v in world.truth(t).values) for t in solutions]
    assert [s.values for s in scored] == truly


def test_lessons_believes_the_stricter_of_rollouts_and_critic(run, build, world):
    healing = replace(world, p=1.0, heal=1.0)  # rollouts always end well, so only the critic sees the slip
    slip = Trajectory(PROBLEM, (Step("right"), Step("wrong")))
    recipe = RECIPES["lessons"](healing.policy, healing.verify, critic)
    (scores,) = run(recipe.label([slip]))
    assert scores.values == (1.0, 0.0)
    assert scores.kind == "correctness"


def test_critique_is_the_mean_verdict(run, build, solutions):
    scored = run(build("critique", votes=2).label(solutions))
    assert [s.values for s in scored] == [
        tuple(float(a.text == "right") for a in t.actions) for t in solutions
    ]


def solution(name, steps=1):
    return Trajectory(Problem("p"), tuple(Step(f"{name}{i}") for i in range(steps)), "done")


def test_progress_is_that_of_a_prover_with_several_tries():
    values = Scores((0.5, 0.0))
    pair = Group((solution("a", 2), solution("b", 2)), (1.0, 1.0), (values, values))
    # two tries: ¾ where one try has ½; progress 0 then −¾, centred on −⅜, doubled; equal outcomes add nothing
    rows = RECIPES["progress-advantage"](weight=2.0, best_of=2, start=0.5).credit(pair)
    assert rows == [[0.75, -0.75], [0.75, -0.75]]


def test_min_form_blames_what_leads_to_the_worst_step():
    good, bad = Scores((1.0, 1.0), "correctness"), Scores((1.0, 0.0), "correctness")
    pair = Group((solution("a", 2), solution("b", 2)), (1.0, 0.0), (good, bad))
    kept, blamed = RECIPES["min-form"](temperature=1e-3).credit(pair)
    assert min(kept) > 0 > max(blamed)
    assert blamed[0] == pytest.approx(blamed[1]), "filler before the worst step earns nothing"


def answers(*rows):
    """A group of one-step answers from (outcome, score) rows."""
    return Group(
        tuple(solution(f"s{i}-") for i in range(len(rows))),
        tuple(float(outcome) for outcome, _ in rows),
        tuple(Scores((score,)) for _, score in rows),
    )


@pytest.mark.parametrize(
    ("rows", "kept"),
    [
        ([(1, 0.9), (1, 0.2), (0, 0.8), (0, 0.1)], [0, 3]),  # one of each: the doubtful two go
        ([(1, 0.9), (1, 0.5), (1, 0.2), (0, 0.8)], [0, 3]),  # three right, one wrong: only right ones go
        ([(0, 0.9), (0, 0.5), (0, 0.2), (0, 0.8)], [1, 2]),  # all wrong: those that look best go
        ([(1, 0.9), (1, 0.5)], [0, 1]),  # nothing to drop
    ],
)
def test_kept_rollouts_agree_with_their_outcome_and_are_balanced(rows, kept):
    group = answers(*rows)
    chosen = balanced_agreement(2)(group)
    assert chosen.trajectories == tuple(group.trajectories[i] for i in kept)
    assert chosen.outcomes == tuple(group.outcomes[i] for i in kept)
    assert chosen.scores == tuple(group.scores[i] for i in kept)


def test_an_odd_surplus_is_taken_from_the_right_answers():
    assert balanced_agreement(3)(answers((1, 0.9), (1, 0.2), (0, 0.8), (0, 0.1))).outcomes == (1.0, 0.0, 0.0)
