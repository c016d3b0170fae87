import numpy as np
import pytest

from prmkit.bench.compare import Arm, Comparison, compare, first_error_f1, mean, paired_interval
from prmkit.maths.stats import Interval

LOWER = Comparison("x", "a", "b", at_least=0.8, at_most=1.2)


def column(*values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("low", "high", "ruling"),
    [
        (0.8, 1.2, "holds"),
        (0.9, 1.3, "undecided"),
        (0.5, 0.79, "fails"),
        (1.21, 2.0, "fails"),
        (0.5, 1.0, "undecided"),
    ],
)
def test_an_interval_within_the_bounds_holds_and_one_outside_fails(low, high, ruling):
    assert LOWER.rule(Interval(1.0, low, high, 10)) == ruling


def test_arms_are_paired_by_problem_so_that_shared_luck_cancels():
    luck = np.random.default_rng(1).normal(0, 10, size=(50, 1))
    interval = paired_interval([(luck + 1, luck)] * 5, "difference", mean)
    assert interval.mean == pytest.approx(1)
    assert interval.high - interval.low < 1e-9


def test_the_interval_covers_what_another_seed_would_change():
    quiet = [(column(1, 1, 1), column(0, 0, 0))] * 5
    loud = [(column(x, x, x), column(0, 0, 0)) for x in (0, 0, 1, 2, 2)]
    assert paired_interval(quiet, "difference", mean).low == 1
    spread = paired_interval(loud, "difference", mean)
    assert spread.mean == 1
    assert spread.low < 0.5
    assert spread.high > 1.5


@pytest.mark.parametrize(("between_seeds", "between_problems"), [(1.0, 0.1), (0.0, 1.0)])
def test_the_interval_covers_the_true_difference_as_often_as_it_says(between_seeds, between_problems):
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        shifts = rng.normal(0, between_seeds, size=5)
        pairs = [(rng.normal(s, between_problems, size=(20, 1)), np.zeros((20, 1))) for s in shifts]
        interval = paired_interval(pairs, "difference", mean)
        covered += interval.low <= 0 <= interval.high
    assert covered >= 184  # 92 %: what 190 may fall to by chance


def test_one_seed_has_an_interval_over_its_problems():
    interval = paired_interval([(column(0, 1, 1, 2), column(0, 0, 0, 0))], "difference", mean)
    assert interval.low < 1 < interval.high


def test_a_ratio_is_that_of_the_means_over_seeds():
    seeds = [
        {"a": Arm({"x": [3, 3]}), "b": Arm({"x": [1, 1]})},
        {"a": Arm({"x": [6, 6]}), "b": Arm({"x": [2, 2]})},
    ]
    finding = compare(Comparison("x", "a", "b", at_least=3, form="ratio"), seeds)
    assert (finding.treatment, finding.control) == ((3, 6), (1, 2))
    assert finding.interval.mean == 3
    assert finding.ruling == "holds"


def test_problems_without_a_number_in_one_arm_are_left_out_and_counted():
    seeds = [{"a": Arm({"x": [1.0, None, 5.0]}), "b": Arm({"x": [0.0, 9.0, None]})}]
    finding = compare(Comparison("x", "a", "b"), seeds)
    assert finding.interval.mean == 1
    assert (finding.interval.n, finding.undefined) == (1, 2)


def test_a_nan_is_an_error_and_not_a_number_left_out():
    seeds = [{"a": Arm({"x": [float("nan")]}), "b": Arm({"x": [0.0]})}]
    with pytest.raises(ValueError, match="not finite"):
        compare(Comparison("x", "a", "b"), seeds)


def test_f1_is_made_of_counts_so_that_problems_can_be_drawn_anew():
    # Two wrong solutions, one found; two right ones, both passed: a = 1/2, b = 1, F1 = 2/3.
    rows = [(1, 1, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1), (0, 0, 1, 1)]
    seeds = [{"a": Arm({"f1": rows}), "b": Arm({"f1": [(0, 1, 0, 0), *rows[1:]]})}]
    finding = compare(Comparison("f1", "a", "b", figure=first_error_f1), seeds)
    assert finding.treatment == (pytest.approx(2 / 3),)
    assert finding.control == (0.0,)


def test_f1_is_not_defined_without_both_sorts():
    assert np.isnan(first_error_f1(np.array([0.5, 1.0, 0.0, 0.0])))
