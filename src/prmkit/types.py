"""The vocabulary of the toolkit: what flows between blocks, and who acts on it.

Values are frozen and do nothing but build the next value. Effects are the five
protocols: to propose, to answer, to score steps, to rate, to compare. Everything
else in the toolkit is a plain function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

Stop = Literal["open", "done", "length", "error"]
Kind = Literal["value", "correctness", "reward"]
Until = Literal["step", "end"] | int  # an int: at most so many tokens, mid-step if need be


@dataclass(frozen=True, slots=True)
class Problem:
    prompt: str
    answer: str | None = None
    id: str = ""
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)  # images, tables, a reference


@dataclass(frozen=True, slots=True)
class Step:
    text: str
    by: Literal["policy", "world"] = "policy"  # a world step is a tool result: never scored
    partial: bool = False  # cut by a token limit; the policy goes on with it
    tokens: tuple[int, ...] = ()  # as sampled, when they are known
    logprobs: tuple[float, ...] = ()
    tokenizer: str = ""  # whose tokens they are: another model must encode the text anew


@dataclass(frozen=True, slots=True)
class Trajectory:
    problem: Problem
    steps: tuple[Step, ...] = ()
    stop: Stop = "open"

    @property
    def actions(self) -> tuple[Step, ...]:
        return tuple(s for s in self.steps if s.by == "policy")

    @property
    def closed(self) -> bool:
        return self.stop != "open"

    @property
    def text(self) -> str:
        return "".join(s.text for s in self.steps)

    def then(self, step: Step, stop: Stop = "open") -> Trajectory:
        return replace(self, steps=(*self.steps, step), stop=stop)

    def prefixes(self) -> list[Trajectory]:
        """The open trajectory after each policy step, shortest first."""
        ends = [i + 1 for i, s in enumerate(self.steps) if s.by == "policy"]
        return [replace(self, steps=self.steps[:end], stop="open") for end in ends]


@dataclass(frozen=True, slots=True)
class Scores:
    """One number per policy step. `kind` says what the number means:

    value        chance of ending well, seen after the step, in [0, 1]
    correctness  chance that this step is right, whatever follows, in [0, 1]
    reward       what this step adds, unbounded; a return is their sum
    """

    values: tuple[float, ...]
    kind: Kind = "value"
    parts: Mapping[str, tuple[float, ...]] = field(
        default_factory=dict, hash=False
    )  # successes and rollouts, std, error types, criteria
    tokens: tuple[tuple[float, ...], ...] = ()  # the same, token by token, where a scorer knows it
    notes: tuple[str, ...] = ()  # a generative scorer's critique of each step
    source: str = ""  # who said so: "monte_carlo:8", "human", a checkpoint


@dataclass(frozen=True, slots=True)
class Example:
    """A trajectory and what there is to learn from it: a label per policy step, None where nothing is known."""

    trajectory: Trajectory
    labels: tuple[float | None, ...]
    kind: Kind = "value"
    outcome: float | None = None  # did the whole end well
    id: str = ""
    source: str = ""
    data: Mapping[str, Any] = field(default_factory=dict, hash=False)  # what its file says besides


@dataclass(frozen=True, slots=True)
class Group:
    """The trajectories sampled for one problem, and what is known of each."""

    trajectories: tuple[Trajectory, ...]
    outcomes: tuple[float, ...]
    scores: tuple[Scores, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    trajectory: Trajectory
    value: float
    root: int = 0  # which independent subtree it grew from


class Policy(Protocol):
    def __call__(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> Awaitable[list[list[Trajectory]]]:
        """`n` continuations of each prefix."""
        ...


class World(Protocol):
    def __call__(self, trajectories: Sequence[Trajectory], /) -> Awaitable[list[Trajectory]]:
        """Each trajectory with the answer to its last step appended, where there is one."""
        ...


class Scorer(Protocol):
    def __call__(self, trajectories: Sequence[Trajectory], /) -> Awaitable[list[Scores]]:
        """A number for every policy step, none depending on the other trajectories."""
        ...


class Rater(Protocol):
    def __call__(self, trajectories: Sequence[Trajectory], /) -> Awaitable[list[float]]:
        """One number per trajectory, finished or not: an exact check, an outcome model, a PRM put together."""
        ...


class Comparer(Protocol):
    def __call__(self, pairs: Sequence[tuple[Trajectory, Trajectory]], /) -> Awaitable[list[float]]:
        """The chance that the first of each pair is the better one."""
        ...


Segment = Callable[[str], list[str]]
Aggregate = Callable[[Sequence[float]], float]
Estimate = Callable[[Sequence[float]], float]
Credit = Callable[[Group], list[list[float]]]  # an advantage per step
Curate = Callable[[Group], Group]  # which trajectories to learn from
Pair = Callable[[Group], list[tuple[Trajectory, Trajectory]]]  # (better, worse)
Search = Callable[[Problem, Policy, Rater], Awaitable[list[Candidate]]]
