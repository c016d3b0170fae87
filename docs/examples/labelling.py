"""Labelling is scoring: what a dear scorer says of a step is the label a cheap one learns from."""

import prmkit
from prmkit.maths import labels
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.types import Example, Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

world = Exact(length=3, p=0.5)  # three steps, each right with chance ½; one wrong step spoils all
solution = Trajectory(PROBLEM, (Step("right"), Step("wrong"), Step("right")), "done")

dear = monte_carlo(world.policy, world.verify, rollouts=2000)  # plays on from every step
(said,) = prmkit.run(dear([solution]))
(truth,) = prmkit.run(world.oracle([solution]))
assert truth.values == (0.25, 0.0, 0.0)  # two more steps must be right: ½ · ½
assert abs(said.values[0] - 0.25) < 0.05
assert said.values[1:] == (0.0, 0.0)

counts = zip(said.parts["successes"], said.parts["rollouts"], strict=True)  # kept, so that
hard = tuple(labels.hard_from_counts(s, n) for s, n in counts)  # other labels cost nothing
assert hard == (1.0, 0.0, 0.0)

lesson = Example(solution, said.values, said.kind, source=said.source)  # what `fit` is given
