"""What the toolkit does, as plain functions that take their parts; names are for the command line."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeVar

from prmkit.data.runs import Run
from prmkit.errors import BadInput
from prmkit.maths import aggregate as agg
from prmkit.types import Candidate, Example, Policy, Problem, Rater, Scorer, Scores, Search, Trajectory

OUTCOME = "outcome"  # the name under which a run keeps whether a solution ended well
Watch = Callable[[int, int], object]  # how many are done, of how many

T = TypeVar("T")
R = TypeVar("R")


async def make_data(
    problems: Sequence[Problem],
    *,
    policy: Policy,
    label: Scorer,
    check: Rater,
    run: Run,
    samples: int = 4,
    name: str = "label",
    at_once: int = 64,
    watch: Watch | None = None,
) -> Path:
    """Sample solutions, check how they end, label their steps, and keep all of it in a run folder.

    `at_once` problems are under way side by side: give them a batched policy and their calls are merged.
    A problem is written down as soon as it is through, its k-th solution as "<problem.id>/<k>". What the
    folder already holds is not paid for again, so a run that was stopped at any moment goes on with the
    same call. `watch` hears of every problem that is done.
    """
    _can_be_told_apart(problems)
    if samples < 1:
        raise BadInput(f"at least one solution a problem is needed, not {samples}")
    labelled, rated = run.done_ids(name), run.done_ids(ratings=OUTCOME)
    sampled = run.done_ids()
    half_done = {key: t for key, t in run.trajectories() if key not in labelled or key not in rated}
    done = 0

    async def work(problem: Problem) -> None:
        nonlocal done
        keys = [f"{problem.id}/{k}" for k in range(samples)]
        if missing := [key for key in keys if key not in sampled]:
            (fresh,) = await policy([Trajectory(problem)], len(missing), until="end")
            rows = dict(zip(missing, fresh, strict=True))
            run.append_trajectories(rows.items())
            half_done.update(rows)
        mine = {key: half_done.pop(key) for key in keys if key in half_done}
        if unrated := {key: t for key, t in mine.items() if key not in rated}:
            run.append_ratings(OUTCOME, await _of_each(check, unrated))
        if unlabelled := {key: t for key, t in mine.items() if key not in labelled}:
            run.append_scores(name, await _of_each(label, unlabelled))
        done += 1
        if watch is not None:
            watch(done, len(problems))

    await side_by_side(work, problems, at_once)
    return run.path


def examples_from(run: Run, name: str = "label") -> list[Example]:
    """What there is to learn from a run: its solutions with the labels `name` gave, in the run's order.

    Solutions that were not labelled, and those without a policy step, are left out.
    """
    scores: dict[str, Scores] = dict(run.scores(name))
    outcomes = dict(run.ratings(OUTCOME)) if OUTCOME in run.rating_names() else {}
    return [
        Example(t, scores[key].values, scores[key].kind, outcomes.get(key), key, scores[key].source)
        for key, t in run.trajectories()
        if key in scores and t.actions
    ]


async def solve(problem: Problem, policy: Policy, rate: Rater, *, search: Search) -> Candidate:
    """The best candidate that a search brings to an end, or the best unfinished one where it ends none."""
    candidates = await search(problem, policy, rate)
    return agg.best([c for c in candidates if c.trajectory.stop == "done"] or candidates)


async def side_by_side(work: Callable[[T], Awaitable[R]], items: Iterable[T], at_once: int) -> list[R]:
    """`work` on every item, at most `at_once` under way; the first error stops the others and propagates."""
    if at_once < 1:
        raise BadInput(f"at least one must be under way, not {at_once}")
    gate = asyncio.Semaphore(at_once)

    async def gated(item: T) -> R:
        async with gate:
            return await work(item)

    tasks = [asyncio.ensure_future(gated(item)) for item in items]
    try:
        return list(await asyncio.gather(*tasks))
    finally:  # nothing may still be writing when the caller goes on
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _of_each(
    effect: Callable[[Sequence[Trajectory]], Awaitable[list[R]]], rows: dict[str, Trajectory]
) -> dict[str, R]:
    return dict(zip(rows, await effect(list(rows.values())), strict=True))


def _can_be_told_apart(problems: Sequence[Problem]) -> None:
    if any(not p.id for p in problems):
        raise BadInput("a problem needs an id: without one its solutions could not be found again")
    twice = [key for key, count in Counter(p.id for p in problems).items() if count > 1]
    if twice:
        raise BadInput(f"problems with the same id: {', '.join(map(repr, twice[:5]))}")
