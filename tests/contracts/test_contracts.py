"""Every policy and every scorer of the toolkit, held to the contract that others are held to."""

import pytest

from prmkit.effects import batched, cached_policy, cached_scorer, limited, metered, retried
from prmkit.maths import labels
from prmkit.policies import in_world, open_policy
from prmkit.scorers import open_scorer
from prmkit.scorers.combine import by_prefix, ensemble, through
from prmkit.scorers.judge import judge
from prmkit.scorers.monte_carlo import bisect, monte_carlo
from prmkit.testing import ScriptedPolicy, check_policy, check_scorer, constant_scorer
from prmkit.text.answers import exact_answer
from prmkit.types import Problem, Step, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.exact import PROBLEM, Exact
from prmkit.worlds.pupil import Pupil, Slips

TOY, STORIES = [PROBLEM], arith.problems(2, seed=9)


async def echo(trajectories, /):
    """A world that repeats what it was told."""
    return [t.then(Step(f"saw {t.steps[-1].text}", by="world")) for t in trajectories]


def scripted(problem):
    return ["2+3=5\n", "5*4=20\n", "The answer is 20."]


POLICIES = {  # name -> (how to make it of folders, the problems to try it on)
    "exact": (lambda at: Exact().policy, TOY),
    "exact that heals": (lambda at: Exact(heal=0.5, seed=2).policy, TOY),
    "pupil": (lambda at: Pupil(Slips(), mend=0.3), STORIES),
    "scripted": (lambda at: ScriptedPolicy(scripted), TOY),
    "scripted with tokens": (lambda at: ScriptedPolicy(scripted, tokens=True), TOY),
    "in world": (lambda at: in_world(Exact().policy, echo), TOY),
    "hf, shipped": (lambda at: open_policy("builtin:arith"), STORIES),
    "hf, greedy": (lambda at: open_policy("builtin:arith", temperature=0), STORIES),
    "hf, cut": (lambda at: open_policy("builtin:arith", top_k=5, top_p=0.9, max_tokens=9), STORIES),
    "hf, untrained": (lambda at: open_policy(str(at("tiny")), max_tokens=20), STORIES),
    "batched": (lambda at: batched(Exact().policy), TOY),
    "limited and retried": (lambda at: limited(retried(Exact().policy), 2), TOY),
    "metered": (lambda at: metered(Pupil())[0], STORIES),
    "cached": (lambda at: cached_policy(Exact().policy, at("store") / "p.db", name="exact"), TOY),
}


async def clerk(prefixes, n=1, /, *, until="step"):
    """A policy that answers with the last word of the question it is asked."""
    return [[t.then(Step(t.problem.prompt.split()[-1]), "done")] * n for t in prefixes]


def question(trajectory, i):
    return f"is it {trajectory.actions[i].text}"


def word(said):
    return float(said == "right")


TOY_SCORERS = {  # name -> (how to make it of folders, does it say the same twice)
    "exact oracle": (lambda at: Exact().oracle, True),
    "constant": (lambda at: constant_scorer(0.5), True),
    "monte carlo": (lambda at: monte_carlo(Exact().policy, Exact().verify, rollouts=4), False),
    "monte carlo until success": (
        lambda at: monte_carlo(Exact().policy, Exact().verify, estimate=labels.hard, stop_at_success=True),
        False,
    ),
    "bisect": (lambda at: bisect(Exact().policy, Exact().verify, rollouts=4), False),
    "by prefix": (lambda at: by_prefix(Exact().verify), True),
    "ensemble": (lambda at: ensemble(Exact().oracle, constant_scorer(0.5), by=min), True),
    "through": (lambda at: through(lambda t: t, Exact().oracle), True),
    "judge": (lambda at: judge(clerk, question, word), True),
}
STORY_SCORERS = {
    "arith oracle": (lambda at: arith.oracle, True),
    "monte carlo on stories": (lambda at: monte_carlo(Pupil(), exact_answer, rollouts=2), False),
    # In a batch a sum may be rounded otherwise; how little that changes is shown in scorers/test_head.py.
    "head": (lambda at: open_scorer(at("tiny_prm")), False),
    "batched": (lambda at: batched(arith.oracle), True),
    "limited, retried and metered": (lambda at: metered(limited(retried(arith.oracle), 2))[0], True),
    "cached": (lambda at: cached_scorer(arith.oracle, at("store") / "s.db", name="oracle"), True),
}


@pytest.fixture
def at(request, tmp_path):
    """The folder of a model by its fixture's name, or a new one for a store."""
    return lambda name: tmp_path if name == "store" else request.getfixturevalue(name)


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_keeps_its_contract(name, run, at):
    make, problems = POLICIES[name]
    run(check_policy(make(at), problems))


@pytest.mark.parametrize("name", TOY_SCORERS)
def test_every_scorer_keeps_its_contract_on_the_exact_world(name, run, at):
    make, repeatable = TOY_SCORERS[name]
    (ended,) = run(Exact(seed=11).policy([Trajectory(PROBLEM)], 4, until="end"))
    begun = ended[0].prefixes()[1]
    odd = [Trajectory(PROBLEM), begun, Trajectory(PROBLEM, (Step("right"),), "length")]
    run(check_scorer(make(at), [*ended, *odd], repeatable=repeatable))


@pytest.mark.parametrize("name", STORY_SCORERS)
def test_every_scorer_keeps_its_contract_on_stories(name, run, at, homework):
    make, repeatable = STORY_SCORERS[name]
    problem = homework[0].problem
    spoken = Trajectory(problem, (Step("Hm.\n"), Step("a tool's word\n", by="world"), Step("So.\n")))
    run(
        check_scorer(
            make(at),
            [*homework[:4], homework[4].prefixes()[0], Trajectory(problem), spoken],
            repeatable=repeatable,
        )
    )


def test_a_policy_that_breaks_the_contract_is_found_out(run):
    async def deaf(prefixes, n=1, /, *, until="step"):
        return [[Trajectory(Problem("another"))] * n for _ in prefixes]

    with pytest.raises(AssertionError, match="keeps its problem"):
        run(check_policy(deaf, TOY))
