"""A published method is a choice of parts: a recipe names them and runs nothing."""

import prmkit
from prmkit.recipes import RECIPES
from prmkit.scorers.combine import by_steps
from prmkit.types import Step, Trajectory
from prmkit.verbs import solve
from prmkit.worlds.exact import PROBLEM, Exact

world = Exact(length=4, p=0.7)
solution = Trajectory(PROBLEM, tuple(map(Step, ("right", "right", "wrong", "right"))), "done")

omega = RECIPES["omega-prm"](world.policy, world.verify)
(label,) = prmkit.run(omega.label([solution]))
assert label.values == (1.0, 1.0, 0.0, 0.0)  # the first error, found by bisection
assert 0.0 in label.parts["rollouts"]  # not every step had to be played from

beam = RECIPES["step-beam"](width=2, branch=4)
rate = by_steps(world.oracle, beam.aggregate)
best = prmkit.run(solve(PROBLEM, world.policy, rate, search=beam.search))
assert prmkit.run(world.verify([best.trajectory])) == [1.0]
