"""Scorers made of scorers, and raters made of scorers or comparers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import accumulate, permutations
from typing import TypeVar

from prmkit.types import Aggregate, Comparer, Rater, Scorer, Scores, Trajectory

T = TypeVar("T")


def ensemble(*scorers: Scorer, by: Aggregate) -> Scorer:
    """Each step's scores under several scorers, put together by `by`; all must give one kind."""
    if not scorers:
        raise ValueError("an ensemble of no scorers")

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        seen = await asyncio.gather(*(scorer(trajectories) for scorer in scorers))
        return [_together(row, by) for row in zip(*seen, strict=True)]

    return score


def _together(row: Sequence[Scores], by: Aggregate) -> Scores:
    kinds = sorted({s.kind for s in row})
    if len(kinds) > 1:
        raise ValueError(f"an ensemble of different kinds of scores means nothing: {', '.join(kinds)}")
    values = tuple(by(step) for step in zip(*(s.values for s in row), strict=True))
    return Scores(values, row[0].kind, source="+".join(s.source for s in row if s.source))


def through(view: Callable[[Trajectory], Trajectory], scorer: Scorer) -> Scorer:
    """Show the scorer another view of the trajectory: with evidence, without prose, in one agent's eyes.

    A view may change, add or drop anything but the number of policy steps: scores belong to them.
    """

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        views = [view(t) for t in trajectories]
        for seen, t in zip(views, trajectories, strict=True):
            if len(seen.actions) != len(t.actions):
                raise ValueError(f"a view of {len(t.actions)} policy steps shows {len(seen.actions)}")
        return await scorer(views)

    return score


def cuts(trajectory: Trajectory) -> list[Trajectory]:
    """What there was after each policy step: open prefixes, then the trajectory itself if it has ended."""
    opened = trajectory.prefixes()
    return [*opened[:-1], trajectory] if opened and trajectory.closed else opened


def deal(items: Sequence[T], sizes: Sequence[int]) -> list[Sequence[T]]:
    """A flat answer back in rows; one item too many or too few is an error.

    >>> deal("abcd", [1, 3])
    ['a', 'bcd']
    """
    if len(items) != sum(sizes):
        raise ValueError(f"{sum(sizes)} items were asked about, {len(items)} answers came back")
    ends = list(accumulate(sizes))
    return [items[end - size : end] for end, size in zip(ends, sizes, strict=True)]


def by_prefix(rate: Rater) -> Scorer:
    """Score each step by rating the solution up to it: any rater of unfinished work becomes a scorer.

    All prefixes of all trajectories are one call; the last is rated as it ended, closed or open.
    """

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        rows = [cuts(t) for t in trajectories]
        flat = [prefix for row in rows for prefix in row]
        values = await rate(flat) if flat else []
        return [Scores(tuple(row)) for row in deal(values, [len(row) for row in rows])]

    return score


def by_steps(scorer: Scorer, aggregate: Aggregate) -> Rater:
    """Rate a trajectory by its step scores put together.

    One that a policy ended before its first step says nothing, so it has no chance: 0. One that is still
    open has no rating yet, and asking for it is an error.
    """

    async def rate(trajectories: Sequence[Trajectory], /) -> list[float]:
        if not all(t.actions or t.closed for t in trajectories):
            raise ValueError("an open trajectory without a policy step has no step scores to put together")
        spoken = [t for t in trajectories if t.actions]
        scores = iter(await scorer(spoken) if spoken else [])
        return [aggregate(next(scores).values) if t.actions else 0.0 for t in trajectories]

    return rate


def by_pairs(compare: Comparer) -> Rater:
    """The share of comparisons won, in [0, 1], against the others of the same problem in the call.

    Every pair is asked in both orders, so that a taste for the first place cancels. The mean over a
    problem's trajectories is ½; a trajectory without a rival gets just that.
    """

    async def rate(trajectories: Sequence[Trajectory], /) -> list[float]:
        games = [
            (i, j)
            for i, j in permutations(range(len(trajectories)), 2)
            if trajectories[i].problem == trajectories[j].problem
        ]
        won = await compare([(trajectories[i], trajectories[j]) for i, j in games]) if games else []
        points, played = [0.0] * len(trajectories), [0] * len(trajectories)
        for (i, j), p in zip(games, won, strict=True):
            points[i] += p
            points[j] += 1 - p
            played[i] += 1
            played[j] += 1
        return [p / n if n else 0.5 for p, n in zip(points, played, strict=True)]

    return rate
