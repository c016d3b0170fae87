"""TRL's stepwise supervision.

    {"prompt": "1 + 1 + 1?", "completions": ["1 + 1 = 2", "2 + 1 = 4"], "labels": [true, false]}

Labels are booleans or chances in [0, 1]; each is written back in the form it had.
"""

from __future__ import annotations

from typing import Any

from prmkit.data.fields import chance, listed, need, rest, text
from prmkit.data.sources.common import Format, Row, beside, has, joined, named, solution, texts_of
from prmkit.errors import BadRecord
from prmkit.types import Example

_FORM = "trl_labels"  # where the labels stand as they were written, if not as plain floats


def read(row: Row) -> Example:
    texts = need(row, "completions", listed(text))
    labels = need(row, "labels", listed(chance))
    if len(labels) != len(texts):
        raise BadRecord(f"{len(labels)} labels for {len(texts)} completions", field="labels")
    plain = all(isinstance(label, float) for label in row["labels"])
    form = {} if plain else {_FORM: list(row["labels"])}
    return Example(
        solution(need(row, "prompt", text), texts),
        labels,
        kind="correctness",
        id=named(row),
        source="trl",
        data=joined(form, beside(row, "prompt", "completions", "labels")),
    )


def write(example: Example) -> dict[str, Any]:
    texts = texts_of(example)
    if None in example.labels:
        unknown = f"labels[{example.labels.index(None)}]"
        raise BadRecord("TRL wants a label for every step: cut the solution before this one", field=unknown)
    labels = listed(chance)(example.labels, "labels")
    form = example.data.get(_FORM)
    own = {
        "prompt": example.trajectory.problem.prompt,
        "completions": texts,
        "labels": form if form is not None and tuple(form) == labels else list(labels),
    } | ({"id": example.id} if example.id else {})
    return joined(own, rest(example.data, _FORM))


FORMAT = Format(read, write, has("prompt", "completions", "labels"))
