"""A judge is a policy asked another question; the script below could be `open_policy("hf:…")`."""

import prmkit
from prmkit.scorers.judge import judge
from prmkit.testing import ScriptedPolicy
from prmkit.types import Problem, Step, Trajectory


def ask(trajectory, i):
    return f"Is this step right? {trajectory.actions[i].text}"


def read(answer):
    """None where there is no verdict: that is not a verdict of 0."""
    return {"yes": 1.0, "no": 0.0}.get(answer.split(",")[0].lower())


model = ScriptedPolicy(lambda p: ["No, it is 3."] if "= 4" in p.prompt else ["Yes, it is."])
solution = Trajectory(Problem("1 + 1 + 1?"), (Step("1 + 1 = 2\n"), Step("2 + 1 = 4")), "done")
(scores,) = prmkit.run(judge(model, ask, read)([solution]))
assert scores.values == (1.0, 0.0)
assert scores.kind == "correctness"
assert scores.notes == ("Yes, it is.", "No, it is 3.")
