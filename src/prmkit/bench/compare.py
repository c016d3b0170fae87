"""One arm against another: figures per seed, their paired difference or ratio, and what it decides."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import stdtrit

from prmkit.maths.arrays import Numbers
from prmkit.maths.stats import Interval

Ruling = Literal["holds", "fails", "undecided"]
Form = Literal["difference", "ratio"]
Value = float | tuple[float, ...] | None  # None: not defined for this problem
Figure = Callable[[Numbers], Numbers]  # the means of a metric's columns, on the last axis -> the figure

RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Arm:
    """What one side gave with one seed: by metric a number, or a few columns, for every problem.

    All arms of a seed speak of the same problems in the same order. `spent` is what it used of the
    claim's budget; None for a reference that spends nothing, such as a policy before training.
    """

    values: Mapping[str, Sequence[Value]]
    spent: float | None = None


def mean(means: Numbers) -> Numbers:
    """The figure of a metric with one number a problem: its mean."""
    first: Numbers = means[..., 0]
    return first


def first_error_f1(means: Numbers) -> Numbers:
    """2ab / (a + b) from the columns (wrong and found, wrong, right and passed, right).

    a is the share found of the wrong, b the share passed of the right; NaN where one of the sorts is absent.

    >>> float(first_error_f1(np.array([0.25, 0.5, 0.5, 0.5])))  # a = 1/2, b = 1
    0.6666666666666666
    """
    found, wrong, passed, right = (means[..., i] for i in range(4))
    a, b = _divided(found, wrong), _divided(passed, right)
    return np.where(a + b == 0, 0.0, _divided(2 * a * b, a + b))


def bounds(at_least: float | None, at_most: float | None) -> str:
    """Bounds in words.

    >>> bounds(0.8, 1.2)
    '≥ 0.8 and ≤ 1.2'
    """
    given = (("≥", at_least), ("≤", at_most))
    return " and ".join(f"{sign} {bound:g}" for sign, bound in given if bound is not None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure of `treatment` against that of `control`, and the bounds between which it should lie."""

    metric: str
    treatment: str
    control: str
    at_least: float | None = None
    at_most: float | None = None
    form: Form = "difference"
    figure: Figure = mean

    @property
    def wanted(self) -> str:
        return bounds(self.at_least, self.at_most)

    def rule(self, interval: Interval) -> Ruling:
        """`holds` when the whole interval lies within the bounds, `fails` when it lies outside."""
        low = -np.inf if self.at_least is None else self.at_least
        high = np.inf if self.at_most is None else self.at_most
        if interval.low >= low and interval.high <= high:
            return "holds"
        return "fails" if interval.high < low or interval.low > high else "undecided"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a comparison came to. `interval` is None where the figure is not defined on what was measured."""

    comparison: Comparison
    ruling: Ruling
    treatment: tuple[float, ...]  # the figure of each seed
    control: tuple[float, ...]
    interval: Interval | None
    undefined: int  # problems left out, as one of the two arms has no number for them


def compare(comparison: Comparison, seeds: Sequence[Mapping[str, Arm]]) -> Finding:
    """The figure of both arms for every seed, and their difference (or ratio) with a 95 % interval."""
    pairs, undefined = [], 0
    for arms in seeds:
        treatment, control, dropped = _paired(comparison, arms)
        pairs.append((treatment, control))
        undefined += dropped
    figures = [[_whole(side, comparison.figure) for side in pair] for pair in pairs]
    interval = paired_interval(pairs, comparison.form, comparison.figure) if figures else None
    return Finding(
        comparison,
        "undecided" if interval is None else comparison.rule(interval),
        tuple(t for t, _ in figures),
        tuple(c for _, c in figures),
        interval,
        undefined,
    )


def paired_interval(
    pairs: Sequence[tuple[Numbers, Numbers]], form: Form, figure: Figure, *, seed: int = 0
) -> Interval | None:
    """The mean figure over seeds, treatment minus (or over) control, with a 95 % interval.

    It must survive other problems and other seeds, so it reaches as far as the wider of two intervals:
    problems drawn anew within each seed, the same for both arms (percentiles), and Student's t over the
    seeds (by jackknife), as training again changes more than other problems do. None where the figure
    is not defined on the whole.
    """
    of_seeds = [np.array([_whole(pair[side], figure) for pair in pairs]) for side in (0, 1)]
    whole = float(_set_against(of_seeds[0], of_seeds[1], form))
    if not np.isfinite(whole):
        return None
    ends = [*_other_problems(pairs, form, figure, seed), *_other_seeds(of_seeds[0], of_seeds[1], form, whole)]
    return Interval(whole, min(ends, default=whole), max(ends, default=whole), sum(len(t) for t, _ in pairs))


def _other_problems(
    pairs: Sequence[tuple[Numbers, Numbers]], form: Form, figure: Figure, seed: int
) -> tuple[float, ...]:
    """The ends of the bootstrap interval; a resample on which the figure is not defined is left out."""
    rng = np.random.default_rng(seed)
    sides: tuple[list[Numbers], list[Numbers]] = ([], [])
    for pair in pairs:
        drawn = rng.integers(0, len(pair[0]), size=(RESAMPLES, len(pair[0])))
        for side, values in zip(sides, pair, strict=True):
            side.append(figure(values[drawn].mean(axis=1)))
    samples = _set_against(np.stack(sides[0], axis=-1), np.stack(sides[1], axis=-1), form)
    samples = samples[np.isfinite(samples)]
    return tuple(np.quantile(samples, [0.025, 0.975]).tolist()) if len(samples) else ()


def _other_seeds(treatment: Numbers, control: Numbers, form: Form, whole: float) -> tuple[float, ...]:
    """whole ± t s, s² = (S − 1)/S Σ (θ₋ₛ − mean θ₋)² with θ₋ₛ the figure without seed s; none from one."""
    count = len(treatment)
    if count < 2:
        return ()
    others = ~np.eye(count, dtype=bool)
    without = [np.broadcast_to(x, (count, count))[others].reshape(count, -1) for x in (treatment, control)]
    spread = _set_against(without[0], without[1], form).var()
    reach = float(stdtrit(count - 1, 0.975)) * float(np.sqrt((count - 1) * spread))
    return (whole - reach, whole + reach) if np.isfinite(reach) else ()


def _paired(comparison: Comparison, arms: Mapping[str, Arm]) -> tuple[Numbers, Numbers, int]:
    """The rows of both arms, one per problem for which both have a number, and how many have not."""
    sides = [arms[name].values[comparison.metric] for name in (comparison.treatment, comparison.control)]
    rows = [(t, c) for t, c in zip(*sides, strict=True) if t is not None and c is not None]
    both = [np.array([np.atleast_1d(row[i]) for row in rows], dtype=np.float64) for i in (0, 1)]
    if not all(np.isfinite(side).all() for side in both):
        raise ValueError(f"{comparison.metric!r}: a number is not finite; what is not defined is None")
    return both[0], both[1], len(sides[0]) - len(rows)


def _whole(values: Numbers, figure: Figure) -> float:
    return float(figure(values.mean(axis=0))) if len(values) else float("nan")


def _set_against(treatment: Numbers, control: Numbers, form: Form) -> Numbers:
    """Both averaged over seeds (the last axis), then subtracted or divided."""
    t, c = treatment.mean(axis=-1), control.mean(axis=-1)
    difference: Numbers = t - c
    return difference if form == "difference" else _divided(t, c)


def _divided(a: Numbers, b: Numbers) -> Numbers:
    """a / b, NaN where b is 0."""
    safe = np.where(b == 0, np.nan, b)
    quotient: Numbers = a / safe
    return quotient
