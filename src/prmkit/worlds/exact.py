"""A toy whose every value is known: a solution is `length` steps, each right with chance `p`.

A wrong step spoils the solution. With chance `heal` a right step after that mends it, which is what
makes Monte-Carlo values rise again after an error.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prmkit.types import Problem, Scores, Step, Trajectory, Until

PROBLEM = Problem("toy", id="toy")


@dataclass
class Exact:
    """Steps read `right`, `wrong` or `mend`; the solution is sound after a fold over them.

    >>> world = Exact(length=3, p=0.5)
    >>> t = Trajectory(PROBLEM, (Step("right"), Step("wrong"), Step("right")), "done")
    >>> world.truth(t).values
    (0.25, 0.0, 0.0)
    """

    length: int = 5
    p: float = 0.7
    seed: int = 0
    heal: float = 0.0
    _asked: Counter[str] = field(default_factory=Counter, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.length < 1 or not 0 <= self.p <= 1 or not 0 <= self.heal <= 1:
            raise ValueError(f"no such world: {self}")

    async def policy(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        """`n` continuations of each prefix; a step counts as one token.

        The k-th continuation of a prefix depends on the seed, the prefix and k alone, so it is the
        same whether calls come one by one or in batches.
        """
        steps = 1 if until == "step" else self.length if until == "end" else max(1, until)
        return [[self._continue(t, steps) for _ in range(n)] for t in prefixes]

    async def verify(self, trajectories: Sequence[Trajectory], /) -> list[float]:
        """1 for a solution that is done and sound, 0 for any other, the unfinished among them."""
        return [float(t.stop == "done" and sound(t)) for t in trajectories]

    def value(self, trajectory: Trajectory) -> float:
        """The exact chance that this policy, playing on from here, ends well.

        With k steps ahead, from a sound (u) and a spoilt (d) solution, u₀ = 1, d₀ = 0:
        uₖ = p uₖ₋₁ + (1 − p) dₖ₋₁ and dₖ = p·heal uₖ₋₁ + (1 − p·heal) dₖ₋₁.

        >>> Exact(length=2, p=0.5, heal=0.5).value(Trajectory(PROBLEM))  # ½·½ + ½·¼
        0.375
        """
        if trajectory.closed:
            return float(trajectory.stop == "done" and sound(trajectory))
        up, down, mend = 1.0, 0.0, self.p * self.heal
        for _ in range(self.length - len(trajectory.actions)):
            up, down = self.p * up + (1 - self.p) * down, mend * up + (1 - mend) * down
        return up if sound(trajectory) else down

    def truth(self, trajectory: Trajectory) -> Scores:
        """The value after every step, as a perfect scorer would give it."""
        seen = [*trajectory.prefixes()[:-1], trajectory] if trajectory.actions else []
        return Scores(tuple(map(self.value, seen)), source="exact")

    async def oracle(self, trajectories: Sequence[Trajectory], /) -> list[Scores]:
        return [self.truth(t) for t in trajectories]

    def _continue(self, prefix: Trajectory, steps: int) -> Trajectory:
        if prefix.closed:
            return prefix
        rng, t = self._dice(prefix), prefix
        for _ in range(min(steps, self.length - len(prefix.actions))):
            t = t.then(self._draw(rng.random(), sound(t)))
        return replace(t, stop="done") if len(t.actions) >= self.length else t

    def _draw(self, luck: float, is_sound: bool) -> Step:
        if luck >= self.p:
            return Step("wrong")
        return Step("mend" if not is_sound and luck < self.p * self.heal else "right")

    def _dice(self, prefix: Trajectory) -> random.Random:
        words = (prefix.problem.id, prefix.problem.prompt, *(s.text for s in prefix.steps))
        key = "\n".join((str(self.seed), *words))
        self._asked[key] += 1
        return random.Random(f"{key}\n{self._asked[key]}")  # a string seeds alike on every machine


def sound(trajectory: Trajectory) -> bool:
    """Is every wrong step mended?"""
    marks = [s.text for s in trajectory.actions if s.text in ("wrong", "mend")]
    return not marks or marks[-1] == "mend"
