"""Methods whose main contribution is the form of the scorer or what it learns to minimise."""

from __future__ import annotations

from prmkit.recipes.recipe import Recipe
from prmkit.scorers.judge import Ask, Read, judge
from prmkit.types import Policy


def critique(policy: Policy, ask: Ask, read: Read, *, votes: int = 10) -> Recipe:
    """A verdict after written reasoning, averaged over `votes` critiques (R-PRM)."""
    return Recipe(18, label=judge(policy, ask, read, votes=votes))


def q_ranking() -> Recipe:
    """Step values learnt by their order: right steps rise, wrong ones stay a margin below the start (PQM)."""
    return Recipe(16, objective="rank")
