import pytest

from prmkit.types import Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

NAMES = {"r": "right", "w": "wrong", "m": "mend"}


@pytest.fixture
def solution():
    """A solution of the exact world by its letters: `rw` is right, wrong."""

    def make(letters, stop="done", problem=PROBLEM):
        return Trajectory(problem, tuple(Step(NAMES[c]) for c in letters), stop)

    return make


@pytest.fixture
def solutions(run):
    rows = run(Exact(seed=11).policy([Trajectory(PROBLEM)], 6, until="end"))
    return rows[0]


@pytest.fixture
def clerk():
    """A policy that answers with the last word of the question it is asked."""

    async def answer(prefixes, n=1, /, *, until="step"):
        return [[t.then(Step(t.problem.prompt.split()[-1]), "done")] * n for t in prefixes]

    return answer
