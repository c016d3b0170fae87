"""A policy and a world make a policy: it acts, the world answers, and so on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from prmkit.types import Policy, Trajectory, Until, World


def in_world(policy: Policy, world: World, *, max_turns: int = 32) -> Policy:
    """A policy whose steps are answered; searching and labelling agents then need nothing else.

    A prefix cut between a step and its answer is answered first. With `until="end"` a trajectory still
    open after `max_turns` steps ends as "length".
    """
    if max_turns < 1:
        raise ValueError(f"an agent without a turn: {max_turns=}")

    async def answer(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        return await _where(_unanswered, world, trajectories)

    async def move(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
        return [row[0] for row in await policy(trajectories)]

    async def act(
        prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        starts = await answer(prefixes)
        rows = await policy(starts, n, until=until if isinstance(until, int) else "step")
        moved = [_one_step(start, t) for start, row in zip(starts, rows, strict=True) for t in row]
        flat = await answer(moved)
        if until == "end":
            for _ in range(max_turns - 1):
                if all(t.closed for t in flat):
                    break
                flat = await answer(await _where(_open, move, flat))
            flat = [t if t.closed else replace(t, stop="length") for t in flat]
        return [flat[i * n : (i + 1) * n] for i in range(len(prefixes))]

    return act


def _open(trajectory: Trajectory) -> bool:
    return not trajectory.closed


def _unanswered(trajectory: Trajectory) -> bool:
    """Does a whole policy step wait for its answer?"""
    last = trajectory.steps[-1] if trajectory.steps else None
    return not trajectory.closed and last is not None and last.by == "policy" and not last.partial


def _one_step(start: Trajectory, grown: Trajectory) -> Trajectory:
    """Cut what a policy wrote past its first new step: by then the world should have spoken."""
    whole = sum(not s.partial for s in start.steps)
    return (
        replace(grown, steps=grown.steps[: whole + 1], stop="open") if len(grown.steps) > whole + 1 else grown
    )


async def _where(
    test: Callable[[Trajectory], bool],
    effect: Callable[[Sequence[Trajectory]], Awaitable[list[Trajectory]]],
    trajectories: Sequence[Trajectory],
) -> list[Trajectory]:
    """The effect on those that pass the test, the others as they are."""
    chosen = [i for i, t in enumerate(trajectories) if test(t)]
    out = list(trajectories)
    changed = await effect([trajectories[i] for i in chosen]) if chosen else []
    for i, t in zip(chosen, changed, strict=True):
        out[i] = t
    return out
