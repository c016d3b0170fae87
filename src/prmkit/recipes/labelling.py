"""Methods whose main contribution is where a step's label comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prmkit.maths import aggregate as agg
from prmkit.maths import labels
from prmkit.recipes.recipe import Recipe
from prmkit.scorers.combine import ensemble
from prmkit.scorers.monte_carlo import bisect, monte_carlo
from prmkit.types import Policy, Rater, Scorer, Scores, Trajectory


def math_shepherd(policy: Policy, verify: Rater, *, rollouts: int = 8) -> Recipe:
    """A step is good if any of `rollouts` continuations ends well."""
    teacher = monte_carlo(policy, verify, rollouts=rollouts, estimate=labels.hard)
    return Recipe("2312.08935", label=teacher, objective="bce")


def omega_prm(policy: Policy, verify: Rater, *, rollouts: int = 8) -> Recipe:
    """The first error by bisection: a prefix is good while any of `rollouts` continuations ends well."""
    teacher = bisect(policy, verify, rollouts=rollouts)
    return Recipe(64, label=teacher, objective="bce", aggregate=agg.product)


def lessons(policy: Policy, verify: Rater, critic: Scorer, *, rollouts: int = 8) -> Recipe:
    """A step is right only if rollouts and the critic, a scorer of correctness, both say so."""
    teacher = monte_carlo(policy, verify, rollouts=rollouts, estimate=labels.hard)
    agreed = ensemble(as_verdicts(teacher), critic, by=agg.minimum)
    return Recipe(20, label=agreed, objective="bce", aggregate=agg.product)


def as_verdicts(scorer: Scorer) -> Scorer:
    """Read a hard label, some continuation ended well, as the verdict that the step is right."""

    async def score(trajectories: Sequence[Trajectory], /) -> list[Scores]:
        return [replace(s, kind="correctness") for s in await scorer(trajectories)]

    return score
