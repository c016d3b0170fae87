"""A plain shape into which many benchmarks were brought.

    {"id": "gsm8k-1", "source": "processbench", "domain": "math", "problem": "1 + 1 + 1?",
     "steps": ["1 + 1 = 2", "2 + 1 = 4"], "first_error": 1, "labels": null,
     "final_correct": false, "meta": {}}

`labels` (1 right, 0 wrong) win over `first_error` (from 0, -1 none); `problem` and `steps` must be there.
Rows of PRM800K keep its ratings -1, 0, 1 in `labels`.
"""

from __future__ import annotations

from typing import Any

from prmkit.data.fields import chance, flag, have, integer, listed, maybe, need, rest, text
from prmkit.data.sources.common import (
    Format,
    Labels,
    Neutral,
    Row,
    beside,
    first_error,
    joined,
    named,
    solution,
    texts_of,
    up_to_error,
    yes_or_no,
)
from prmkit.data.sources.prm800k import label_of, rating, rating_of
from prmkit.errors import BadRecord
from prmkit.types import Example

_FORM = "steps_labels"  # where the label fields stand as they were written
_RATED = "prm800k"
_ROLLOUTS = "math-shepherd"


def read(row: Row, *, neutral: Neutral = "correct") -> Example:
    texts = need(row, "steps", listed(text))
    source = have(row, "source", maybe(text), None) or ""
    correct = have(row, "final_correct", maybe(flag), None)
    form = {name: row[name] for name in ("first_error", "labels") if name in row}
    unread = beside(row, "problem", "steps", "first_error", "labels", *(["source"] if source else []))
    if correct is not None:
        del unread["final_correct"]
    return Example(
        solution(need(row, "problem", text), texts),
        _labels(row, len(texts), source, neutral),
        kind="value" if source == _ROLLOUTS else "correctness",
        outcome=None if correct is None else float(correct),
        id=named(row),
        source=source,
        data=joined({_FORM: form} if form else {}, unread),
    )


def write(example: Example) -> dict[str, Any]:
    texts = texts_of(example)
    form = example.data.get(_FORM, {})
    if not _still_says(form, example):
        form = _plain(example)
    own: dict[str, Any] = {"problem": example.trajectory.problem.prompt, "steps": texts, **form}
    if example.id:
        own["id"] = example.id
    if example.source:
        own["source"] = example.source
    if example.outcome is not None:
        own["final_correct"] = yes_or_no(example.outcome)
    return joined(own, rest(example.data, _FORM))


def _labels(row: Row, steps: int, source: str, neutral: Neutral) -> Labels:
    meta = row.get("meta")
    if isinstance(meta, dict) and meta.get("out_of_range_label"):  # its maker could not place the error
        return (None,) * steps
    if row.get("labels") is not None:
        if source == _RATED:
            ratings = need(row, "labels", listed(maybe(rating)))
            labels: Labels = tuple(label_of(r, neutral) for r in ratings)
        else:
            labels = need(row, "labels", listed(maybe(chance)))
        if len(labels) != steps:
            raise BadRecord(f"{len(labels)} labels for {steps} steps", field="labels")
        return labels
    error = have(row, "first_error", maybe(integer), None)
    return (None,) * steps if error is None else up_to_error(steps, error, "first_error")


def _still_says(form: Row, example: Example) -> bool:
    seen = {**form, "meta": example.data.get("meta")}
    choices: tuple[Neutral, ...] = ("correct", "wrong", "unknown")
    return any(_labels(seen, len(example.labels), example.source, n) == example.labels for n in choices)


def _plain(example: Example) -> dict[str, Any]:
    rated = example.source == _RATED
    labels = [rating_of(x, f"labels[{i}]") if rated else x for i, x in enumerate(example.labels)]
    return {"first_error": first_error(example.labels), "labels": labels}


def _recognises(row: Row) -> bool:
    return "problem" in row and "steps" in row and "label" not in row


FORMAT = Format(read, write, _recognises, rated=True)
