"""Methods whose main contribution is how scores steer the writing of a solution."""

from __future__ import annotations

from prmkit.maths import aggregate as agg
from prmkit.recipes.recipe import Recipe
from prmkit.search import frontier, tree


def step_beam(*, width: int = 4, branch: int = 4) -> Recipe:
    """Keep the `width` best prefixes of `width` × `branch` at every step."""
    return Recipe("2408.03314", search=frontier.beam(width, branch), aggregate=agg.last)


def particle_filter(*, n: int = 16) -> Recipe:
    """Resample `n` prefixes by the odds of their scores at every step: a misjudged one may survive."""
    return Recipe("2502.01618", search=frontier.particles(n), aggregate=agg.last)


def tree_search(*, simulations: int = 32, branch: int = 4) -> Recipe:
    """Monte-Carlo tree search over steps, with a learnt value in place of play-outs (TS-LLM)."""
    return Recipe("2309.17179", search=tree.mcts(simulations, branch), aggregate=agg.last)
