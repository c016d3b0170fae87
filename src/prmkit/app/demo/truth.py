"""How a scorer's steps compare with what the world knows to be true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from prmkit.app.demo.compare import Pool
from prmkit.maths import labels, metrics
from prmkit.maths.calibrate import Bin, reliability
from prmkit.maths.stats import Interval, bootstrap_statistic
from prmkit.worlds import arith

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Accuracy:
    f1: Interval  # of the first error, as ProcessBench has it, at threshold 0.5
    auc: Interval  # of the steps: on track or not
    calibration: list[Bin]
    steps: int


def accuracy(pools: Sequence[Pool], scorer: str, *, each: int = 2) -> Accuracy:
    """On the first `each` samples of every problem; intervals by resampling problems."""
    found = [[labels.first_error(s.values) for s in pool.scores[scorer][:each]] for pool in pools]
    true = [[arith.first_error(t) for t in pool.samples[:each]] for pool in pools]
    scores = [[v for s in pool.scores[scorer][:each] for v in s.values] for pool in pools]
    right = [[float(v.on_track) for t in pool.samples[:each] for v in arith.judge(t)] for pool in pools]

    def f1(chosen: NDArray[np.intp]) -> float | None:
        return metrics.first_error_scores(_joined(found, chosen), _joined(true, chosen)).f1

    def auc(chosen: NDArray[np.intp]) -> float | None:
        return metrics.auc(_joined(scores, chosen), _joined(right, chosen))

    flat, marks = _joined(scores), _joined(right)
    return Accuracy(
        bootstrap_statistic(pools, f1, resamples=500),
        bootstrap_statistic(pools, auc, resamples=200),
        reliability(flat, marks),
        len(flat),
    )


def _joined(rows: Sequence[Sequence[T]], chosen: NDArray[np.intp] | None = None) -> list[T]:
    picked = rows if chosen is None else [rows[i] for i in chosen]
    return [x for row in picked for x in row]
