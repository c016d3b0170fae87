"""A text to its steps. Whatever the rule, the steps joined are the text again, character for character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from prmkit.types import Example, Segment


def _cut(text: str, places: Iterable[int]) -> list[str]:
    """The text cut at `places`, where a piece of mere whitespace is no step of its own.

    It belongs to the step before it, and at the very start to the one after.
    """
    steps: list[str] = []
    for start, end in pairwise([0, *places, len(text)]):
        piece = text[start:end]
        if steps and (not piece.strip() or not steps[-1].strip()):
            steps[-1] += piece
        elif piece:
            steps.append(piece)
    return steps


def by_separator(separator: str) -> Segment:
    """Cut after every `separator`, which stays at the end of the step it closes.

    >>> by_separator(";")("a; b;c")
    ['a;', ' b;', 'c']
    """
    if not separator:
        raise ValueError("an empty separator separates nothing")
    mark = re.compile(re.escape(separator))
    return lambda text: _cut(text, (m.end() for m in mark.finditer(text)))


def lines(text: str) -> list[str]:
    r"""One step per line; blank lines stay with the line before.

    >>> lines("a\nb\n\n")
    ['a\n', 'b\n\n']
    """
    return by_separator("\n")(text)


def paragraphs(text: str) -> list[str]:
    r"""Cut at blank lines, "\n\n", as most released PRMs do."""
    return by_separator("\n\n")(text)


# A list number at the head of a line comes first, so that its period is no sentence's end.
_SENTENCE = re.compile(
    r"""^[ \t]*\d+[.)][ \t]+
      | (?P<end> (?<![.!?…])[.!?…]++ ["'”’)\]]*+ [^\S\n]++ (?![a-z\n]) | \n+ )""",
    re.MULTILINE | re.VERBOSE,
)


def sentences(text: str) -> list[str]:
    """Cut after . ! ? … before a space and no small letter, and at line ends: plain, not clever.

    >>> sentences("It costs 3.5 dollars, i.e. much. We pay! 2 remain")
    ['It costs 3.5 dollars, i.e. much. ', 'We pay! ', '2 remain']
    """
    return _cut(text, (m.end() for m in _SENTENCE.finditer(text) if m["end"]))


_HEADING = re.compile(r"^[ \t]*(?:\#+[ \t]*|\*+)?step[ \t]*\d+\b", re.MULTILINE | re.IGNORECASE)


def numbered(text: str) -> list[str]:
    r"""Cut before every line that opens with "Step 3"; what stands before the first is a step too.

    >>> numbered("Step 1: add.\nso 5\nStep 2: done")
    ['Step 1: add.\nso 5\n', 'Step 2: done']
    """
    return _cut(text, (m.start() for m in _HEADING.finditer(text)))


SEGMENTS: dict[str, Segment] = {
    "lines": lines,
    "paragraphs": paragraphs,
    "sentences": sentences,
    "numbered": numbered,
}


def with_ends(example: Example, separator: str) -> Example:
    r"""The same solution, its steps set apart: many files keep them without what stood between them.

    >>> from prmkit.types import Problem, Step, Trajectory
    >>> e = Example(Trajectory(Problem("?"), (Step("1+1=2"), Step("2+1=3"))), (None, None))
    >>> with_ends(e, "\n").trajectory.text
    '1+1=2\n2+1=3'
    """
    if not example.trajectory.steps:
        return example
    *before, last = example.trajectory.steps
    apart = [s if s.text[-1:].isspace() else replace(s, text=s.text + separator) for s in before]
    return replace(example, trajectory=replace(example.trajectory, steps=(*apart, last)))
