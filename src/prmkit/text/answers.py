"""The final answer of a solution, and whether two answers are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction

from prmkit.types import Problem, Trajectory

_CALCULATOR = re.compile(r"<<[^<>\n]*>>")  # GSM8K writes 48/2 = <<48/2=24>>24
_BRACES = re.compile(r"\\boxed\s*\{|\\.|[{}]", re.DOTALL)  # \{ is a character, not a brace
_HASHES = re.compile(r"####")
_PHRASE = re.compile(r"\banswer[\s*]*(?:is\b|:)[\s*:]*", re.IGNORECASE)
_LOOSE = re.compile(r"(?<![\w.])-?\$?(?:\d+(?:,\d{3}(?!\d))*(?:\.\d+)?|\.\d+)(?:/\d+)?%?")
_MONEY = re.compile(r"\\?[$€£]")  # and the dollars around TeX
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?\\?%?")
_SPACING = re.compile(r"\\[!,;: ]|\\(?:left|right)(?![a-zA-Z])|\s")
_TEXT = re.compile(r"\\(?:text|mathrm|textbf)\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac\{([^{}]+)\}\{([^{}]+)\}")
_VALUE = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:/(\d+))?(%?)", re.ASCII)
_LONGEST_NUMBER = 1000  # characters: a policy that repeats a digit for ever has not written a number


def final_answer(text: str, *, loose: bool = False) -> str | None:
    r"""The last \boxed{…}, or else the last "#### …", or else the last "answer is …" or "Answer: …".

    `loose` falls back on the last number. None when there is none of these. Money signs, a final period
    and the commas within a number are taken off.

    >>> final_answer("9 * 2 = <<9*2=18>>18 hundred.\n#### $1,800.")
    '1800'
    """
    text = _CALCULATOR.sub("", text)
    found = _boxed(text) or _after(_HASHES, text) or _after(_PHRASE, text)
    if not found and loose:
        found = (_LOOSE.findall(text) or [""])[-1]
    return _undressed(found) or None


def _boxed(text: str) -> str:
    r"""What stands in the last \boxed{…} that closes and is not empty."""
    at, found = -1, ""
    opened: list[int | None] = []  # where a box began; None for any other brace
    for mark in _BRACES.finditer(text):
        if mark[0].startswith("\\boxed"):
            opened.append(mark.end())
        elif mark[0] == "{":
            opened.append(None)
        elif mark[0] == "}" and opened and (start := opened.pop()) is not None:
            inside = text[start : mark.start()]
            if start > at and inside.strip():  # a box around a box closes later but began before
                at, found = start, inside
    return found


def _after(head: re.Pattern[str], text: str) -> str:
    """The first sentence of the line after the last head that has something after it."""
    for mark in reversed(list(head.finditer(text))):
        line = text[mark.end() :].partition("\n")[0].strip()
        if said := re.split(r"\.\s", line, maxsplit=1)[0]:
            return said
    return ""


def _undressed(answer: str) -> str:
    answer = _MONEY.sub("", answer).strip("* \t\n").rstrip(".* \t\n")
    for opening, closing in ((r"\(", r"\)"), (r"\[", r"\]")):
        answer = answer.removeprefix(opening).removesuffix(closing)
    answer = answer.strip().removesuffix(".")
    return answer.replace(",", "") if _THOUSANDS.fullmatch(answer) else answer


def same_answer(a: str, b: str) -> bool:
    r"""Equal once spacing and dress are off, or equal as numbers: exact fractions, and 50% is ½, not 50.

    A word may differ in case. Nothing is simplified: √4 is not 2 here.

    >>> same_answer(r"\frac{1}{2}", "0.5"), same_answer("$1,000", "1000.0"), same_answer("x", "y")
    (True, True, False)
    """
    a, b = _normal(a), _normal(b)
    if a == b:
        return True
    number = _number(a)
    return number is not None and number == _number(b)


def _normal(answer: str) -> str:
    plain = _SPACING.sub("", answer.replace("{,}", ",").replace("−", "-"))
    plain = _TEXT.sub(r"\1", plain).replace("\\%", "%")
    plain = _undressed(_FRACTION.sub(r"\1/\2", plain))
    return plain.casefold() if plain.isalpha() and len(plain) > 1 else plain  # x and X are two variables


def _number(answer: str) -> Fraction | None:
    found = _VALUE.fullmatch(answer) if len(answer) <= _LONGEST_NUMBER else None
    if found is None:
        return None
    above, below, percent = Fraction(found[1]), int(found[2] or 1), 100 if found[3] else 1
    return above / below / percent if below else None


async def exact_answer(trajectories: Sequence[Trajectory]) -> list[float]:
    """A `Rater`: 1 where the final answer is the problem's, 0 where it is another or none was given."""
    return [float(_is_right(t.text, _expected(t.problem))) for t in trajectories]


def _is_right(text: str, expected: str) -> bool:
    found = final_answer(text)
    return found is not None and same_answer(found, expected)


def _expected(problem: Problem) -> str:
    if problem.answer is None:
        raise ValueError(f"problem {problem.id or problem.prompt[:60]!r} has no answer to check against")
    return final_answer(problem.answer) or problem.answer  # GSM8K keeps its whole solution there
