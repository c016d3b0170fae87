"""Grow a frontier of partial solutions one step at a time, keeping some.

Best-of-n, beam search, diverse trees and particle filtering are this one loop with
a different `keep`. A search is written for one problem; engines do the batching.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby

from prmkit.maths import aggregate as agg
from prmkit.types import Candidate, Policy, Problem, Rater, Search, Trajectory, Until

Keep = Callable[[Sequence[Candidate], random.Random], list[Candidate]]


async def grow(
    problem: Problem,
    policy: Policy,
    rate: Rater,
    *,
    roots: int,
    branch: int,
    keep: Keep,
    until: Until = "step",
    max_steps: int = 64,
    seed: int = 0,
) -> list[Candidate]:
    """The frontier after every candidate is closed, or after `max_steps` rounds: then some are still open.

    The first round is one request for roots × branch continuations of the bare problem, so that an
    engine reads the prompt once. A `keep` that drops everyone leaves the best: the result is never empty.
    """
    if min(roots, branch, max_steps) < 1:
        raise ValueError(f"nothing to grow: {roots=}, {branch=}, {max_steps=}")
    rng = random.Random(seed)

    async def rated(children: Iterable[tuple[int, Trajectory]]) -> list[Candidate]:
        born = list(children)
        values = await rate([t for _, t in born])
        return [Candidate(t, v, root) for (root, t), v in zip(born, values, strict=True)]

    (sprouts,) = await policy([Trajectory(problem)], roots * branch, until=until)
    grown = await rated((i // branch, t) for i, t in enumerate(sprouts))
    frontier = keep(grown, rng) or [agg.best(grown)]
    for _ in range(max_steps - 1):
        live = [c for c in frontier if not c.trajectory.closed]
        if not live:
            break
        rows = await policy([c.trajectory for c in live], branch, until=until)
        fresh = await rated((c.root, t) for c, row in zip(live, rows, strict=True) for t in row)
        grown = [c for c in frontier if c.trajectory.closed] + fresh
        frontier = keep(grown, rng) or [agg.best(grown)]
    return frontier


def everyone(candidates: Sequence[Candidate], rng: random.Random) -> list[Candidate]:
    return list(candidates)


def top(k: int) -> Keep:
    """The `k` best, best first; of equals the one that came first, so that finished work goes before new."""
    return lambda candidates, rng: sorted(candidates, key=lambda c: -c.value)[:k]


def top_per_root(candidates: Sequence[Candidate], rng: random.Random) -> list[Candidate]:
    """The best of each independent subtree."""
    by_root = sorted(candidates, key=lambda c: c.root)
    return [agg.best(list(group)) for _, group in groupby(by_root, key=lambda c: c.root)]


def resample(k: int, temperature: float = 1.0) -> Keep:
    """Draw `k` with replacement, with weight ∝ exp(logit(v) / temperature) for a value v in [0, 1]."""

    def keep(candidates: Sequence[Candidate], rng: random.Random) -> list[Candidate]:
        return rng.choices(candidates, odds([c.value for c in candidates], temperature), k=k)

    return keep


def odds(values: Sequence[float], temperature: float = 1.0) -> list[float]:
    """(v / (1 − v))^(1 / temperature), scaled so that the largest is 1.

    Values are held 1e-6 away from 0 and 1: a certain failure can still be drawn when all are.

    >>> [round(w, 3) for w in odds([0.5, 0.75, 0.9])]  # odds 1 : 3 : 9
    [0.111, 0.333, 1.0]
    """
    safe = [min(max(v, 1e-6), 1 - 1e-6) for v in values]
    logits = [math.log(v / (1 - v)) / temperature for v in safe]
    return [math.exp(x - max(logits)) for x in logits]


def above(threshold: float, otherwise: Keep) -> Keep:
    """Drop what rates below `threshold`; when nothing survives, fall back to `otherwise`."""
    return lambda cs, rng: [c for c in cs if c.value >= threshold] or otherwise(cs, rng)


def best_of_n(n: int) -> Search:
    """`n` whole solutions, each rated."""
    return partial(grow, roots=n, branch=1, keep=everyone, until="end")


def beam(width: int = 4, branch: int = 4, *, max_steps: int = 64) -> Search:
    """Step beam search: width × branch children a round, the best `width` go on."""
    return partial(grow, roots=width, branch=branch, keep=top(width), max_steps=max_steps)


def diverse_trees(trees: int = 4, branch: int = 4, *, max_steps: int = 64) -> Search:
    """Independent greedy searches side by side, so that one early favourite cannot crowd out the rest."""
    return partial(grow, roots=trees, branch=branch, keep=top_per_root, max_steps=max_steps)


def particles(n: int = 16, *, temperature: float = 1.0, max_steps: int = 64, seed: int = 0) -> Search:
    """Particle filtering: `n` partial solutions, resampled by their odds after every step (2502.01618)."""
    keep = resample(n, temperature)
    return partial(grow, roots=n, branch=1, keep=keep, max_steps=max_steps, seed=seed)
