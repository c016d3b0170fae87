"""Evidence about a step to a training label. Counts are kept as they are; labels are functions of them."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.special import betaincinv


def soft(outcomes: Sequence[float]) -> float:
    """The share of continuations that ended well, in [0, 1]."""
    if not len(outcomes):
        raise ValueError("no continuations, no label")
    return sum(outcomes) / len(outcomes)


def hard(outcomes: Sequence[float]) -> float:
    """1 when any continuation ended well, else 0."""
    if not len(outcomes):
        raise ValueError("no continuations, no label")
    return float(any(o > 0.5 for o in outcomes))


def soft_from_counts(successes: float, rollouts: float) -> float:
    """successes / rollouts.

    >>> soft_from_counts(3, 4)
    0.75
    """
    _check(successes, rollouts)
    return successes / rollouts


def hard_from_counts(successes: float, rollouts: float) -> float:
    """1 when any of the rollouts was a success, else 0."""
    _check(successes, rollouts)
    return float(successes > 0)


def _check(successes: float, rollouts: float) -> None:
    if rollouts <= 0 or not 0 <= successes <= rollouts:
        raise ValueError(f"{successes:g} successes of {rollouts:g} rollouts is not a count")


def beta_interval(successes: float, rollouts: float, level: float = 0.95) -> tuple[float, float]:
    """Where the chance behind a Monte-Carlo label lies: quantiles of Beta(s + ½, n - s + ½) (Jeffreys).

    The end at 0 or 1 is kept when no rollout, or every rollout, was a success.

    >>> low, high = beta_interval(4, 8)
    >>> f"{low:.2f} to {high:.2f}"
    '0.20 to 0.80'
    """
    _check(successes, rollouts)
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, not {level:g}")
    tail = (1 - level) / 2
    a, b = successes + 0.5, rollouts - successes + 0.5
    low = 0.0 if successes == 0 else float(betaincinv(a, b, tail))
    high = 1.0 if successes == rollouts else float(betaincinv(a, b, 1 - tail))
    return low, high


def first_error(values: Sequence[float], threshold: float = 0.5) -> int | None:
    """The index of the first value below `threshold`, None when there is none.

    >>> first_error([0.9, 0.3, 0.8])
    1
    """
    return next((i for i, v in enumerate(values) if v < threshold), None)


def mask_after_first_error(labels: Sequence[float], threshold: float = 0.5) -> tuple[float | None, ...]:
    """The labels up to and with the first wrong one, None after it: what follows an error is not judged.

    >>> mask_after_first_error([1.0, 0.0, 1.0])
    (1.0, 0.0, None)
    """
    wrong = first_error(labels, threshold)
    return tuple(x if wrong is None or i <= wrong else None for i, x in enumerate(labels))
