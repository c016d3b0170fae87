"""Credit is a pure function of the group of solutions of one problem: an advantage for each step."""

from prmkit.maths import credit
from prmkit.types import Group, Problem, Scores, Step, Trajectory

two_steps = Trajectory(Problem("?"), (Step("first\n"), Step("second")), "done")
group = Group(
    trajectories=(two_steps, two_steps),
    outcomes=(1.0, 0.0),  # the first ended well
    scores=(Scores((0.7, 1.0)), Scores((0.6, 0.0))),  # values: the chance of ending well, after each step
)


def shown(advantages):
    return [[round(a, 6) for a in row] for row in advantages]


assert shown(credit.outcome(group)) == [[1.0, 1.0], [-1.0, -1.0]]  # all steps of a solution alike
progress = credit.by_progress(start=0.5)
assert shown(progress(group)) == [[0.2, 0.3], [0.1, -0.6]]  # the second step of the second is to blame
both = credit.add(credit.outcome, progress)
assert shown(both(group)) == [[1.2, 1.3], [-0.9, -1.6]]
