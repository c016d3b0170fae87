"""Which trajectories of a group to learn from, and which to set against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from prmkit.maths import aggregate as agg
from prmkit.maths.credit import step_scores
from prmkit.types import Curate, Group, Trajectory


def keep_where(test: Callable[[Trajectory, float, float], bool]) -> Curate:
    """Keep the trajectories for which `test(trajectory, outcome, mean step score)` holds."""

    def curate(group: Group) -> Group:
        rows = zip(group.trajectories, group.outcomes, step_scores(group), strict=True)
        kept = [(t, o, s) for t, o, s in rows if test(t, o, agg.mean(s.values))]
        return replace(
            group,
            trajectories=tuple(t for t, _, _ in kept),
            outcomes=tuple(o for _, o, _ in kept),
            scores=tuple(s for _, _, s in kept),
        )

    return curate


def best_and_worst(group: Group) -> list[tuple[Trajectory, Trajectory]]:
    """One (better, worse) pair by outcome, the first among equals; none from a group that is all alike."""
    known = list(zip(group.outcomes, group.trajectories, strict=True))
    if len(set(group.outcomes)) < 2:
        return []
    _, better = max(known, key=lambda pair: pair[0])
    _, worse = min(known, key=lambda pair: pair[0])
    return [(better, worse)]
