"""Scorers, raters and comparers are made of one another; each line is one row of the table."""

from dataclasses import replace

import prmkit
from prmkit.maths.aggregate import mean, minimum
from prmkit.scorers.combine import by_prefix, by_steps, ensemble, through
from prmkit.scorers.monte_carlo import monte_carlo, play_on
from prmkit.types import Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

loud = Trajectory(PROBLEM, tuple(map(Step, ("RIGHT", "WRONG", "RIGHT"))), "done")
one, same = Exact(length=3, p=0.5), Exact(length=3, p=0.5)


def quiet(trajectory):
    """A view: other words, the same steps."""
    return replace(trajectory, steps=tuple(replace(s, text=s.text.lower()) for s in trajectory.steps))


exact = through(quiet, one.oracle)  # scorer → scorer: what the oracle says of another view
assert [s.values for s in prmkit.run(exact([loud]))] == [(0.25, 0.0, 0.0)]

rate = by_steps(exact, minimum)  # scorer → rater
assert prmkit.run(rate([loud])) == [0.0]

again = by_prefix(by_steps(exact, mean))  # rater of unfinished work → scorer
assert [s.values for s in prmkit.run(again([loud]))] == [(0.25, 0.125, 0.25 / 3)]

both = ensemble(exact, again, by=minimum)  # scorers → scorer
assert [s.values for s in prmkit.run(both([loud]))] == [(0.25, 0.0, 0.0)]

played = monte_carlo(one.policy, one.verify, rollouts=8)  # policy + check → scorer …
by_hand = by_prefix(play_on(same.policy, same.verify, rollouts=8))  # … which is these two rows in one
steps = [quiet(loud)]
assert [s.values for s in prmkit.run(played(steps))] == [s.values for s in prmkit.run(by_hand(steps))]
