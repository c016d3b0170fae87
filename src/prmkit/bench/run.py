"""Testing a claim: seeds, equal budgets, paired intervals and the verdict, once for all claims.

A claim is a record. It names its arms, what they may spend, what is compared and by how much, where it
should hold and where it should fail. A claim that does not hold is reported as not holding.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from prmkit.bench.compare import Arm, Comparison, Finding, Ruling, compare
from prmkit.errors import BadInput
from prmkit.maths.stats import Interval

ENOUGH_SEEDS = 5  # with fewer there is no verdict
TOLERANCE = 0.05  # by which the arms' spending may differ
MOST_SEEDS = 25

Play = Callable[[int], Awaitable[Mapping[str, Arm]]]  # of a seed, every arm: they share what they should
Progress = Callable[[int, int, str], object]  # how many are done, of how many, and what comes next


def problem_seed(seed: int, use: int = 0) -> int:
    """The seed of a list of `arith` problems, in [700, 799]: a seed of a claim has four lists of its own."""
    if not (0 <= seed < MOST_SEEDS and 0 <= use < 4):
        raise ValueError(f"there are problems for {MOST_SEEDS} seeds, four lists each, not {seed=}, {use=}")
    return 700 + 4 * seed + use


@dataclass(frozen=True, slots=True)
class Condition:
    """A setting in which the arms meet, by a name such as "M=8"."""

    name: str
    play: Play
    why: str = ""  # it should fail here


@dataclass(frozen=True, slots=True)
class Claim:
    """`asks`: every row must hold, and a row holds when one of its comparisons does."""

    name: str
    card: int
    statement: str
    world: str
    treatment: str
    control: str
    budget: str  # what both spend the same of
    asks: tuple[tuple[Comparison, ...], ...]
    holds_at: tuple[Condition, ...]
    should_fail: tuple[Condition, ...] = ()
    also: tuple[Comparison, ...] = ()  # measured and shown, without a say


@dataclass(frozen=True, slots=True)
class Result:
    """What came out under one condition."""

    condition: str
    should_fail: str  # why, "" where it should hold
    ruling: Ruling
    reason: str
    asks: tuple[tuple[Finding, ...], ...]
    also: tuple[Finding, ...]
    spent: Mapping[str, tuple[float, ...]]  # of each arm that spends, for every seed

    @property
    def as_expected(self) -> bool | None:
        """None while it is undecided."""
        if self.ruling == "undecided":
            return None
        return (self.ruling == "fails") == bool(self.should_fail)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`holds` if it holds wherever it should, `fails` if it fails somewhere there, else `undecided`."""

    claim: Claim
    seeds: int
    results: tuple[Result, ...]

    @property
    def ruling(self) -> Ruling:
        return every([r.ruling for r in self.results if not r.should_fail])

    @property
    def reason(self) -> str:
        reasons = [f"{r.condition}: {r.reason}" for r in self.results if not r.should_fail and r.reason]
        return "; ".join(reasons)

    def as_json(self) -> dict[str, Any]:
        """Everything that was measured, in JSON values."""
        told = ("name", "card", "statement", "world", "treatment", "control", "budget")
        return {
            **{name: getattr(self.claim, name) for name in told},
            "seeds": self.seeds,
            "verdict": self.ruling,
            "reason": self.reason,
            "results": [_result(r) for r in self.results],
        }


async def run_claim(
    claim: Claim, *, seeds: int = ENOUGH_SEEDS, should_fail: bool = True, progress: Progress | None = None
) -> Verdict:
    """Play every condition of a claim with seeds 0, 1, … and say whether it holds.

    With fewer than 5 seeds, or where the arms did not spend the same, the figures are there but the
    verdict is `undecided`. `should_fail=False` leaves out the conditions in which it is expected to fail.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise BadInput(f"a claim is tested with 1 to {MOST_SEEDS} seeds, not {seeds}")
    conditions = [*claim.holds_at, *(claim.should_fail if should_fail else ())]
    played: dict[str, list[Mapping[str, Arm]]] = {c.name: [] for c in conditions}
    jobs = [(condition, seed) for seed in range(seeds) for condition in conditions]
    for done, (condition, seed) in enumerate(jobs):
        if progress is not None:
            progress(done, len(jobs), f"{condition.name}, seed {seed}")
        played[condition.name].append(await condition.play(seed))
    if progress is not None:
        progress(len(jobs), len(jobs), "")
    return Verdict(claim, seeds, tuple(weigh(claim, c, played[c.name]) for c in conditions))


def weigh(claim: Claim, condition: Condition, seeds: Sequence[Mapping[str, Arm]]) -> Result:
    """The findings of one condition and their ruling, which no interval decides on unequal spending."""
    spent = {
        name: tuple(arms[name].spent or 0.0 for arms in seeds)
        for name, arm in seeds[0].items()
        if arm.spent is not None
    }
    asks = tuple(tuple(compare(c, seeds) for c in row) for row in claim.asks)
    ruling: Ruling = every([some([f.ruling for f in row]) for row in asks])
    reason = "" if ruling != "undecided" else "an interval holds its bound"
    if any(f.interval is None for row in asks for f in row) and ruling == "undecided":
        reason = "a figure is not defined on what was measured"
    if len(seeds) < ENOUGH_SEEDS:
        ruling, reason = "undecided", f"fewer than {ENOUGH_SEEDS} seeds"
    if unequal := _unequal(spent):
        ruling, reason = "undecided", f"budgets differ ({claim.budget}: {unequal})"
    return Result(
        condition.name,
        condition.why,
        ruling,
        reason,
        asks,
        tuple(compare(c, seeds) for c in claim.also),
        spent,
    )


def every(rulings: Sequence[Ruling]) -> Ruling:
    """All must hold; one that fails is enough to fail."""
    if "fails" in rulings:
        return "fails"
    return "holds" if rulings and all(r == "holds" for r in rulings) else "undecided"


def some(rulings: Sequence[Ruling]) -> Ruling:
    """One that holds is enough; all must fail to fail."""
    if "holds" in rulings:
        return "holds"
    return "fails" if all(r == "fails" for r in rulings) else "undecided"


def _unequal(spent: Mapping[str, Sequence[float]]) -> str:
    """What each arm spent in all, where in some seed they differ by more than the tolerance; else ""."""
    for of_seed in zip(*spent.values(), strict=True):
        if max(of_seed) - min(of_seed) > TOLERANCE * max(of_seed):
            return ", ".join(f"{name} {sum(each):g}" for name, each in spent.items())
    return ""


def _result(result: Result) -> dict[str, Any]:
    return {
        "condition": result.condition,
        "should_fail": result.should_fail or None,
        "verdict": result.ruling,
        "reason": result.reason,
        "as_expected": result.as_expected,
        "spent": {name: list(each) for name, each in result.spent.items()},
        "asks": [[_finding(f) for f in row] for row in result.asks],
        "also": [_finding(f) for f in result.also],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    asked = finding.comparison
    return {
        "metric": asked.metric,
        "form": asked.form,
        "wanted": {"at_least": asked.at_least, "at_most": asked.at_most},
        "verdict": finding.ruling,
        "interval": _interval(finding.interval),
        "treatment": {"arm": asked.treatment, "seeds": list(map(_number, finding.treatment))},
        "control": {"arm": asked.control, "seeds": list(map(_number, finding.control))},
        "undefined": finding.undefined,
    }


def _interval(interval: Interval | None) -> dict[str, float] | None:
    return None if interval is None else asdict(interval)


def _number(x: float) -> float | None:
    return x if math.isfinite(x) else None
