import pytest

from prmkit.maths import aggregate as agg
from prmkit.types import Candidate, Problem, Step, Trajectory


def candidate(answer, value):
    return Candidate(Trajectory(Problem("q"), (Step(answer),), "done"), value)


def said(c):
    return c.trajectory.text or None


def test_the_aggregates_worked_by_hand():
    values = (0.5, 0.2, 0.8)
    assert agg.last(values) == 0.8
    assert agg.mean(values) == pytest.approx(0.5)
    assert agg.minimum(values) == 0.2
    assert agg.product(values) == pytest.approx(0.08)
    assert agg.total((1.0, -2.0, 0.5)) == -0.5


@pytest.mark.parametrize("name", [*agg.AGGREGATES, "total"])
def test_no_steps_have_no_aggregate(name):
    with pytest.raises(ValueError, match="without scored steps"):
        agg.AGGREGATES.get(name, agg.total)([])


def test_the_table_offers_no_sum_of_chances():
    assert set(agg.AGGREGATES) == {"last", "mean", "min", "product"}


def test_the_best_is_the_first_among_equals():
    first, second = candidate("a", 0.7), candidate("b", 0.7)
    assert agg.best([candidate("c", 0.1), first, second]) is first


def test_votes_are_counted_or_weighed():
    candidates = [candidate("7", 0.9), candidate("8", 0.3), candidate("8", 0.4)]
    assert agg.vote(candidates, said) == "8"
    assert agg.vote(candidates, said, weight=lambda c: c.value) == "7"


def test_a_candidate_without_an_answer_has_no_vote():
    silent = candidate("", 0.9)
    assert agg.vote([silent, silent, candidate("7", 0.1)], said) == "7"
    assert agg.vote([silent], said) is None


def test_nobody_wins_among_nobody():
    with pytest.raises(ValueError, match="no candidates"):
        agg.best([])
    with pytest.raises(ValueError, match="no candidates"):
        agg.vote([], said)
