"""Files of labelled solutions, in the formats of the field.

    prmkit         {"trajectory": …, "labels": […], …}             our own: holds everything
    processbench   {"id", "problem", "steps", "final_answer_correct", "label"}
    prm800k        {"question": {…}, "label": {"steps": […]}, …}   `prm800k.alternatives` gives the branches
    trl            {"prompt", "completions", "labels"}
    math_shepherd  {"input": "… ки", "label": "… +"}
    steps          {"problem", "steps", "first_error" | "labels", …}

What is read and written again in its own format is the same row, with the fields we do not
know (they travel in `Example.data`). Between formats all that the target can say is kept,
and labels it cannot say are refused rather than bent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain

from prmkit.data.jsonl import Line, PathLike, parse_lines, read_lines, write_jsonl
from prmkit.data.sources import math_shepherd, prm800k, prmkit, processbench, steps, trl
from prmkit.data.sources.common import Format, Neutral, Row
from prmkit.errors import BadRecord, UnknownName
from prmkit.names import pick
from prmkit.types import Example

FORMATS: dict[str, Format] = {
    "prmkit": prmkit.FORMAT,
    "processbench": processbench.FORMAT,
    "prm800k": prm800k.FORMAT,
    "trl": trl.FORMAT,
    "math_shepherd": math_shepherd.FORMAT,
    "steps": steps.FORMAT,
}

_LOOK_AHEAD = 100  # rows among which one must be recognised


def detect(row: Row) -> str:
    """The name of the format this row is in, by its fields."""
    for name, format in FORMATS.items():
        if format.recognises(row):
            return name
    raise UnknownName("format", f"a row with the fields {', '.join(row) or '(none)'}", FORMATS)


def read_examples(
    path: PathLike,
    format: str | None = None,
    bad: list[BadRecord] | None = None,
    *,
    neutral: Neutral = "correct",
) -> Iterator[Example]:
    """Stream the examples of a file; without `format`, the first rows tell it.

    Rows that cannot be read go to `bad` with file, line and field, and the others go on; where `bad` is not
    given the first one is raised. `neutral` says what a neutral rating of PRM800K is to mean.
    """
    if format is not None:
        pick("format", format, FORMATS)
    return _examples(path, format, bad, neutral)


def write_examples(path: PathLike, examples: Iterable[Example], format: str = "prmkit") -> int:
    """Write them all and say how many; one that the format cannot hold raises BadRecord."""
    write = pick("format", format, FORMATS).write
    return write_jsonl(path, (write(example) for example in examples))


def _examples(
    path: PathLike, format: str | None, bad: list[BadRecord] | None, neutral: Neutral
) -> Iterator[Example]:
    lines = read_lines(path, bad)
    seen: list[Line] = []
    if format is None:
        format, seen = _first_recognised(lines)
        if not seen:
            return
    chosen = FORMATS[format]
    parse = partial(chosen.read, neutral=neutral) if chosen.rated else chosen.read
    yield from parse_lines(chain(seen, lines), parse, bad, file=str(path))


def _first_recognised(lines: Iterator[Line]) -> tuple[str, list[Line]]:
    """The format of the first row that shows one, and the lines read so far.

    A broken first row decides nothing; where no row shows a format, the first one is complained about.
    """
    seen: list[Line] = []
    for line in lines:
        seen.append(line)
        try:
            return detect(line.row), seen
        except UnknownName:
            if len(seen) == _LOOK_AHEAD:
                break
    return (detect(seen[0].row) if seen else ""), seen
