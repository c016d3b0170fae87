"""Does a score of 0.8 mean right in 80 of 100?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prmkit.maths.arrays import chances, same_length


@dataclass(frozen=True, slots=True)
class Bin:
    """The scores in [low, high), the last bin with 1 included."""

    low: float
    high: float
    mean_score: float
    share_right: float
    n: int


def reliability(scores: Sequence[float], labels: Sequence[float], bins: int = 10) -> list[Bin]:
    """Scores in equal slices of [0, 1] against the share of right ones in each; empty slices are left out.

    >>> [(b.low, b.mean_score, b.share_right, b.n) for b in reliability([0.75, 0.25, 0.75], [1, 0, 0], 2)]
    [(0.0, 0.25, 0.0, 1), (0.5, 0.75, 0.5, 2)]
    """
    if bins < 1:
        raise ValueError(f"at least one bin is needed, not {bins}")
    s, y = chances("scores", scores), chances("labels", labels)
    same_length("scores and labels", s, y)
    edges = np.arange(bins + 1) / bins  # not linspace: 3/10 must be the 0.3 that a score says
    place = np.searchsorted(edges[1:-1], s, side="right")
    return [
        Bin(
            float(edges[i]),
            float(edges[i + 1]),
            float(s[here].mean()),
            float(y[here].mean()),
            int(here.sum()),
        )
        for i in range(bins)
        if (here := place == i).any()
    ]
