import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.maths.calibrate import Bin, reliability


def test_bins_worked_by_hand():
    bins = reliability([0.1, 0.25, 0.75, 1.0], [0, 1, 1, 1], bins=4)
    assert bins == [
        Bin(0.0, 0.25, 0.1, 0.0, 1),
        Bin(0.25, 0.5, 0.25, 1.0, 1),
        Bin(0.75, 1.0, 0.875, 1.0, 2),
    ]


@pytest.mark.parametrize("tenth", range(10))
def test_a_score_on_an_edge_opens_its_bin(tenth):
    (only,) = reliability([tenth / 10], [1])
    assert only.low == tenth / 10


@given(
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0, 1])), min_size=1, max_size=30), st.integers(1, 12)
)
def test_bins_hold_every_score_once(rows, bins):
    found = reliability([s for s, _ in rows], [y for _, y in rows], bins)
    assert sum(b.n for b in found) == len(rows)
    assert sum(b.n * b.share_right for b in found) == pytest.approx(sum(y for _, y in rows))
    assert all(b.n > 0 and b.low - 1e-12 <= b.mean_score <= b.high + 1e-12 for b in found)


def test_there_must_be_a_bin():
    with pytest.raises(ValueError, match="at least one bin"):
        reliability([0.5], [1], bins=0)
