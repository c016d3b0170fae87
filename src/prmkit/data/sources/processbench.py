"""ProcessBench: where is the first error of this solution?

    {"id": "gsm8k-0", "generator": "Qwen2-7B-Instruct", "problem": "1 + 1 + 1?",
     "steps": ["1 + 1 = 2", "2 + 1 = 4"], "final_answer_correct": false, "label": 1}

`label` is the first wrong step, counted from 0, or -1. What follows an error is unknown.
"""

from __future__ import annotations

from typing import Any

from prmkit.data.fields import flag, integer, listed, maybe, need, rest, text
from prmkit.data.sources.common import (
    Format,
    Row,
    first_error,
    has,
    joined,
    solution,
    texts_of,
    up_to_error,
    yes_or_no,
)
from prmkit.errors import BadRecord
from prmkit.types import Example

_OWN = ("id", "problem", "steps", "final_answer_correct", "label")


def read(row: Row) -> Example:
    texts = need(row, "steps", listed(text))
    correct = need(row, "final_answer_correct", maybe(flag))
    return Example(
        solution(need(row, "problem", text), texts),
        up_to_error(len(texts), need(row, "label", integer), "label"),
        kind="correctness",
        outcome=None if correct is None else float(correct),
        id=need(row, "id", text),
        source="processbench",
        data=rest(row, *_OWN),
    )


def write(example: Example) -> dict[str, Any]:
    label = first_error(example.labels)
    if label is None:
        raise BadRecord(
            "they do not say where the first error is: every step up to it must be 0 or 1", field="labels"
        )
    own = {
        "id": example.id,
        "problem": example.trajectory.problem.prompt,
        "steps": texts_of(example),
        "final_answer_correct": yes_or_no(example.outcome),
        "label": label,
    }
    return joined(own, example.data)


FORMAT = Format(read, write, has("problem", "steps", "label"))
