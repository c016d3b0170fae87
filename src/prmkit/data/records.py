"""The schema: how the values of `types` look as JSON objects.

A field at its default is left out; everything else comes back exactly. `data` must
hold JSON values (a tuple in it comes back as a list).

    {"trajectory": {"problem": {"prompt": "1+1?", "answer": "2"}, "steps": [{"text": "2"}], "stop": "done"},
     "labels": [1.0], "kind": "correctness", "outcome": 1.0, "id": "a-1", "source": "human"}

An unknown field of a problem or an example is kept in its `data`; elsewhere there is
no place to keep it, so it is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar, get_args

from prmkit.data.fields import (
    Read,
    by_name,
    flag,
    have,
    integer,
    listed,
    mapping,
    maybe,
    need,
    number,
    rest,
    text,
    within,
)
from prmkit.errors import BadRecord
from prmkit.types import Example, Kind, Problem, Scores, Step, Stop, Trajectory

SCHEMA = 1

T = TypeVar("T")
Record = dict[str, Any]

_KINDS: tuple[Kind, ...] = get_args(Kind)
_STOPS: tuple[Stop, ...] = get_args(Stop)
_AUTHORS: tuple[Literal["policy", "world"], ...] = ("policy", "world")


def problem_to_record(problem: Problem) -> Record:
    return {"prompt": problem.prompt} | _set(
        answer=(problem.answer, None), id=(problem.id, ""), data=(dict(problem.data), {})
    )


def problem_from_record(record: Any, at: str = "") -> Problem:
    row = mapping(record, at)
    return Problem(
        prompt=need(row, "prompt", text, at),
        answer=have(row, "answer", maybe(text), None, at),
        id=have(row, "id", text, "", at),
        data=_data(row, at, "prompt", "answer", "id"),
    )


def step_to_record(step: Step) -> Record:
    return {"text": step.text} | _set(
        by=(step.by, "policy"),
        partial=(step.partial, False),
        tokens=([int(t) for t in step.tokens], []),
        logprobs=(_floats(step.logprobs), []),
        tokenizer=(step.tokenizer, ""),
    )


def step_from_record(record: Any, at: str = "") -> Step:
    row = mapping(record, at)
    _only(row, at, "text", "by", "partial", "tokens", "logprobs", "tokenizer")
    return Step(
        text=need(row, "text", text, at),
        by=have(row, "by", _choice(_AUTHORS), "policy", at),
        partial=have(row, "partial", flag, False, at),
        tokens=have(row, "tokens", listed(integer), (), at),
        logprobs=have(row, "logprobs", listed(number), (), at),
        tokenizer=have(row, "tokenizer", text, "", at),
    )


def trajectory_to_record(trajectory: Trajectory) -> Record:
    return {
        "problem": problem_to_record(trajectory.problem),
        "steps": [step_to_record(s) for s in trajectory.steps],
    } | _set(stop=(trajectory.stop, "open"))


def trajectory_from_record(record: Any, at: str = "") -> Trajectory:
    row = mapping(record, at)
    _only(row, at, "problem", "steps", "stop")
    return Trajectory(
        problem=need(row, "problem", problem_from_record, at),
        steps=need(row, "steps", listed(step_from_record), at),
        stop=have(row, "stop", _choice(_STOPS), "open", at),
    )


def scores_to_record(scores: Scores) -> Record:
    return {"values": _floats(scores.values)} | _set(
        kind=(scores.kind, "value"),
        parts=({name: _floats(part) for name, part in scores.parts.items()}, {}),
        tokens=([_floats(step) for step in scores.tokens], []),
        notes=(list(scores.notes), []),
        source=(scores.source, ""),
    )


def scores_from_record(record: Any, at: str = "") -> Scores:
    row = mapping(record, at)
    _only(row, at, "values", "kind", "parts", "tokens", "notes", "source")
    return Scores(
        values=need(row, "values", listed(number), at),
        kind=have(row, "kind", _choice(_KINDS), "value", at),
        parts=have(row, "parts", by_name(listed(number)), {}, at),
        tokens=have(row, "tokens", listed(listed(number)), (), at),
        notes=have(row, "notes", listed(text), (), at),
        source=have(row, "source", text, "", at),
    )


def example_to_record(example: Example) -> Record:
    _one_label_per_step(example, "")
    return {
        "trajectory": trajectory_to_record(example.trajectory),
        "labels": [None if label is None else float(label) for label in example.labels],
    } | _set(
        kind=(example.kind, "value"),
        outcome=(example.outcome, None),
        id=(example.id, ""),
        source=(example.source, ""),
        data=(dict(example.data), {}),
    )


def example_from_record(record: Any, at: str = "") -> Example:
    row = mapping(record, at)
    example = Example(
        trajectory=need(row, "trajectory", trajectory_from_record, at),
        labels=need(row, "labels", listed(maybe(number)), at),
        kind=have(row, "kind", _choice(_KINDS), "value", at),
        outcome=have(row, "outcome", maybe(number), None, at),
        id=have(row, "id", text, "", at),
        source=have(row, "source", text, "", at),
        data=_data(row, at, "trajectory", "labels", "kind", "outcome", "id", "source"),
    )
    _one_label_per_step(example, at)
    return example


def _floats(numbers: Iterable[float]) -> list[float]:
    """Plain floats: what scorers return may be numpy's."""
    return [float(n) for n in numbers]


def _set(**fields: tuple[Any, Any]) -> Record:
    """The fields whose value is not their default."""
    return {name: value for name, (value, default) in fields.items() if value != default}


def _choice(allowed: tuple[T, ...]) -> Read[T]:
    def read(value: Any, field: str) -> T:
        for one in allowed:
            if value == one:
                return one
        raise BadRecord(f"{value!r} is none of {', '.join(map(repr, allowed))}", field=field)

    return read


def _only(row: Mapping[str, Any], at: str, *known: str) -> None:
    for name in rest(row, *known):
        raise BadRecord(f"unknown field; known: {', '.join(known)}", field=within(at, name))


def _data(row: Mapping[str, Any], at: str, *known: str) -> Record:
    """What `data` says and, beside it, every field we do not know."""
    data: Record = have(row, "data", mapping, {}, at)
    unknown = rest(row, "data", *known)
    for name in unknown.keys() & data.keys():
        raise BadRecord("stands both here and in 'data'", field=within(at, name))
    return data | unknown


def _one_label_per_step(example: Example, at: str) -> None:
    steps = len(example.trajectory.actions)
    if len(example.labels) != steps:
        raise BadRecord(f"{len(example.labels)} labels for {steps} policy steps", field=within(at, "labels"))
