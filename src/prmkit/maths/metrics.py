"""How good scores are, against a truth that is known. None means that a number is not defined."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prmkit.maths.arrays import chances, numbers, ranks, same_length
from prmkit.maths.calibrate import reliability


@dataclass(frozen=True, slots=True)
class FirstError:
    """Finding the first error, on solutions that have one and on those that have none; all in [0, 1]."""

    f1: float | None  # None unless both sorts of solution are there
    accuracy_on_wrong: float | None  # the very step was named
    accuracy_on_right: float | None  # nothing was flagged
    n_wrong: int
    n_right: int


def first_error_scores(predicted: Sequence[int | None], true: Sequence[int | None]) -> FirstError:
    """ProcessBench's F1 = 2ab / (a + b), a and b the accuracies on wrong and on right solutions.

    An index counts from 0; None is "no error".

    >>> first_error_scores([2, 1, None, 0], [2, 3, None, None]).f1
    0.5
    """
    same_length("predicted and true first errors", predicted, true)
    if not len(true):
        raise ValueError("no solutions, no first-error scores")
    if any(i is not None and i < 0 for i in (*predicted, *true)):
        raise ValueError("a first error counts from 0; no error is None, not -1")
    pairs = list(zip(predicted, true, strict=True))
    wrong = [p == t for p, t in pairs if t is not None]
    right = [p is None for p, t in pairs if t is None]
    on_wrong = sum(wrong) / len(wrong) if wrong else None
    on_right = sum(right) / len(right) if right else None
    return FirstError(_harmonic(on_wrong, on_right), on_wrong, on_right, len(wrong), len(right))


def _harmonic(a: float | None, b: float | None) -> float | None:
    if a is None or b is None:
        return None
    return 2 * a * b / (a + b) if a + b else 0.0


def auc(scores: Sequence[float], labels: Sequence[float]) -> float | None:
    """The chance that a right one scores above a wrong one, ties half; None when either is absent.

    AUC = (R - n₊(n₊ + 1)/2) / (n₊ n₋), R the sum of the ranks of the right ones (label above ½).

    >>> auc([0.9, 0.4, 0.4], [1, 1, 0])
    0.75
    """
    s, right = numbers("scores", scores), chances("labels", labels) > 0.5
    same_length("scores and labels", s, right)
    above, below = int(right.sum()), int((~right).sum())
    if not above or not below:
        return None
    return float((ranks(s)[right].sum() - above * (above + 1) / 2) / (above * below))


def brier(scores: Sequence[float], labels: Sequence[float]) -> float:
    """mean (p - y)²: 0 is perfect, ¼ is what 0.5 everywhere gives, 1 is always sure and wrong."""
    s, y = chances("scores", scores), chances("labels", labels)
    same_length("scores and labels", s, y)
    return float(((s - y) ** 2).mean())


def expected_calibration_error(scores: Sequence[float], labels: Sequence[float], bins: int = 10) -> float:
    """Σ_b (n_b / n) |share right - mean score| over equal slices of [0, 1]; 0 is calibrated.

    >>> expected_calibration_error([0.75, 0.75], [1, 0])
    0.25
    """
    slices = reliability(scores, labels, bins)
    return sum(b.n * abs(b.share_right - b.mean_score) for b in slices) / sum(b.n for b in slices)


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """The correlation of ranks, in [-1, 1]; None when one side is constant.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    """
    x, y = ranks(numbers("first", a)), ranks(numbers("second", b))
    same_length("first and second", x, y)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum()) / size if size else None


def pass_at_k(n: int, c: int, k: int) -> float:
    """1 - C(n-c, k) / C(n, k): the chance that k of n samples, c of them right, hold a right one.

    >>> pass_at_k(4, 1, 2)
    0.5
    """
    if not (0 <= c <= n and 1 <= k <= n):
        raise ValueError(
            f"pass@{k} of {n} samples with {c} right: need 0 ≤ right ≤ samples and 1 ≤ k ≤ samples"
        )
    return 1 - math.comb(n - c, k) / math.comb(n, k)
