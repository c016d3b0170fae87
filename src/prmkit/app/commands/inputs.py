"""Files a user brings: problems, and solutions in any known format or none in particular."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from prmkit.data.fields import in_words, listed, need, rest, text
from prmkit.data.jsonl import BadLine, Line, parse_lines, read_lines
from prmkit.data.sources import FORMATS
from prmkit.data.sources.common import Row, named, solution
from prmkit.errors import BadInput, BadRecord
from prmkit.names import load, pick
from prmkit.text.steps import SEGMENTS, with_ends
from prmkit.types import Example, Problem, Segment

WORLDS = {"arith": "prmkit.worlds.arith:problems"}  # generators that can be named in place of a file
QUESTION = ("prompt", "problem", "question")
LABELLED = (
    "label",
    "labels",
    "first_error",
    "completions",
)  # a row with one of these has a format of its own
LOOK_AHEAD = 100  # rows among which one must show the format


class Solution(NamedTuple):
    line: Line
    example: Example

    @property
    def id(self) -> str:
        return self.example.id or self.example.trajectory.problem.id or f"line-{self.line.number}"


def read_problems(source: str, bad: list[BadRecord], *, seed: int = 0) -> list[Problem]:
    """The problems of a file, each with an answer to check and an id of its own; or generated ones."""
    if not Path(source).exists() and ":" in source:
        return _generated(source, seed)
    problems: list[Problem] = []
    first_line: dict[str, int] = {}
    for line in read_lines(source, bad):
        parse = partial(_problem, number=line.number, first_line=first_line)
        problems += parse_lines([line], parse, bad, file=source)
    return problems


def read_solutions(
    file: str, bad: list[BadRecord], *, format: str | None, segment: str = "lines", separator: str = "\n"
) -> Iterator[Solution]:
    """The solutions of a file, with the line each stands on; "-" is the standard input.

    Besides the known formats a row may be a plain {"problem", "steps"} or {"problem", "solution"}, where
    `segment` cuts the solution into steps and "prompt" or "question" are as good as "problem".
    """
    read = pick("format", format, FORMATS).read if format else None
    plain = partial(_plain, segment=pick("segment", segment, SEGMENTS))
    lines = read_lines(file, bad)
    if read is None:
        first = list(islice(lines, LOOK_AHEAD))
        known = next(filter(None, (_format(line.row) for line in first)), None)
        read, lines = FORMATS[known].read if known else plain, chain(first, lines)

    def parse(row: Row) -> Example:
        return with_ends(_not_empty(read(row)), separator)

    for line in lines:
        for example in parse_lines([line], parse, bad, file=file):
            yield Solution(line, example)


def bad_solution(solution: Solution, problem: str, file: str) -> BadLine:
    """A record that could be read but not used."""
    return BadLine(problem, file=file, line=solution.line.number, raw=solution.line.raw.rstrip("\r\n"))


def unescaped(separator: str) -> str:
    r"""What a shell cannot easily say: \n and \t.

    >>> unescaped(r"\n\n")
    '\n\n'
    """
    return separator.replace("\\n", "\n").replace("\\t", "\t")


def shown_name(file: str) -> str:
    return "stdin" if file == "-" else file


def from_stdin(bad: list[BadRecord]) -> list[BadRecord]:
    """The same complaints, with a name a reader knows in place of "-"."""
    return [
        BadLine(b.problem, field=b.field, file="stdin", line=b.line, raw=b.raw)
        if isinstance(b, BadLine) and b.file == "-"
        else b
        for b in bad
    ]


def _generated(source: str, seed: int) -> list[Problem]:
    world, _, size = source.partition(":")
    target = pick("file or world of problems", world, WORLDS)
    if not size.isdecimal() or int(size) < 1:
        raise BadInput(f"{source}: a number of problems is wanted after the colon, as in {world}:100")
    problems: list[Problem] = load(target, extra="all")(int(size), seed=seed)
    return problems


def _problem(row: Row, *, number: int, first_line: dict[str, int]) -> Problem:
    prompt = next((name for name in QUESTION if name in row), QUESTION[0])
    key = _id(row, number)
    problem = Problem(
        prompt=need(row, prompt, _words),
        answer=need(row, "answer", _answer),
        id=key,
        data=rest(row, prompt, "answer", "id"),
    )
    if first_line.setdefault(key, number) != number:
        raise BadRecord(f"{key!r} stands already on line {first_line[key]}", field="id")
    return problem


def _id(row: Row, number: int) -> str:
    given = row.get("id")
    if given is None or given == "":
        return f"line-{number}"
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise BadRecord(f"a text is wanted here, not {in_words(given)}", field="id")
    return str(given)


def _answer(value: Any, field: str) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value}"
    return _words(value, field)


def _words(value: Any, field: str) -> str:
    if not text(value, field).strip():
        raise BadRecord("empty", field=field)
    return str(value)


def _format(row: Row) -> str | None:
    """The known format of a row; a plain row has none, though it looks like `steps` without labels."""
    for name, format in FORMATS.items():
        if format.recognises(row) and (name != "steps" or any(field in row for field in LABELLED)):
            return name
    return None


def _plain(row: Row, *, segment: Segment) -> Example:
    prompt = need(row, next((name for name in QUESTION if name in row), "problem"), _words)
    if "steps" in row or "solution" not in row:
        steps = list(need(row, "steps", listed(text)))
    else:
        steps = segment(need(row, "solution", _words))
    return Example(solution(prompt, steps), (None,) * len(steps), id=named(row))


def _not_empty(example: Example) -> Example:
    if not example.trajectory.actions:
        raise BadRecord("a solution without a step has nothing to score", field="steps")
    for i, step in enumerate(example.trajectory.steps):
        if step.by == "policy" and not step.text.strip():
            raise BadRecord("empty", field=f"steps[{i}]")
    return example
