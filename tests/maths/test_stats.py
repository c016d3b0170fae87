import math

import numpy as np
import pytest

from prmkit.maths import stats
from prmkit.maths.stats import Interval, bootstrap, bootstrap_statistic, paired_difference


def test_an_interval_reads_in_one_line():
    assert str(Interval(0.612, 0.5749, 0.65, 300)) == "0.61 [0.57, 0.65] n=300"


def test_an_interval_excludes_zero_on_either_side():
    assert Interval(0.2, 0.1, 0.3, 9).excludes_zero
    assert Interval(-0.2, -0.3, -0.1, 9).excludes_zero
    assert not Interval(0.1, 0.0, 0.2, 9).excludes_zero


def test_the_bootstrap_agrees_with_the_normal_law_where_that_holds():
    found = bootstrap([1.0] * 240 + [0.0] * 160)
    half = 1.96 * math.sqrt(0.6 * 0.4 / 400)
    assert found.mean == pytest.approx(0.6)
    assert (found.low, found.high) == pytest.approx((0.6 - half, 0.6 + half), abs=0.01)
    assert found.n == 400


def test_a_higher_level_gives_a_wider_interval():
    values = [0.0, 1.0] * 30
    assert bootstrap(values, level=0.99).low < bootstrap(values, level=0.8).low


def test_the_same_seed_gives_the_same_interval():
    values = [math.sqrt(i) for i in range(40)]
    assert bootstrap(values, seed=3) == bootstrap(values, seed=3)
    assert bootstrap(values, seed=3) != bootstrap(values, seed=4)


def test_numbers_all_alike_are_sure():
    assert bootstrap([0.5] * 7) == Interval(0.5, 0.5, 0.5, 7)


def test_many_problems_are_drawn_in_blocks(monkeypatch):
    values = [0.0, 1.0] * 20
    monkeypatch.setattr(stats, "CELLS_AT_ONCE", 120)  # three resamples of 40 at a time
    blocks = list(stats._draws(len(values), 7, seed=0))
    assert [b.shape for b in blocks] == [(3, 40), (3, 40), (1, 40)]
    assert bootstrap(values, resamples=50).n == 40


def test_a_statistic_of_rows_that_is_a_mean_gives_the_same_interval():
    values = np.array([0.0, 1.0, 1.0, 0.5] * 5)
    by_rows = bootstrap_statistic(values, lambda rows: float(values[rows].mean()), resamples=200)
    assert by_rows == bootstrap(values.tolist(), resamples=200)


def test_resamples_without_the_statistic_say_nothing():
    def share_where_defined(rows):
        return 1.0 if 0 in rows else None

    assert bootstrap_statistic(range(3), share_where_defined) == Interval(1.0, 1.0, 1.0, 3)


def test_a_statistic_that_is_not_defined_on_all_rows_has_no_interval():
    with pytest.raises(ValueError, match="not defined on these 2 rows"):
        bootstrap_statistic(range(2), lambda rows: None)


def test_pairing_sees_a_small_steady_gain_that_two_intervals_would_not():
    easy_and_hard = [0.0, 1.0] * 20
    better = [x + 0.05 for x in easy_and_hard]
    gain = paired_difference(better, easy_and_hard)
    assert gain.mean == pytest.approx(0.05)
    assert gain.excludes_zero
    assert bootstrap(better).low < bootstrap(easy_and_hard).high
    assert paired_difference(easy_and_hard, better).mean == pytest.approx(-0.05)


def test_no_problems_and_uneven_pairs_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        bootstrap([])
    with pytest.raises(ValueError, match="at least one"):
        bootstrap_statistic([], lambda rows: 0.0)
    with pytest.raises(ValueError, match="2 and 1"):
        paired_difference([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="not finite"):
        bootstrap([0.1, math.nan])
    with pytest.raises(ValueError, match="level"):
        bootstrap([0.1], level=95)
    with pytest.raises(ValueError, match="resample"):
        bootstrap([0.1], resamples=0)
