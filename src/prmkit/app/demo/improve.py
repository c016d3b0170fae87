"""The last part of the loop: the policy learns from the PRM's step rewards, and from the outcome alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from prmkit.app.demo.compare import Spent, kept
from prmkit.app.demo.screen import Screen
from prmkit.app.demo.settings import Settings
from prmkit.data.runs import Run
from prmkit.effects import metered
from prmkit.maths import credit
from prmkit.maths.stats import Interval, bootstrap
from prmkit.policies import open_policy
from prmkit.policies.hf import HFPolicy
from prmkit.text.answers import exact_answer
from prmkit.train.rl import train_policy
from prmkit.types import Policy, Problem, Scorer, Trajectory
from prmkit.worlds import arith

TRIES = 2  # samples per test problem: one would measure the luck of the draw


@dataclass(frozen=True, slots=True)
class Learnt:
    """A policy after RL: its curve on the watched problems, and where it stands on the test problems."""

    curve: tuple[tuple[int, Interval], ...]
    after: Spent


async def improve(
    out: Path, prm: Scorer, tests: Sequence[Problem], settings: Settings, screen: Screen
) -> dict[str, Learnt]:
    """RL with the PRM's step rewards, and with the outcome alone, from the same start on the same problems."""
    arms: dict[str, dict[str, Any]] = {
        "PRM step rewards": {"credit": credit.by_progress(), "scorer": prm},
        "outcome alone": {"credit": credit.outcome},
    }
    return {name: await _arm(name, signal, out, tests, settings, screen) for name, signal in arms.items()}


async def _arm(
    name: str,
    signal: dict[str, Any],
    out: Path,
    tests: Sequence[Problem],
    settings: Settings,
    screen: Screen,
) -> Learnt:
    folder = out / f"rl-{name.replace(' ', '-').lower()}"
    watched = arith.problems(settings.watched, seed=settings.problem_seed(4))
    with screen.stage(f"RL, {name}") as tick:

        async def watch(update: int, policy: HFPolicy) -> dict[str, float]:
            tick(update, settings.updates)
            seen = bootstrap((await _one_sample(policy, watched, 1)).solved)
            return {"solved": seen.mean, "low": seen.low, "high": seen.high}

        better = await train_policy(
            arith.problems(settings.rl_problems, seed=settings.problem_seed(3)),
            policy=settings.policy,
            check=exact_answer,
            out=folder,
            config=settings.rl,
            watch=watch,
            **signal,
        )
        policy = open_policy(str(better), seed=settings.seed + 3)
        after = await kept(folder / "after.json", partial(_one_sample, policy, tests, TRIES))
    return Learnt(_curve(folder, settings.watched), after)


async def _one_sample(policy: Policy, problems: Sequence[Problem], tries: int) -> Spent:
    """How often a single sample solves each problem, by `tries` of them."""
    counted, meter = metered(policy)
    rows = await counted([Trajectory(p) for p in problems], tries, until="end")
    right = await exact_answer([t for row in rows for t in row])
    solved = tuple(fmean(right[i : i + tries]) for i in range(0, len(right), tries))
    return Spent(solved, meter.generated_tokens / len(right))


def _curve(folder: Path, n: int) -> tuple[tuple[int, Interval], ...]:
    rows = [row for row in Run.open(folder).metrics() if "watch.solved" in row]
    return tuple(
        (row["update"], Interval(row["watch.solved"], row["watch.low"], row["watch.high"], n)) for row in rows
    )
