"""The claims themselves: their records, and every arm once, at sizes that take seconds and decide nothing."""

from dataclasses import replace
from functools import partial

import pytest

from prmkit.bench.arms import omega, pqm, pure
from prmkit.bench.claims import CLAIMS
from prmkit.bench.page import as_markdown
from prmkit.bench.run import Condition, run_claim
from prmkit.recipes.papers import papers
from prmkit.text.answers import exact_answer
from prmkit.types import Example, Problem, Scores, Step, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil

SMALL_PQM = pqm.Sizes(problems=4, samples=2, rollouts=2, epochs=1, tests=4, candidates=3, valued=4)
SMALL_PURE = pure.Sizes(
    labelled=8, rollouts=2, epochs=1, problems=4, updates=1, at_once=2, samples=2, tests=4, tries=2
)


def test_every_claim_belongs_to_a_card_and_names_its_arms():
    cards = {p.id for p in papers()}
    for name, claim in CLAIMS.items():
        assert claim.name == name
        assert claim.card in cards
        compared = {arm for row in claim.asks for c in row for arm in (c.treatment, c.control)}
        assert claim.treatment in compared
        assert len({c.name for c in (*claim.holds_at, *claim.should_fail)}) == len(
            claim.holds_at + claim.should_fail
        )
    assert {CLAIMS[name].card for name in ("omega-prm", "pqm", "pure")} == {64, 16, 23}


def test_a_pupil_made_for_the_length_solves_about_half(run):
    for operations in (4, 16):
        pupil = Pupil(omega.half_right(operations))
        problems = arith.problems(200, seed=3, operations=(operations, operations))
        rows = run(pupil([Trajectory(p) for p in problems], 1, until="end"))
        assert 0.38 < sum(run(exact_answer([t for (t,) in rows]))) / 200 < 0.64


def test_bisection_finds_more_first_errors_for_the_same_rollouts(run):
    arms = run(omega.locate(0, operations=8, slices=3))
    found = {name: sum(arm.values[omega.FOUND]) for name, arm in arms.items()}
    assert found["bisection"] > 1.5 * found["every step"] > 0
    assert all(0.85 * 768 < arm.spent <= 768 for arm in arms.values())


def test_the_omega_claim_runs_through_its_conditions(run):
    small = {
        name: tuple(
            Condition(c.name, partial(c.play, slices=2), c.why) for c in getattr(CLAIMS["omega-prm"], name)
        )
        for name in ("holds_at", "should_fail")
    }
    small["holds_at"] = small["holds_at"][:1]
    small["should_fail"] = small["should_fail"][:1]
    verdict = run(run_claim(replace(CLAIMS["omega-prm"], **small), seeds=2))
    assert [r.condition for r in verdict.results] == ["M=8", "M=4"]
    assert verdict.ruling == "undecided"  # two seeds are too few
    long, short = (r.asks[0][0].interval.mean for r in verdict.results)
    assert long > short > 1


def test_both_labellers_read_the_same_solutions(run):
    async def first_three(name):
        stream = omega.labelled(name, Pupil, 4, 0, budget=10_000)
        return [(await anext(stream))[0] for _ in range(3)]

    assert run(first_three("bisection")) == run(first_three("every step"))


def test_prms_are_trained_on_what_each_labeller_labelled(run):
    arms = run(omega.train(0, operations=4, budget=160, held_out=6))
    assert set(arms) == set(omega.LABELLERS)
    for arm in arms.values():
        assert len(arm.values[omega.F1]) == 6
        assert 0 < arm.spent <= 160


def test_pqm_plays_a_seed_and_shares_the_pool_between_conditions(run):
    study = pqm.Study(SMALL_PQM)
    arms = run(study.play(0))
    pool = study._last[1]
    masked = run(study.play(0, masked=True))
    assert study._last[1] is pool
    for played in (arms, masked):
        assert set(played) == {"ranking", "cross-entropy"}
        assert {len(arm.values[pqm.BEST]) for arm in played.values()} == {4}
        assert len({arm.spent for arm in played.values()}) == 1
    assert masked["ranking"].spent <= arms["ranking"].spent


def test_the_chosen_candidate_is_the_best_by_its_worst_step():
    scores = [[Scores((0.9, 0.1)), Scores((0.4, 0.5))]]
    assert pqm._chosen(scores, [[0.0, 1.0]], min) == [1.0]
    assert pqm._chosen(scores, [[0.0, 1.0]], max) == [0.0]


def test_labels_after_the_first_error_can_be_hidden():
    example = Example(Trajectory(Problem("?"), (Step("a"), Step("b"), Step("c"))), (1.0, 0.0, 1.0))
    assert pqm.hidden_after_error(example).labels == (1.0, 0.0, None)


def test_pure_trains_both_rules_on_as_many_rollouts(run):
    arms = run(pure.Study(SMALL_PURE).play(0))
    assert arms[pure.BASE].spent is None
    assert arms["min-form"].spent == arms["sum-form"].spent == 4
    for arm in arms.values():
        assert {len(values) for values in arm.values.values()} == {4}


def test_the_strict_judge_pays_filler_nothing_and_an_error_less_than_nothing(run):
    problem = Problem("?", "3", data={"start": 1, "operations": [("+", 2)]})
    steps = (Step("So far so good.\n"), Step("1+2=4\n"), Step("The answer is 4."))
    trajectory = Trajectory(problem, steps, "done")
    assert run(pure.strict_judge([trajectory]))[0].values == (0.5, 0.0, 0.0)
    assert pure.filler_share(trajectory) == pytest.approx(1 / 3)


def test_a_verdict_can_be_read_and_becomes_a_page(run, claim_of, two_arms):
    failing = [("easy", lambda seed: two_arms(90, 90), "nothing to gain")]
    verdict = run(run_claim(claim_of(lambda seed: two_arms(90, 40), should_fail=failing)))
    page = as_markdown([verdict.as_json()])
    assert "- At usual: difference in solved 0.500 [" in page
    assert "- Expected to fail at easy (nothing to gain): difference in solved 0.000 [0.000, 0.000]; " in page
    assert "it fails, as expected." in page
    assert "## toy (card 1): holds" in page
    assert "prm claim toy --seeds 5" in page
