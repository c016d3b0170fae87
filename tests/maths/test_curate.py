from dataclasses import replace

import pytest

from prmkit.maths import curate


def agree(trajectory, outcome, mean):
    return (mean >= 0.5) == (outcome > 0.5)


def test_curation_drops_what_does_not_agree(group):
    g = group([1, 1, 0], [0.9], [0.1, 0.3], [0.2])
    kept = curate.keep_where(agree)(g)
    assert kept.outcomes == (1, 0)
    assert kept.trajectories == (g.trajectories[0], g.trajectories[2])
    assert kept.scores == (g.scores[0], g.scores[2])


def test_curation_may_drop_everything(group):
    kept = curate.keep_where(lambda t, o, mean: False)(group([1], [0.9]))
    assert kept.trajectories == kept.outcomes == kept.scores == ()


def test_curation_by_scores_needs_scores(group):
    with pytest.raises(ValueError, match="needs step scores"):
        curate.keep_where(agree)(replace(group([1], [0.9]), scores=()))


def test_the_pair_is_the_first_best_and_the_first_worst(group):
    g = group([0.5, 1, 0, 1, 0], [0.1], [0.2], [0.3], [0.4], [0.5])
    assert curate.best_and_worst(g) == [(g.trajectories[1], g.trajectories[2])]


def test_a_group_all_alike_gives_no_pair(group):
    assert curate.best_and_worst(group([1, 1], [0.9], [0.8])) == []
    assert curate.best_and_worst(group([])) == []
