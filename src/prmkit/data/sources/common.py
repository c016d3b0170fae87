"""What the formats share: steps from texts, labels from a first error, and the fields nobody asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from prmkit.data.fields import rest
from prmkit.errors import BadRecord
from prmkit.types import Example, Problem, Step, Trajectory

Row = Mapping[str, Any]
Labels = tuple[float | None, ...]
Neutral = Literal["correct", "wrong", "unknown"]  # what PRM800K's rating 0 is to mean


@dataclass(frozen=True, slots=True)
class Format:
    read: Callable[..., Example]  # of a row
    write: Callable[[Example], dict[str, Any]]
    recognises: Callable[[Row], bool]
    rated: bool = False  # it has ratings -1, 0, 1, and `read` takes `neutral`


def has(*names: str) -> Callable[[Row], bool]:
    return lambda row: all(name in row for name in names)


def solution(prompt: str, texts: Iterable[str], answer: str | None = None) -> Trajectory:
    """A finished solution written by a policy."""
    return Trajectory(Problem(prompt, answer), tuple(Step(t) for t in texts), "done")


def texts_of(example: Example) -> list[str]:
    """The texts of the steps, for a format in which every step is the policy's and has a label."""
    for i, step in enumerate(example.trajectory.steps):
        if step.by == "world":
            raise BadRecord("a tool result has no place in this format", field=f"trajectory.steps[{i}]")
    if len(example.labels) != len(example.trajectory.steps):
        count = f"{len(example.labels)} labels for {len(example.trajectory.steps)} steps"
        raise BadRecord(count, field="labels")
    return [step.text for step in example.trajectory.steps]


def named(row: Row) -> str:
    """The row's id where it has one that can serve as ours."""
    return row["id"] if isinstance(row.get("id"), str) else ""


def beside(row: Row, *taken: str) -> dict[str, Any]:
    """The fields that are not read; an id we cannot use is one of them."""
    return rest(row, *taken, *(["id"] if named(row) else []))


def joined(own: Row, data: Row) -> dict[str, Any]:
    """A row's own fields and those that travelled in `data`; neither may hide the other."""
    for name in own.keys() & data.keys():
        if data[name] is not None and data[name] != own[name]:
            raise BadRecord("would hide a field of this format that has the same name", field=f"data.{name}")
    return {**data, **own}


def up_to_error(steps: int, first_error: int, field: str) -> Labels:
    """Right before the first error, wrong at it, unknown after it; -1 means that all are right.

    >>> up_to_error(4, 1, "label")
    (1.0, 0.0, None, None)
    """
    if not -1 <= first_error < steps:
        raise BadRecord(f"{first_error} is not a step: there are {steps}, counted from 0", field=field)
    if first_error == -1:
        return (1.0,) * steps
    return (*[1.0] * first_error, 0.0, *[None] * (steps - first_error - 1))


def first_error(labels: Sequence[float | None]) -> int | None:
    """The first step with label 0, -1 where all are 1, None where the labels do not say.

    >>> first_error([1.0, 0.0, None]), first_error([1.0, 1.0]), first_error([1.0, None])
    (1, -1, None)
    """
    for i, label in enumerate(labels):
        if label != 1:
            return i if label == 0 else None
    return -1


def yes_or_no(outcome: float | None) -> bool | None:
    """An outcome for a format that holds true, false or null."""
    if outcome not in (None, 0, 1):
        raise BadRecord(f"{outcome:g} is neither true nor false", field="outcome")
    return None if outcome is None else bool(outcome)
