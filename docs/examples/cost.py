"""Cost is a wrapper, and so is batching: a search is written for one problem and knows of neither."""

import asyncio

import prmkit
from prmkit.effects import batched, metered
from prmkit.maths.aggregate import last
from prmkit.scorers.combine import by_steps
from prmkit.search.frontier import beam
from prmkit.types import Problem
from prmkit.verbs import solve
from prmkit.worlds.exact import Exact

world = Exact(length=5, p=0.7)
engine, meter = metered(world.policy)  # next to what costs …
policy = batched(engine)  # … and below the merging
rate = by_steps(world.oracle, last)
problems = [Problem(f"toy {i}", id=str(i)) for i in range(20)]


async def all_at_once():
    searches = (solve(p, policy, rate, search=beam(2, 4)) for p in problems)
    return await asyncio.gather(*searches)


assert len(prmkit.run(all_at_once())) == 20
assert meter.calls == 5  # twenty searches of five steps each: one engine call for each step
assert meter.items == 20 * 5 * 2 * 4  # continuations that were written: what is compared at equal cost
