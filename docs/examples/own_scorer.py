"""A plain async function is a scorer: there is nothing to subclass and nothing to register."""

import prmkit
from prmkit.testing import check_scorer
from prmkit.types import Problem, Scores, Step, Trajectory


async def brevity(trajectories, /):
    """The more words a step needs, the less we believe it."""
    return [Scores(tuple(1 / len(s.text.split()) for s in t.actions)) for t in trajectories]


solution = Trajectory(Problem("1 + 1 + 1?"), (Step("1 + 1 = 2\n"), Step("so 3")), "done")
(scores,) = prmkit.run(brevity([solution]))
assert scores.values == (0.2, 0.5)  # five words, two words

prmkit.run(check_scorer(brevity, [solution], repeatable=True))  # the contract of all scorers
