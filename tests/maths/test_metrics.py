import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.maths import metrics

ties_likely = st.integers(0, 4).map(lambda i: i / 4)
scored = st.lists(st.tuples(ties_likely, st.sampled_from([0, 1])), min_size=1, max_size=20)


def test_first_error_f1_worked_by_hand():
    # wrong solutions: 1 of 2 found at the very step; right ones: 3 of 4 left alone; 2·½·¾ / (½ + ¾) = 0.6
    predicted = [2, 0, None, None, None, 1]
    true = [2, 1, None, None, None, None]
    found = metrics.first_error_scores(predicted, true)
    assert (found.accuracy_on_wrong, found.accuracy_on_right) == (0.5, 0.75)
    assert found.f1 == pytest.approx(0.6)
    assert (found.n_wrong, found.n_right) == (2, 4)


def test_f1_is_not_defined_when_one_sort_of_solution_is_absent():
    only_wrong = metrics.first_error_scores([1, 0], [1, 1])
    assert only_wrong == metrics.FirstError(None, 0.5, None, 2, 0)
    assert metrics.first_error_scores([None], [None]) == metrics.FirstError(None, None, 1.0, 0, 1)


def test_f1_is_zero_when_nothing_is_found_anywhere():
    assert metrics.first_error_scores([None, 0], [0, None]).f1 == 0.0


def test_first_errors_are_checked_before_they_are_counted():
    with pytest.raises(ValueError, match="not -1"):
        metrics.first_error_scores([-1], [None])
    with pytest.raises(ValueError, match="2 and 1"):
        metrics.first_error_scores([0, 1], [None])
    with pytest.raises(ValueError, match="no solutions"):
        metrics.first_error_scores([], [])


def test_auc_counts_ties_half():
    assert metrics.auc([0.9, 0.8, 0.1], [1, 1, 0]) == 1.0
    assert metrics.auc([0.1, 0.2, 0.9], [1, 1, 0]) == 0.0
    assert metrics.auc([0.5, 0.5], [1, 0]) == 0.5


@given(scored)
def test_auc_is_the_share_of_pairs_in_order(rows):
    right = [s for s, y in rows if y]
    wrong = [s for s, y in rows if not y]
    pairs = [1.0 if r > w else 0.5 if r == w else 0.0 for r in right for w in wrong]
    expected = pytest.approx(sum(pairs) / len(pairs)) if pairs else None
    assert metrics.auc([s for s, _ in rows], [y for _, y in rows]) == expected


def test_brier_worked_by_hand():
    assert metrics.brier([1.0, 0.5, 0.0], [1, 1, 1]) == pytest.approx((0 + 0.25 + 1) / 3)


def test_calibration_error_worked_by_hand():
    # two at 0.75, half right: off by 0.25; two at 0.25, none right: off by 0.25
    assert metrics.expected_calibration_error([0.75, 0.75, 0.25, 0.25], [1, 0, 0, 0]) == 0.25
    assert metrics.expected_calibration_error([1.0, 0.0], [1, 0]) == 0.0


def test_spearman_sees_order_only():
    assert metrics.spearman([1, 2, 3], [1, 10, 1000]) == pytest.approx(1)
    assert metrics.spearman([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert metrics.spearman([1, 1, 1], [3, 2, 1]) is None


def test_spearman_gives_ties_their_mean_rank():
    # ranks 1.5 1.5 3 and 1 2 3, centred -½ -½ 1 and -1 0 1: 1.5 / √(1.5 · 2)
    assert metrics.spearman([5, 5, 9], [1, 2, 3]) == pytest.approx(1.5 / 3**0.5)


def test_pass_at_k_worked_by_hand():
    assert metrics.pass_at_k(3, 1, 1) == pytest.approx(1 / 3)
    assert metrics.pass_at_k(3, 1, 3) == 1.0
    assert metrics.pass_at_k(3, 0, 2) == 0.0
    assert metrics.pass_at_k(2000, 1, 1000) == pytest.approx(0.5)


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_pass_at_k_refuses_what_cannot_be(n, c, k):
    with pytest.raises(ValueError, match="pass@"):
        metrics.pass_at_k(n, c, k)


@pytest.mark.parametrize("metric", [metrics.auc, metrics.brier, metrics.expected_calibration_error])
def test_numbers_that_cannot_be_measured_are_refused(metric):
    with pytest.raises(ValueError, match="at least one"):
        metric([], [])
    with pytest.raises(ValueError, match="2 and 1"):
        metric([0.1, 0.2], [1])
    with pytest.raises(ValueError, match="not finite"):
        metric([float("nan")], [1])
    with pytest.raises(ValueError, match="outside"):
        metric([0.5], [2])
