"""Score a step by playing on from it. Raw counts are kept, so that any label can be made of them later.

`verify` is the check of a whole solution: 1 for right, 0 for wrong. A prefix that is closed already has one
ending, itself: it costs a check and no rollout.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from prmkit.maths import labels
from prmkit.scorers.combine import cuts, deal
from prmkit.types import Estimate, Policy, Rater, Scorer, Scores, Trajectory


def play_on(
    policy: Policy,
    verify: Rater,
    *,
    rollouts: int = 8,
    estimate: Estimate = labels.soft,
    stop_at_success: bool = False,
    chunk: int = 2,
) -> Rater:
    """Rate an unfinished solution by how `rollouts` continuations end.

    `stop_at_success` asks for them in rounds of `chunk` and ends with the first success: enough for
    `labels.hard`, while a mean that stops early would be biased.
    """
    rounds = _rounds(rollouts, estimate, stop_at_success, chunk)

    async def rate(prefixes: Sequence[Trajectory], /) -> list[float]:
        return [estimate(ends) for ends in await _endings(policy, verify, prefixes, rounds)]

    return rate


def monte_carlo(
    policy: Policy,
    verify: Rater,
    *,
    rollouts: int = 8,
    estimate: Estimate = labels.soft,
    stop_at_success: bool = False,
    chunk: int = 2,
) -> Scorer:
    """Every step from its own continuations, all steps of all trajectories in one call to the policy.

    The values are those of `by_prefix(play_on(...))`; `parts` adds `successes` and `rollouts` of each step.
    """
    rounds = _rounds(rollouts, estimate, stop_at_success, chunk)
    source = _source("monte_carlo", rollouts, stop_at_success)

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        rows = [cuts(t) for t in trajectories]
        ends = await _endings(policy, verify, [p for row in rows for p in row], rounds)
        return [_scores(row, estimate, source) for row in deal(ends, [len(row) for row in rows])]

    return score


def bisect(
    policy: Policy,
    verify: Rater,
    *,
    rollouts: int = 8,
    stop_at_success: bool = False,
    chunk: int = 2,
) -> Scorer:
    """Only the steps that a binary search for the first error needs: O(log steps) instead of all (64).

    A step is 1 before the first error and 0 from it on, which is what `monte_carlo` with `labels.hard`
    says wherever errors never heal. Steps not probed have 0 `rollouts`; their values follow. A finished
    solution is checked first: if it ends well there is no error to search for and every step is 1.
    The searches run side by side; give them a batched policy and their calls are merged.
    """
    rounds = _rounds(rollouts, labels.hard, stop_at_success, chunk)
    source = _source("bisect", rollouts, stop_at_success)

    async def locate(trajectory: Trajectory) -> Scores:
        steps = cuts(trajectory)
        probed: dict[int, list[float]] = {}

        async def good(i: int) -> bool:
            (probed[i],) = await _endings(policy, verify, [steps[i]], rounds)
            return labels.hard(probed[i]) > 0.5

        low, high = 0, len(steps)  # steps before low are good; the first error, if any, is at most high
        if trajectory.closed and steps:
            low, high = (high, high) if await good(high - 1) else (0, high - 1)
        while low < high:
            mid = (low + high) // 2
            low, high = (mid + 1, high) if await good(mid) else (low, mid)
        values = tuple(float(i < low) for i in range(len(steps)))
        return Scores(values, parts=_counts([probed.get(i, []) for i in range(len(steps))]), source=source)

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        return list(await asyncio.gather(*map(locate, trajectories)))

    return score


async def _endings(
    policy: Policy, verify: Rater, prefixes: Sequence[Trajectory], rounds: Sequence[int]
) -> list[list[float]]:
    """How each prefix ended: in every round n more times, unless an earlier round brought success."""
    outcomes: list[list[float]] = [[] for _ in prefixes]
    closed = [i for i, t in enumerate(prefixes) if t.closed]
    said = await verify([prefixes[i] for i in closed]) if closed else []
    for i, outcome in zip(closed, said, strict=True):
        outcomes[i].append(outcome)
    waiting = [i for i, t in enumerate(prefixes) if not t.closed]
    for n in rounds:
        if not waiting:
            break
        rows = await policy([prefixes[i] for i in waiting], n, until="end")
        said = await verify([t for row in rows for t in row])
        for i, more in zip(waiting, deal(said, [n] * len(waiting)), strict=True):
            outcomes[i] += more
        waiting = [i for i in waiting if not labels.hard(outcomes[i])]
    return outcomes


def _rounds(rollouts: int, estimate: Estimate, stop_at_success: bool, chunk: int) -> list[int]:
    """How many rollouts to ask for in each round; a single round when all are wanted anyway.

    >>> _rounds(8, labels.hard, True, 3)
    [3, 3, 2]
    """
    if min(rollouts, chunk) < 1:
        raise ValueError(f"nothing to play: {rollouts=}, {chunk=}")
    if not stop_at_success:
        return [rollouts]
    if estimate is labels.soft:
        raise ValueError("a share of successes is biased when rollouts stop at the first: use labels.hard")
    return [min(chunk, rollouts - done) for done in range(0, rollouts, chunk)]


def _scores(endings: Sequence[Sequence[float]], estimate: Estimate, source: str) -> Scores:
    return Scores(tuple(map(estimate, endings)), parts=_counts(endings), source=source)


def _counts(endings: Sequence[Sequence[float]]) -> dict[str, tuple[float, ...]]:
    return {
        "successes": tuple(float(sum(outcomes)) for outcomes in endings),
        "rollouts": tuple(float(len(outcomes)) for outcomes in endings),
    }


def _source(name: str, rollouts: int, stop_at_success: bool) -> str:
    return f"{name}:{rollouts}" + (":until_success" if stop_at_success else "")
