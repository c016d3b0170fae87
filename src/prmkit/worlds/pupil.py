"""A pupil who solves `arith` problems and slips in known ways: the simulated policy of that world.

Its chances are knobs, so a claim can say when it should hold: how many slips and of which type,
and how often the pupil notices that something went wrong and takes it up again. One slip is a
habit rather than an accident: the pupil confuses "is given" with "gives away", so a majority of
tries may agree on the same wrong answer, as it happens with real models.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

from prmkit.types import Step, Stop, Trajectory, Until
from prmkit.worlds import arith

FILLERS = ("Let me think about it.\n", "So far so good.\n", "Now the next part.\n")


@dataclass(frozen=True, slots=True)
class Slips:
    """The chance of each kind of slip at one step; what is left is the chance of a right step."""

    calculation: float = 0.04
    operand: float = 0.10
    skip: float = 0.03
    redundant: float = 0.01
    filler: float = 0.015
    confusion: float = 0.6  # only where the story says "is given"

    def draw(self, rng: random.Random, *, confusing: bool) -> str:
        """The slip to make, "" for none."""
        chances = {f.name: getattr(self, f.name) for f in fields(self)}
        if not confusing:
            del chances["confusion"]
        right = max(0.0, 1.0 - sum(chances.values()))
        return rng.choices(["", *chances], [right, *chances.values()])[0]


@dataclass
class Pupil:
    """A policy: right but for its slips, noticing an earlier error with chance `mend` at every step."""

    slips: Slips = Slips()
    mend: float = 0.0
    seed: int = 0
    longest: int = 40  # steps after which the pupil gives up

    def __post_init__(self) -> None:
        self._rng = random.Random(f"pupil-{self.seed}")

    async def __call__(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        """A token limit is read as one step: the pupil does not stop in the middle of a line."""
        return [[self._go_on(t, until) for _ in range(n)] for t in prefixes]

    def _go_on(self, trajectory: Trajectory, until: Until) -> Trajectory:
        if trajectory.closed:
            return trajectory
        while True:
            trajectory = self._step(trajectory)
            if trajectory.closed or until != "end":
                return trajectory

    def _step(self, trajectory: Trajectory) -> Trajectory:
        truth, state = arith.story(trajectory.problem), arith.state_of(trajectory)
        answered = bool(trajectory.actions) and arith.is_answer(trajectory.actions[-1].text)
        if answered and state.broke_at is None:
            return replace(trajectory, stop="done")
        # An answer is left open only by someone who has noticed that it is wrong.
        noticed = answered or (state.broke_at is not None and self._rng.random() < self.mend)
        if state.position == len(truth.operations) and not noticed:
            return self._answer(trajectory, state)
        again = min(state.broke_at or 0, len(truth.operations) - 1)
        text = truth.equation(again) if noticed else self._write(truth, state)
        stop: Stop = "length" if len(trajectory.actions) + 1 >= self.longest else "open"
        return trajectory.then(Step(text), stop)

    def _answer(self, trajectory: Trajectory, state: arith.State) -> Trajectory:
        """The answer ends the work, unless the pupil looks at it and notices that it cannot be."""
        text = arith.answer_line(state.written)
        if state.broke_at is not None and self._rng.random() < self.mend:
            return trajectory.then(Step(text + "\n"))
        return trajectory.then(Step(text), "done")

    def _write(self, truth: arith.Story, state: arith.State) -> str:
        rng, value = self._rng, state.written
        sign, operand = truth.operations[state.position]
        right = arith.apply(value, sign, operand)
        confusing = "is given" in truth.says(state.position) and value > operand
        slip = self.slips.draw(rng, confusing=confusing)
        if slip == "confusion":
            return arith.equation(value, "-", operand)
        if slip == "calculation":
            off = rng.choice((-10, -2, -1, 1, 2, 10))
            return arith.equation(value, sign, operand, abs(right + off))
        if slip == "operand":
            return arith.equation(value, sign, max(1, operand + rng.choice((-10, -1, 1, 10))))
        if slip == "skip" and state.position + 1 < len(truth.operations):
            return arith.equation(value, *truth.operations[state.position + 1])
        if slip == "redundant":
            return arith.equation(value, "+", 0)
        if slip == "filler":
            return rng.choice(FILLERS)
        return arith.equation(value, sign, operand, right)
