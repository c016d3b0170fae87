from collections.abc import Callable

import pytest

from prmkit.types import Group, Problem, Scores, Step, Trajectory


@pytest.fixture(scope="session")
def group() -> Callable[..., Group]:
    """`group(outcomes, values of the first, values of the second, …)`."""

    def build(outcomes, *values, kind="value"):
        problem = Problem("q")
        trajectories = (Trajectory(problem, tuple(Step(f"{v}") for v in row), "done") for row in values)
        return Group(tuple(trajectories), tuple(outcomes), tuple(Scores(tuple(row), kind) for row in values))

    return build
