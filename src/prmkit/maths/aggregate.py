"""Step scores to one number, and candidates to one answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

from prmkit.types import Aggregate, Candidate


def _some(values: Sequence[float]) -> Sequence[float]:
    if not len(values):
        raise ValueError("a solution without scored steps has no aggregate")
    return values


def last(values: Sequence[float]) -> float:
    """v_T: for a value, the chance of success seen from the end."""
    return _some(values)[-1]


def mean(values: Sequence[float]) -> float:
    """(1/T) Σ v_t."""
    return sum(_some(values)) / len(values)


def minimum(values: Sequence[float]) -> float:
    """min v_t: a solution is as good as its weakest step.

    >>> minimum([0.9, 0.2, 0.8])
    0.2
    """
    return min(_some(values))


def product(values: Sequence[float]) -> float:
    """Π v_t: the chance that all steps are right, were they independent."""
    return math.prod(_some(values))


def total(values: Sequence[float]) -> float:
    """Σ r_t: the return of a solution whose scores are rewards."""
    return sum(_some(values))


# `total` is not among them: these serve scores that are chances, and a sum of chances pays for length.
AGGREGATES: dict[str, Aggregate] = {"last": last, "mean": mean, "min": minimum, "product": product}


def best(candidates: Sequence[Candidate]) -> Candidate:
    """The candidate of the highest value, the first among equals."""
    if not candidates:
        raise ValueError("there is no best of no candidates")
    return max(candidates, key=lambda c: c.value)


def vote(
    candidates: Sequence[Candidate],
    answer: Callable[[Candidate], str | None],
    weight: Callable[[Candidate], float] = lambda c: 1.0,
) -> str | None:
    """argmax_a Σ_{i: answer_i = a} weight_i: the answer with the most weight, the first among equals.

    A candidate without an answer has no vote; None when none has one. Without `weight` it is the majority.
    """
    if not candidates:
        raise ValueError("no candidates, no vote")
    tally: dict[str, float] = defaultdict(float)
    for candidate in candidates:
        if (found := answer(candidate)) is not None:
            tally[found] += weight(candidate)
    return max(tally, key=lambda a: tally[a]) if tally else None
