"""OmegaPRM (card 64): the first error by bisection against Monte-Carlo at every step, for equal rollouts.

Both read the same stream of the simulated pupil's solutions and spend rollouts on the wrong ones only: a
right one has no error to find, and the check that tells is free. So nothing but the bisection is compared.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from itertools import cycle

from prmkit.bench.arms.learning import examples_of, learn_prm
from prmkit.bench.compare import Arm
from prmkit.bench.run import problem_seed
from prmkit.effects import metered
from prmkit.maths import labels
from prmkit.scorers.monte_carlo import bisect, monte_carlo
from prmkit.text.answers import exact_answer
from prmkit.types import Policy, Scorer, Scores, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil, Slips

ROLLOUTS = 8  # from a prefix: k of the card
FOUND, F1 = "first errors found", "first-error F1"
LABELLERS: dict[str, Callable[[Policy], Scorer]] = {
    "bisection": lambda policy: bisect(policy, exact_answer, rollouts=ROLLOUTS),
    "every step": lambda policy: monte_carlo(policy, exact_answer, rollouts=ROLLOUTS, estimate=labels.hard),
}


def half_right(operations: int) -> Slips:
    """Slips with which a pupil who mends nothing solves about half of the problems: (1 − p)^M = ½.

    The card expects nothing of a policy near 0 or 100 %, so longer problems get a more careful pupil.
    """
    p = 1 - 0.5 ** (1 / operations)
    return Slips(calculation=p * 4 / 7, operand=p * 2 / 7, skip=p / 7, confusion=0.0)


async def locate(seed: int, *, operations: int, mend: float = 0.0, slices: int = 8) -> dict[str, Arm]:
    """Errors rightly located in each slice of 32 M rollouts: about four solutions' worth at every step."""
    pupil = partial(Pupil, half_right(operations), mend)
    each = 32 * operations
    arms = {}
    for name in LABELLERS:
        found, spent = [0] * slices, 0
        async for solution, scores, rollouts in labelled(name, pupil, operations, seed, slices * each):
            if rollouts > spent:  # a right solution costs nothing and has nothing to find
                found[(rollouts - 1) // each] += labels.first_error(scores.values) == truth(solution)
                spent = rollouts
        arms[name] = Arm({FOUND: found}, spent)
    return arms


async def train(seed: int, *, operations: int, budget: int, held_out: int) -> dict[str, Arm]:
    """A PRM from what each labeller labelled within the budget, and how it finds first errors."""
    pupil = partial(Pupil, half_right(operations))
    span = (operations, operations)
    problems = arith.problems(held_out, seed=problem_seed(seed, 1), operations=span)
    rows = await pupil(seed=2000 + seed)([Trajectory(p) for p in problems], 1, until="end")
    tests = [solution for (solution,) in rows]
    arms = {}
    for name in LABELLERS:
        kept = [row async for row in labelled(name, pupil, operations, seed, budget)]
        prm = await learn_prm(examples_of([t for t, _, _ in kept], [s for _, s, _ in kept]), seed=seed)
        said = await prm(tests)
        columns = [f1_columns(s, truth(t)) for t, s in zip(tests, said, strict=True)]
        arms[name] = Arm({F1: columns}, kept[-1][2])
    return arms


async def labelled(
    name: str, pupil: Callable[..., Policy], operations: int, seed: int, budget: int
) -> AsyncIterator[tuple[Trajectory, Scores, int]]:
    """Each solution with its labels and the rollouts spent so far, until one does not fit in the budget."""
    policy, meter = metered(pupil(seed=1000 + seed))
    label = LABELLERS[name](policy)
    async for solution, right in solutions(pupil(seed=seed), operations, seed):
        scores = Scores((1.0,) * len(solution.actions)) if right else (await label([solution]))[0]
        if meter.items > budget:
            return
        yield solution, scores, meter.items


async def solutions(pupil: Policy, operations: int, seed: int) -> AsyncIterator[tuple[Trajectory, bool]]:
    """Finished solutions and whether their answer is right, without end."""
    span = (operations, operations)
    for problem in cycle(arith.problems(200, seed=problem_seed(seed), operations=span)):
        ((solution,),) = await pupil([Trajectory(problem)], 1, until="end")
        if solution.stop == "done":
            yield solution, await exact_answer([solution]) == [1.0]


def truth(solution: Trajectory) -> int | None:
    """The first step after which the solution is off the track."""
    return next((i for i, verdict in enumerate(arith.judge(solution)) if not verdict.on_track), None)


def f1_columns(scores: Scores, true: int | None) -> tuple[float, ...]:
    """A solution as `compare.first_error_f1` counts it: (wrong and found, wrong, right and passed, right).

    >>> f1_columns(Scores((0.9, 0.2)), 1)
    (1.0, 1.0, 0.0, 0.0)
    """
    hit = float(labels.first_error(scores.values) == true)
    return (0.0, 0.0, hit, 1.0) if true is None else (hit, 1.0, 0.0, 0.0)
