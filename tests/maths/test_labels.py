import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.maths import labels

outcomes = st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=12)


def test_soft_is_a_share_and_hard_asks_for_one():
    assert labels.soft([1, 0, 0, 0]) == 0.25
    assert labels.hard([1, 0, 0, 0]) == 1.0
    assert labels.hard([0, 0]) == 0.0


@given(outcomes)
def test_counts_say_the_same_as_the_outcomes_they_count(ends):
    assert labels.soft_from_counts(sum(ends), len(ends)) == labels.soft(ends)
    assert labels.hard_from_counts(sum(ends), len(ends)) == labels.hard(ends)


@pytest.mark.parametrize("estimate", [labels.soft, labels.hard])
def test_no_continuations_give_no_label(estimate):
    with pytest.raises(ValueError, match="no continuations"):
        estimate([])


@pytest.mark.parametrize(("successes", "rollouts"), [(0, 0), (3, 2), (-1, 2)])
@pytest.mark.parametrize(
    "of_counts", [labels.soft_from_counts, labels.hard_from_counts, labels.beta_interval]
)
def test_impossible_counts_are_refused(of_counts, successes, rollouts):
    with pytest.raises(ValueError, match="is not a count"):
        of_counts(successes, rollouts)


def test_the_first_error_is_the_first_below_the_threshold():
    assert labels.first_error([0.9, 0.5, 0.3, 0.1]) == 2
    assert labels.first_error([0.9, 0.5], threshold=0.6) == 1
    assert labels.first_error([0.9, 0.5]) is None
    assert labels.first_error([]) is None


def test_labels_after_the_first_wrong_one_are_unknown():
    assert labels.mask_after_first_error([1, 0, 1, 0]) == (1, 0, None, None)
    assert labels.mask_after_first_error([1, 1]) == (1, 1)
    assert labels.mask_after_first_error([0.8, 0.4, 0.9], threshold=0.3) == (0.8, 0.4, 0.9)


def test_the_interval_of_no_rollouts_won_starts_at_zero():
    low, high = labels.beta_interval(0, 8)
    assert low == 0.0
    assert 0.2 < high < 0.35  # about 3/n, the rule of three, a little tighter
    assert labels.beta_interval(8, 8) == pytest.approx((1 - high, 1.0))


@given(st.integers(1, 40), st.data())
def test_the_interval_holds_the_label_and_narrows_with_rollouts(n, data):
    s = data.draw(st.integers(0, n))
    low, high = labels.beta_interval(s, n)
    assert 0 <= low <= s / n <= high <= 1
    wide = labels.beta_interval(s, n, level=0.99)
    assert wide[0] <= low
    assert high <= wide[1]
    more = labels.beta_interval(10 * s, 10 * n)
    assert more[1] - more[0] < high - low
