"""Checking is rating: an exact check, a scorer put together and a tournament fit the same place."""

import prmkit
from prmkit.maths.aggregate import minimum
from prmkit.scorers.combine import by_pairs, by_steps
from prmkit.search.frontier import best_of_n
from prmkit.verbs import solve
from prmkit.worlds.exact import PROBLEM, Exact, sound

world = Exact(length=4, p=0.7)


async def sounder(pairs, /):
    """A comparer: the chance that the first of each pair is the better one."""
    return [0.5 + 0.5 * (sound(a) - sound(b)) for a, b in pairs]


for rate in (world.verify, by_steps(world.oracle, minimum), by_pairs(sounder)):
    best = prmkit.run(solve(PROBLEM, world.policy, rate, search=best_of_n(32)))
    assert prmkit.run(world.verify([best.trajectory])) == [1.0]
