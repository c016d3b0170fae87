"""A pupil who solves `arith` problems and slips in known ways: the simulated policy of that world.

Its chances are knobs, so a claim can say when it should hold: number of slips, their types,
and how often the pupil notices that something went wrong and takes it up again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields

from prmkit.types import Step, Stop, Trajectory, Until
from prmkit.worlds import arith

FILLERS = ("Let me think about it.\n", "So far so good.\n", "Now the next part.\n")


@dataclass(frozen=True, slots=True)
class Slips:
    """The chance of each kind of slip at one step; what is left is the chance of a right step."""

    calculation: float = 0.08
    operand: float = 0.02
    skip: float = 0.01
    redundant: float = 0.01
    filler: float = 0.01

    def draw(self, rng: random.Random) -> str:
        chances = [(f.name, getattr(self, f.name)) for f in fields(self)]
        right = 1.0 - sum(chance for _, chance in chances)
        names, weights = zip(("right", right), *chances, strict=True)
        return str(rng.choices(names, weights)[0])


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
        finished = state.position == len(truth.operations)
        if not arith.on_track(truth, state) and self._rng.random() < self.mend:
            text = self._take_up_again(truth, state)
        elif finished:
            return trajectory.then(Step(arith.answer_line(state.written)), "done")
        else:
            text = self._write(truth, state)
        stop: Stop = "length" if len(trajectory.actions) + 1 >= self.longest else "open"
        return trajectory.then(Step(text), stop)

    def _take_up_again(self, truth: arith.Story, state: arith.State) -> str:
        """Redo the last operation from its true value, which is what a person does on noticing."""
        return truth.equation(max(0, state.position - 1))

    def _write(self, truth: arith.Story, state: arith.State) -> str:
        rng, value = self._rng, state.written
        sign, operand = truth.operations[state.position]
        right = arith.apply(value, sign, operand)
        slip = self.slips.draw(rng)
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
