import pytest

from prmkit.types import Group, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact


@pytest.fixture
def world():
    return Exact()


@pytest.fixture
def solutions(run, world):
    (row,) = run(world.policy([Trajectory(PROBLEM)], 8, until="end"))
    return row


@pytest.fixture
def group(run, world, solutions):
    return Group(tuple(solutions), tuple(run(world.verify(solutions))), tuple(run(world.oracle(solutions))))
