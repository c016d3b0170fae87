"""A policy and a world make a policy: search, labelling and training then serve agents as they are."""

import prmkit
from prmkit.policies import in_world
from prmkit.testing import ScriptedPolicy, check_world
from prmkit.types import Problem, Step, Trajectory


async def calculator(trajectories, /):
    """Answers a step that ends in "=": the sum of what stands before it."""
    return [t.then(Step(sums(t), by="world")) if asks(t) else t for t in trajectories]


def asks(trajectory):
    return not trajectory.closed and bool(trajectory.steps) and trajectory.steps[-1].text.endswith("=")


def sums(trajectory):
    return f"{sum(map(int, trajectory.steps[-1].text.rstrip('=').split('+')))}\n"


writer = ScriptedPolicy(lambda problem: ["2+3=", "The answer is 5."])
agent = in_world(writer, calculator)
((solution,),) = prmkit.run(agent([Trajectory(Problem("2 + 3?"))], until="end"))
assert solution.text == "2+3=5\nThe answer is 5."
assert [s.by for s in solution.steps] == ["policy", "world", "policy"]
assert len(solution.actions) == 2  # what the world said is never scored and never trained on

prmkit.run(check_world(calculator, [Trajectory(Problem("2 + 3?"), (Step("2+3="),))]))
