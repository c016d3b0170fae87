import json

import pytest

from prmkit.bench.compare import Arm, Comparison
from prmkit.bench.run import every, problem_seed, run_claim, some
from prmkit.errors import BadInput


def test_a_claim_holds_when_the_whole_interval_meets_the_margin(run, claim_of, two_arms):
    verdict = run(run_claim(claim_of(lambda seed: two_arms(90 + seed, 40))))
    (result,) = verdict.results
    (finding,) = result.asks[0]
    assert (verdict.ruling, verdict.reason) == ("holds", "")
    assert finding.treatment == (0.9, 0.91, 0.92, 0.93, 0.94)
    assert finding.control == (0.4,) * 5
    assert finding.interval.mean == pytest.approx(0.52)
    assert finding.interval.low >= 0.1
    assert finding.interval.n == 500
    assert result.spent == {"new": (64,) * 5, "old": (64,) * 5}


def test_a_claim_fails_when_the_whole_interval_misses_the_margin(run, claim_of, two_arms):
    assert run(run_claim(claim_of(lambda seed: two_arms(40, 40)))).ruling == "fails"


def test_a_claim_is_undecided_when_the_margin_lies_within_the_interval(run, claim_of, two_arms):
    verdict = run(run_claim(claim_of(lambda seed: two_arms(50, 40))))
    assert (verdict.ruling, verdict.reason) == ("undecided", "usual: an interval holds its bound")


def test_a_difference_that_comes_and_goes_with_the_seed_is_undecided(run, claim_of, two_arms):
    """On average 18 points, far more than chance among 500 problems; but three of five seeds bring none."""
    verdict = run(run_claim(claim_of(lambda seed: two_arms(85 if seed < 2 else 40, 40))))
    assert verdict.ruling == "undecided"


def test_unequal_budgets_leave_a_clear_difference_undecided(run, claim_of, two_arms):
    verdict = run(run_claim(claim_of(lambda seed: two_arms(90, 40, spent=(70, 60)))))
    assert verdict.ruling == "undecided"
    assert verdict.reason == "usual: budgets differ (rollouts: new 350, old 300)"


def test_budgets_may_differ_by_the_tolerance(run, claim_of, two_arms):
    assert run(run_claim(claim_of(lambda seed: two_arms(90, 40, spent=(100, 95))))).ruling == "holds"


def test_a_reference_that_spends_nothing_is_no_unequal_budget(run, claim_of, two_arms):
    assert run(run_claim(claim_of(lambda seed: two_arms(90, 40, spent=(64, None))))).ruling == "holds"


def test_fewer_than_five_seeds_show_figures_but_no_verdict(run, claim_of, two_arms):
    verdict = run(run_claim(claim_of(lambda seed: two_arms(90, 40)), seeds=4))
    assert (verdict.ruling, verdict.reason) == ("undecided", "usual: fewer than 5 seeds")
    assert verdict.results[0].asks[0][0].interval.mean == pytest.approx(0.5)


def test_a_figure_that_is_not_defined_decides_nothing(run, claim_of):
    def none_solved(seed):
        return {name: Arm({"solved": [0.0, 0.0]}, 1) for name in ("new", "old")}

    ask = Comparison("solved", "new", "old", at_least=2, form="ratio")
    verdict = run(run_claim(claim_of(none_solved, asks=((ask,),))))
    assert verdict.reason == "usual: a figure is not defined on what was measured"


def test_where_a_claim_should_fail_it_is_said_whether_it_did(run, claim_of, two_arms):
    claim = claim_of(
        lambda seed: two_arms(90, 40),
        should_fail=[
            ("easy", lambda seed: two_arms(90, 90), "nothing to gain"),
            ("hard", lambda seed: two_arms(90, 40), "too hard"),
            ("odd", lambda seed: two_arms(50, 40), "who knows"),
        ],
    )
    verdict = run(run_claim(claim))
    assert verdict.ruling == "holds"
    assert [r.as_expected for r in verdict.results] == [True, True, False, None]
    assert len(run(run_claim(claim, should_fail=False)).results) == 1


def test_every_row_must_hold_and_one_comparison_of_a_row_is_enough(run, claim_of, two_arms):
    better = Comparison("solved", "new", "old", at_least=0.1)
    worse = Comparison("solved", "old", "new", at_least=0.1)
    arms = lambda seed: two_arms(90, 40)  # noqa: E731
    assert run(run_claim(claim_of(arms, asks=((better, worse),)))).ruling == "holds"
    assert run(run_claim(claim_of(arms, asks=((better,), (worse,))))).ruling == "fails"


def test_rulings_are_joined_as_all_and_as_any():
    assert every(["holds", "holds"]) == "holds"
    assert every(["holds", "undecided"]) == "undecided"
    assert every(["fails", "undecided"]) == "fails"
    assert every([]) == "undecided"
    assert some(["fails", "holds"]) == "holds"
    assert some(["fails", "undecided"]) == "undecided"
    assert some(["fails", "fails"]) == "fails"


def test_every_seed_has_problems_of_its_own_between_700_and_799():
    lists = [problem_seed(seed, use) for seed in range(25) for use in range(4)]
    assert sorted(lists) == list(range(700, 800))
    with pytest.raises(ValueError, match="25 seeds"):
        problem_seed(25)


@pytest.mark.parametrize("seeds", [0, 26])
def test_a_number_of_seeds_without_problems_is_refused(run, claim_of, two_arms, seeds):
    with pytest.raises(BadInput, match="1 to 25"):
        run(run_claim(claim_of(lambda seed: two_arms(1, 1)), seeds=seeds))


def test_progress_counts_seeds_and_conditions(run, claim_of, two_arms):
    arms = lambda seed: two_arms(90, 40)  # noqa: E731
    heard = []
    run(
        run_claim(
            claim_of(arms, should_fail=[("odd", arms, "why")]), seeds=2, progress=lambda *x: heard.append(x)
        )
    )
    assert heard[0] == (0, 4, "usual, seed 0")
    assert [done for done, _, _ in heard] == [0, 1, 2, 3, 4]


def test_a_verdict_is_plain_json_with_every_seeds_figures(run, claim_of, two_arms):
    also = (Comparison("solved", "old", "new", form="ratio"),)
    verdict = run(run_claim(claim_of(lambda seed: two_arms(90, 40), also=also)))
    told = json.loads(json.dumps(verdict.as_json(), allow_nan=False))
    assert (told["name"], told["card"], told["verdict"], told["seeds"]) == ("toy", 1, "holds", 5)
    ask = told["results"][0]["asks"][0][0]
    assert ask["treatment"] == {"arm": "new", "seeds": [0.9] * 5}
    assert ask["wanted"] == {"at_least": 0.1, "at_most": None}
    assert ask["interval"]["mean"] == pytest.approx(0.5)
    assert told["results"][0]["also"][0]["interval"]["mean"] == pytest.approx(4 / 9)
