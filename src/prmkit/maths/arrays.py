"""Number sequences that were checked once, so that no formula has to answer NaN."""

from __future__ import annotations

from collections.abc import Sequence, Sized

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]


def numbers(what: str, values: Sequence[float]) -> Numbers:
    """At least one number, all finite; `what` names them in the error."""
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{what}: no numbers were given, at least one is needed")
    if not np.isfinite(array).all():
        raise ValueError(f"{what}: number {int(np.argmin(np.isfinite(array)))} is not finite")
    return array


def chances(what: str, values: Sequence[float]) -> Numbers:
    """As `numbers`, all within [0, 1]."""
    array = numbers(what, values)
    if array.min() < 0 or array.max() > 1:
        raise ValueError(f"{what}: {array.min():g} to {array.max():g} is outside [0, 1]")
    return array


def same_length(what: str, a: Sized, b: Sized) -> None:
    if len(a) != len(b):
        raise ValueError(f"{what}: {len(a)} and {len(b)} of them, one for one is needed")


def ranks(values: Numbers) -> Numbers:
    """Ranks from 1, ties sharing the mean of theirs.

    >>> ranks(np.array([0.2, 0.9, 0.2])).tolist()
    [1.5, 3.0, 1.5]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    shared: Numbers = np.cumsum(counts) - (counts - 1) / 2
    return shared[place]
