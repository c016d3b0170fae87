"""Multi-step arithmetic in plain English, with a perfect judge of every step.

    Mia has 12 shells. She finds 7 more. She loses 4. Now the number doubles. How many shells …?

    12+7=19
    19-4=15
    15*2=30
    The answer is 30.

A step applies one operation of the story to the running value. The judge reads any
text a policy may write: it knows whether a step follows from the value it starts from,
whether it is faithful to the story, where the first error is and of which type.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from prmkit.types import Problem, Scores, Trajectory

Sign = Literal["+", "-", "*"]
ErrorType = Literal["calculation", "wrong operand", "skipped operation", "redundant", "filler"]
ERROR_TYPES: tuple[ErrorType, ...] = (
    "calculation",
    "wrong operand",
    "skipped operation",
    "redundant",
    "filler",
)
HARMLESS: frozenset[ErrorType] = frozenset({"redundant", "filler"})  # they waste a step, no more

PEOPLE = {"Mia": "She", "Tom": "He", "Zoe": "She", "Leo": "He", "Ana": "She", "Sam": "He"}
THINGS = ("shells", "coins", "cards", "beads", "stamps", "apples", "books", "stones")
STORY: dict[Sign, tuple[str, ...]] = {
    "+": ("{who} finds {n} more.", "{who} buys {n} more.", "{who} is given {n} more."),
    "-": ("{who} loses {n}.", "{who} sells {n}.", "{who} gives away {n}."),
    "*": ("Now the number grows {n} times.",),
}
# An error may take the running value below zero. More digits than these are no number but a policy run wild.
EQUATION = re.compile(r"\s*(-?\d{1,18})\s*([-+*])\s*(\d{1,18})\s*=\s*(-?\d{1,18})(?:\s*\.)?\s*")
ANSWER = re.compile(r"\s*The answer is (-?\d{1,18})(?:\s*\.)?\s*")


def apply(value: int, sign: Sign, operand: int) -> int:
    """One operation on the running value."""
    if sign == "+":
        return value + operand
    return value - operand if sign == "-" else value * operand


@dataclass(frozen=True, slots=True)
class Story:
    """What a problem says: a start and a list of operations. `running[i]` is the true value before step i."""

    start: int
    operations: tuple[tuple[Sign, int], ...]
    sentences: tuple[str, ...] = ()  # the English of each operation, where the generator kept it

    @property
    def running(self) -> tuple[int, ...]:
        values = [self.start]
        for sign, operand in self.operations:
            values.append(apply(values[-1], sign, operand))
        return tuple(values)

    def says(self, at: int) -> str:
        return self.sentences[at] if self.sentences else ""

    def equation(self, at: int) -> str:
        return equation(self.running[at], *self.operations[at])


def equation(value: int, sign: Sign, operand: int, result: int | None = None) -> str:
    found = apply(value, sign, operand) if result is None else result
    return f"{value}{sign}{operand}={found}\n"


def answer_line(value: int) -> str:
    return f"The answer is {value}."


def is_answer(text: str) -> bool:
    return ANSWER.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Verdict:
    follows: bool  # the arithmetic is right and starts from the value at hand
    faithful: bool  # it does what the story says next
    error: ErrorType | None
    on_track: bool  # after this step, going on without a mistake gives the right answer

    @property
    def right(self) -> bool:
        return self.error is None


@dataclass(frozen=True, slots=True)
class State:
    """Where a solution stands: the value it has written and the operations it has used up."""

    written: int
    position: int
    misanswered: bool = False  # an answer was given last, and it is not the right one
    broke_at: int | None = None  # the operation at which the solution went wrong, while it is wrong
    seen: frozenset[str] = field(default=frozenset())


def problems(
    count: int, *, seed: int = 0, operations: tuple[int, int] = (4, 6), largest: int = 99
) -> list[Problem]:
    """`count` problems with a number of operations in the given range; intermediate values stay in [1, 999]."""
    rng = random.Random(f"arith-problems-{seed}")
    return [_problem(rng, f"arith-{seed}-{i}", operations, largest) for i in range(count)]


def _problem(rng: random.Random, name: str, operations: tuple[int, int], largest: int) -> Problem:
    who, thing = rng.choice(sorted(PEOPLE)), rng.choice(THINGS)
    value = start = rng.randint(2, largest)
    sentences, chosen = [f"{who} has {start} {thing}."], []
    for _ in range(rng.randint(*operations)):
        sign, operand = _operation(rng, value, largest)
        value = apply(value, sign, operand)
        chosen.append((sign, operand))
        sentences.append(rng.choice(STORY[sign]).format(who=PEOPLE[who], n=operand))
    text = " ".join([*sentences, f"How many {thing} does {who} have now?"])
    return Problem(text, str(value), name, {"start": start, "operations": chosen, "sentences": sentences[1:]})


def _operation(rng: random.Random, value: int, largest: int) -> tuple[Sign, int]:
    while True:
        sign: Sign = rng.choice(("+", "+", "-", "-", "*"))
        operand = rng.randint(2, 5) if sign == "*" else rng.randint(2, largest)
        if 1 <= apply(value, sign, operand) <= 999:
            return sign, operand


def story(problem: Problem) -> Story:
    """The numbers behind the English, as the generator wrote them down."""
    data = problem.data
    return Story(
        data["start"], tuple((sign, n) for sign, n in data["operations"]), tuple(data.get("sentences", ()))
    )


def judge(trajectory: Trajectory) -> list[Verdict]:
    """A verdict for every policy step, whoever wrote it and however it is written."""
    return [verdict for verdict, _ in walk(trajectory)]


def walk(trajectory: Trajectory) -> Iterator[tuple[Verdict, State]]:
    """Each step's verdict, and where the solution stands after it."""
    truth = story(trajectory.problem)
    state = State(truth.start, 0)
    for step in trajectory.actions:
        verdict, after = _read(truth, state, step.text)
        began = state.position if state.broke_at is None else state.broke_at
        state = replace(after, broke_at=None if verdict.on_track else began)
        yield verdict, state


def state_of(trajectory: Trajectory) -> State:
    """Where a solution stands after its last step."""
    state = State(story(trajectory.problem).start, 0)
    for _, after in walk(trajectory):
        state = after
    return state


def on_track(truth: Story, state: State) -> bool:
    return not state.misanswered and state.written == truth.running[state.position]


def _read(truth: Story, state: State, text: str) -> tuple[Verdict, State]:
    if found := EQUATION.fullmatch(text):
        return _read_equation(truth, state, found)
    if found := ANSWER.fullmatch(text):
        return _read_answer(truth, state, int(found[1]))
    return _verdict(truth, state, True, False, "filler")


def _verdict(
    truth: Story, after: State, follows: bool, faithful: bool, error: ErrorType | None
) -> tuple[Verdict, State]:
    return Verdict(follows, faithful, error, on_track(truth, after)), after


def _read_answer(truth: Story, state: State, value: int) -> tuple[Verdict, State]:
    finished = state.position == len(truth.operations)
    follows = value == state.written
    error: ErrorType | None = None
    if not follows:
        error = "wrong operand"
    elif not finished:
        error = "skipped operation"
    right = value == truth.running[-1]  # by luck perhaps, after errors that cancel out
    position = len(truth.operations) if right else state.position
    after = State(value, position, misanswered=not right, seen=state.seen)
    return _verdict(truth, after, follows, finished, error)


def _read_equation(truth: Story, state: State, found: re.Match[str]) -> tuple[Verdict, State]:
    value, sign, operand, result = int(found[1]), found[2], int(found[3]), int(found[4])
    if sign not in STORY:  # the pattern admits no other sign; this narrows the type
        raise AssertionError(sign)
    line = f"{value}{sign}{operand}={result}"
    seen = state.seen | {line}
    right = apply(value, sign, operand) == result
    mended = _mends(truth, state, value, (sign, operand))
    if mended is not None and (right or line not in state.seen):
        after = State(result, mended + 1, seen=seen)
        return _verdict(truth, after, right, True, None if right else "calculation")

    ahead = truth.operations[state.position :]
    starts_here = value == state.written
    expected = bool(ahead) and (sign, operand) == ahead[0]
    stay = replace(state, seen=seen)
    if starts_here and expected:
        after = State(result, state.position + 1, seen=seen)
        return _verdict(truth, after, right, True, None if right else "calculation")
    if line in state.seen or (right and result == value):
        return _verdict(truth, stay, right, False, "redundant")
    if starts_here and (sign, operand) in ahead:
        skipped_to = state.position + ahead.index((sign, operand)) + 1
        return _verdict(truth, State(result, skipped_to, seen=seen), right, False, "skipped operation")
    used = min(state.position + 1, len(truth.operations))
    return _verdict(truth, State(result, used, seen=seen), right and starts_here, expected, "wrong operand")


def _mends(truth: Story, state: State, value: int, operation: tuple[Sign, int]) -> int | None:
    """The operation at which a solution that had gone wrong is taken up again from the true value."""
    if on_track(truth, state):
        return None
    for at in range(min(state.position, len(truth.operations) - 1), -1, -1):
        if truth.operations[at] == operation and truth.running[at] == value:
            return at
    return None


def first_error(trajectory: Trajectory) -> int | None:
    """The index of the first wrong step, of any type; None when every step is right."""
    return next((i for i, verdict in enumerate(judge(trajectory)) if not verdict.right), None)


async def oracle(trajectories: Sequence[Trajectory], /) -> list[Scores]:
    """The perfect scorer: 1 while the solution is on track, 0 from a harmful error until it is mended."""
    rows = [tuple(float(verdict.on_track) for verdict in judge(t)) for t in trajectories]
    return [Scores(row, "correctness", source="oracle") for row in rows]
