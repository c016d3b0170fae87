"""Read by mypy --strict in test_types.py: what goes into a wrapper comes out as the same kind of effect."""

from collections.abc import Sequence
from random import Random

from prmkit.effects import (
    batched,
    cached,
    cached_policy,
    cached_rater,
    cached_scorer,
    limited,
    metered,
    retried,
)
from prmkit.testing import ScriptedPolicy, constant_scorer
from prmkit.types import Comparer, Policy, Rater, Scorer, Trajectory, World


async def rate(trajectories: Sequence[Trajectory]) -> list[float]:
    return [1.0 for _ in trajectories]


async def reply(trajectories: Sequence[Trajectory]) -> list[Trajectory]:
    return list(trajectories)


async def compare(pairs: Sequence[tuple[Trajectory, Trajectory]]) -> list[float]:
    return [0.5 for _ in pairs]


def first(pair: tuple[Trajectory, Trajectory]) -> str:
    return pair[0].text + pair[1].text


def policies(policy: Policy) -> list[Policy]:
    counted, _ = metered(policy)
    scripted = ScriptedPolicy(lambda problem: ["2"])
    kept = cached_policy(policy, "cache.db", name="mine")
    return [counted, batched(counted), limited(policy, 2), retried(policy), kept, scripted, batched(scripted)]


def scorers(scorer: Scorer) -> list[Scorer]:
    counted, _ = metered(scorer)
    kept = cached_scorer(counted, "cache.db", name="mine")
    return [counted, batched(kept), limited(scorer, 2), retried(scorer, rng=Random(0)), constant_scorer(0.5)]


def raters() -> list[Rater]:
    counted, _ = metered(rate)
    return [counted, batched(counted), limited(rate, 2), cached_rater(rate, "cache.db", name="mine")]


def worlds() -> list[World]:
    return [batched(reply), limited(reply, 2), retried(reply), metered(reply)[0]]


def comparers() -> list[Comparer]:
    kept = cached(compare, "cache.db", name="mine", key=first, dump=float, load=float)
    return [batched(compare), limited(compare, 2), kept]


async def misused(policy: Policy) -> None:
    await batched(policy)([], 1, until=None)  # type: ignore[arg-type]
    await metered(policy)[0](prefixes=[])  # type: ignore[call-arg]
    wrong: Scorer = limited(rate, 2)  # type: ignore[arg-type]
    del wrong
