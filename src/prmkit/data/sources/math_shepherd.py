"""Math-Shepherd: two texts that differ only where a step ends.

    {"input": "1 + 1 + 1? Step 1: 1 + 1 = 2 ки\\nStep 2: 2 + 1 = 4 ки",
     "label": "1 + 1 + 1? Step 1: 1 + 1 = 2 +\\nStep 2: 2 + 1 = 4 -", "task": "GSM8K"}

A step ends where `input` has ки and `label` has + or -; a ки in both is only a word. The
label is a hard Monte-Carlo estimate: + where some rollout from here ended well, so it is a value.
"""

from __future__ import annotations

import re
from typing import Any

from prmkit.data.fields import need, rest, text
from prmkit.data.sources.common import Format, Labels, Row, beside, has, joined, named, solution, texts_of
from prmkit.errors import BadRecord
from prmkit.types import Example

MARK = "ки"
_SIGNS = {"+": 1.0, "-": 0.0}
_FORM = "math_shepherd_text"  # where the two texts stand as they were written, if not in the usual form
_EMPTY = re.compile(r"\s*(Step \d+:)?\s*")


def read(row: Row) -> Example:
    both = {"input": need(row, "input", text), "label": need(row, "label", text)}
    prompt, steps, labels = _parse(**both)
    usual = _unparse(prompt, steps, labels) == both
    return Example(
        solution(prompt, steps),
        labels,
        kind="value",
        id=named(row),
        source="math_shepherd",
        data=joined({} if usual else {_FORM: both}, beside(row, "input", "label")),
    )


def write(example: Example) -> dict[str, Any]:
    """A step that does not begin with "Step k:" gets it, and white space around texts goes.

    Only the last step may be without a label.
    """
    prompt, steps = example.trajectory.problem.prompt, texts_of(example)
    own = example.data.get(_FORM)
    if own is None or _parse(**own) != (prompt, steps, example.labels):
        prompt = prompt.strip()
        steps = [_headed(k, s.strip()) for k, s in enumerate(steps, start=1)]
        own = _unparse(prompt, steps, example.labels)
        if _parse(**own) != (prompt, steps, example.labels):
            raise BadRecord("these texts would be split elsewhere when read again", field="trajectory.steps")
    named_own = own | ({"id": example.id} if example.id else {})
    return joined(named_own, rest(example.data, _FORM))


def _headed(k: int, step: str) -> str:
    return step if step.startswith(f"Step {k}:") else f"Step {k}: {step}".rstrip()


def _parse(input: str, label: str) -> tuple[str, list[str], Labels]:
    pieces = _split(input, label)
    first = next((i for i, (piece, _) in enumerate(pieces) if "Step 1:" in piece), None)
    if first is None:
        raise BadRecord("no 'Step 1:' where the solution would begin", field="input")
    before = "".join(piece + MARK for piece, _ in pieces[:first])  # marks inside the question are its words
    question, header, opening = pieces[first][0].rpartition("Step 1:")
    steps = [(header + opening, pieces[first][1]), *pieces[first + 1 :]]
    while len(steps) > 1 and _EMPTY.fullmatch(steps[-1][0]):
        steps.pop()
    return (before + question).strip(), [s.strip() for s, _ in steps], tuple(sign for _, sign in steps)


def _split(input: str, label: str) -> list[tuple[str, float | None]]:
    """The texts between marks with the sign of each mark; the text after the last mark has none."""
    pieces: list[tuple[str, float | None]] = []
    at = start = 0  # in both texts: a sign is one letter and ки two, so `label` runs behind by one per mark
    for piece in input.split(MARK):
        end = at + len(piece)
        shown = label[end - len(pieces) : end - len(pieces) + len(MARK)]
        if label[at - len(pieces) : end - len(pieces)] != piece:
            raise BadRecord(f"differs from 'input' beyond the marks, near {piece[:40]!r}", field="label")
        if end == len(input):
            if len(label) != end - len(pieces):
                raise BadRecord(f"goes on where 'input' ends: {shown!r}", field="label")
            pieces.append((input[start:end], None))
        elif shown[:1] in _SIGNS:
            pieces.append((input[start:end], _SIGNS[shown[0]]))
            start = end + len(MARK)
        elif shown != MARK:
            raise BadRecord(f"{shown!r} stands where + or - should, after {piece[-40:]!r}", field="label")
        at = end + len(MARK)
    return pieces


def _unparse(prompt: str, steps: list[str], labels: Labels) -> dict[str, str]:
    signs = [_sign(label, i, len(labels)) for i, label in enumerate(labels)]

    def with_marks(marks: list[str]) -> str:
        return f"{prompt} " + "\n".join(f"{s} {m}".rstrip() for s, m in zip(steps, marks, strict=True))

    return {"input": with_marks([MARK if s else "" for s in signs]), "label": with_marks(signs)}


def _sign(label: float | None, i: int, steps: int) -> str:
    if label is None and i == steps - 1:
        return ""
    if label not in (0, 1):
        raise BadRecord("only 0 and 1 can be written as - and +", field=f"labels[{i}]")
    return "+" if label else "-"


FORMAT = Format(read, write, has("input", "label"))
