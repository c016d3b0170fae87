"""How sure a number is: bootstrap intervals over problems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prmkit.maths.arrays import numbers, same_length

Index = NDArray[np.int64]

CELLS_AT_ONCE = 4_000_000  # drawn row numbers held in memory, some 32 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure, the interval that should hold it, and the number of problems behind it.

    >>> print(Interval(0.61, 0.57, 0.65, 300))
    0.61 [0.57, 0.65] n=300
    """

    mean: float
    low: float
    high: float
    n: int

    @property
    def excludes_zero(self) -> bool:
        """Of a difference: it is more than chance."""
        return self.low > 0 or self.high < 0

    def __str__(self) -> str:
        return f"{self.mean:.2f} [{self.low:.2f}, {self.high:.2f}] n={self.n}"


def bootstrap(
    values: Sequence[float], *, resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> Interval:
    """The mean over problems with its percentile interval: problems drawn anew, with repetition.

    One problem alone gives an interval of no width: read `n` beside it.
    """
    x = numbers("values", values)
    means = [x[drawn].mean(axis=1) for drawn in _draws(len(x), resamples, seed)]
    return _percentiles(float(x.mean()), np.concatenate(means), level, len(x))


def bootstrap_statistic(
    rows: Sized,
    statistic: Callable[[Index], float | None],
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The same for any statistic of rows, such as an F1: `statistic` gets the row numbers to use.

    `mean` is the statistic of all rows. Of `rows` only the number matters. A resample on which the
    statistic is not defined (None: it drew no wrong solution) says nothing and is left out.
    """
    n = len(rows)
    if n < 1:
        raise ValueError("rows: none were given, at least one is needed")
    whole = statistic(np.arange(n))
    if whole is None:
        raise ValueError(f"the statistic is not defined on these {n} rows")
    drawn = (statistic(row) for block in _draws(n, resamples, seed) for row in block)
    defined = np.array([x for x in drawn if x is not None], dtype=np.float64)
    return _percentiles(whole, numbers("resampled statistic", defined.tolist()), level, n)


def paired_difference(
    a: Sequence[float], b: Sequence[float], *, resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> Interval:
    """mean(a - b) over the same problems, in the same order; a and b win or lose on each together."""
    same_length("paired values", a, b)
    differences = numbers("first", a) - numbers("second", b)
    return bootstrap(differences.tolist(), resamples=resamples, level=level, seed=seed)


def _draws(n: int, resamples: int, seed: int) -> Iterator[Index]:
    """Blocks of resamples, each row of a block `n` row numbers."""
    if resamples < 1:
        raise ValueError(f"at least one resample is needed, not {resamples}")
    rng = np.random.default_rng(seed)
    block = max(1, CELLS_AT_ONCE // n)
    for start in range(0, resamples, block):
        yield rng.integers(0, n, size=(min(block, resamples - start), n))


def _percentiles(mean: float, samples: NDArray[np.float64], level: float, n: int) -> Interval:
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level:g}")
    low, high = np.quantile(samples, [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high), n)
