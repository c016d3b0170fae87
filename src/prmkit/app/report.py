"""A page that stands alone: what a caller has to say, as one HTML file without links, scripts or downloads.

The caller fills `ReportData`; `render` escapes every word of it. Only a chart's SVG goes in as it is, so it
must come from `plots`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Literal

from prmkit.errors import BadInput
from prmkit.maths.stats import Interval

LEVELS = 5  # how many shades a score can have
NUMERIC = re.compile(r"[-+−–—±\d.,:/%×\[\]\s]*[kMs]?")  # a number, an interval, a time, or a dash for none


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Figures:
    """The few numbers to see first."""

    items: tuple[Figure, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    svg: str  # markup out of `plots`, not escaped
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.header) for row in self.rows):
            raise BadInput(
                f"table {self.caption!r}: a row has not {len(self.header)} cells, as the header has"
            )

    @property
    def numeric(self) -> tuple[bool, ...]:
        """Which columns hold only numbers, intervals and blanks.

        >>> Table(("method", "solved"), (("one sample", "0.52 [0.47, 0.57]"), ("vote", "–"))).numeric
        (False, True)
        """
        return tuple(all(NUMERIC.fullmatch(row[i]) for row in self.rows) for i in range(len(self.header)))


@dataclass(frozen=True, slots=True)
class ScoredStep:
    text: str
    score: float | None = None  # in [0, 1]; None: not scored, as the answer of a tool
    verdict: str = ""  # what one who knows says of it
    right: bool | None = None  # the same as a mark; None: nobody knows
    error: str = ""  # the type of error


@dataclass(frozen=True, slots=True)
class Solution:
    problem: str
    steps: tuple[ScoredStep, ...]
    title: str = ""
    outcome: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    sentence: str
    outcome: Literal["win", "loss", "undecided"]


@dataclass(frozen=True, slots=True)
class Verdicts:
    items: tuple[Verdict, ...]


Block = Figures | Chart | Table | Solution | Verdicts


@dataclass(frozen=True, slots=True)
class Section:
    heading: str
    prose: str = ""  # paragraphs stand apart by an empty line
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportData:
    title: str
    sections: tuple[Section, ...]
    lead: str = ""
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)


def interval_text(interval: Interval, *, digits: int = 2, n: bool = False) -> str:
    """The mean and its 95 % interval, with the number of problems if asked.

    >>> interval_text(Interval(mean=0.62, low=0.58, high=0.66, n=300), n=True)
    '0.62 [0.58, 0.66], n = 300'
    """
    mean, low, high = (
        f"{round(x, digits) + 0.0:.{digits}f}" for x in (interval.mean, interval.low, interval.high)
    )
    return f"{mean} [{low}, {high}]" + (f", n = {interval.n}" if n else "")


def compare(first: str, second: str, difference: Interval) -> Verdict:
    """What the paired difference first − second tells, in words: a winner only if 0 is outside its interval.

    >>> compare("PRM best-of-16", "one sample", Interval(mean=0.18, low=0.14, high=0.22, n=300)).sentence
    'PRM best-of-16 beats one sample by 0.18 [0.14, 0.22].'
    """
    if difference.low > 0:
        return Verdict(_sentence(f"{first} beats {second} by {interval_text(difference)}"), "win")
    if difference.high < 0:
        turned = Interval(mean=-difference.mean, low=-difference.high, high=-difference.low, n=difference.n)
        return Verdict(_sentence(f"{second} beats {first} by {interval_text(turned)}"), "loss")
    told = f"no difference can be told between {first} and {second}: {interval_text(difference)}"
    return Verdict(_sentence(told), "undecided")


def level(score: float) -> int:
    """Which of the five shades a score in [0, 1] has: 0 the worst, 4 the best.

    >>> [level(s) for s in (0.0, 0.19, 0.5, 1.0)]
    [0, 0, 2, 4]
    """
    if not 0 <= score <= 1:
        raise BadInput(f"a score of {score} is not between 0 and 1")
    return min(int(score * LEVELS), LEVELS - 1)


def render(data: ReportData) -> str:
    """The whole page."""
    style = files("prmkit.app").joinpath("report.css").read_text(encoding="utf-8")
    lead = f'<p class="lead">{escape(data.lead)}</p>' if data.lead else ""
    anchors = [f"part-{i}" for i, _ in enumerate(data.sections, start=1)]
    links = "".join(
        f'<li><a href="#{anchor}">{escape(section.heading)}</a></li>'
        for anchor, section in zip(anchors, data.sections, strict=True)
    )
    body = "\n".join(
        _section(anchor, section) for anchor, section in zip(anchors, data.sections, strict=True)
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(data.title)}</title>
<style>
{style}</style>
</head>
<body>
<header><h1>{escape(data.title)}</h1>{lead}</header>
<nav aria-label="Contents"><ol>{links}</ol></nav>
<main>
{body}
{_settings(data.settings)}
</main>
</body>
</html>
"""


def _section(anchor: str, section: Section) -> str:
    prose = "".join(
        f"<p>{escape(part.strip())}</p>" for part in re.split(r"\n\s*\n", section.prose) if part.strip()
    )
    blocks = "\n".join(map(_block, section.blocks))
    return f'<section id="{anchor}"><h2>{escape(section.heading)}</h2>{prose}\n{blocks}</section>'


def _block(block: Block) -> str:
    match block:
        case Figures(items):
            return f'<dl class="figures">{"".join(map(_figure, items))}</dl>'
        case Chart(svg, caption):
            words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
            return f"<figure>{svg}{words}</figure>"
        case Table():
            return _table(block)
        case Solution():
            return _solution(block)
        case Verdicts(items):
            return f'<ul class="verdicts">{"".join(map(_verdict, items))}</ul>'


def _figure(figure: Figure) -> str:
    note = f'<dd class="note">{escape(figure.note)}</dd>' if figure.note else ""
    return f"<div><dt>{escape(figure.label)}</dt><dd>{escape(figure.value)}</dd>{note}</div>"


def _table(table: Table) -> str:
    kinds = [' class="number"' if numeric else "" for numeric in table.numeric]
    head = "".join(f'<th scope="col"{k}>{escape(c)}</th>' for k, c in zip(kinds, table.header, strict=True))
    rows = "".join(f"<tr>{_row(row, kinds)}</tr>" for row in table.rows)
    caption = f'<p class="caption">{escape(table.caption)}</p>' if table.caption else ""
    label = escape(table.caption or ", ".join(table.header))
    # It may be wider than a phone: then it scrolls by itself, by keyboard too, and its caption stays.
    return (
        f'{caption}<div class="table" role="region" tabindex="0" aria-label="{label}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    first, *rest = (f"{k}>{escape(c)}" for k, c in zip(kinds, cells, strict=True))
    return f'<th scope="row"{first}</th>' + "".join(f"<td{cell}</td>" for cell in rest)


def _solution(solution: Solution) -> str:
    title = f"<h3>{escape(solution.title)}</h3>" if solution.title else ""
    outcome = f'<p class="outcome">{escape(solution.outcome)}</p>' if solution.outcome else ""
    steps = "".join(map(_step, solution.steps))
    return (
        f'<article class="solution">{title}<p class="problem">{escape(solution.problem)}</p>'
        f"<ol>{steps}</ol>{outcome}</article>"
    )


def _step(step: ScoredStep) -> str:
    scored = (
        '<span class="score">not scored</span>'
        if step.score is None
        else f'<span class="score"><b>{step.score:.2f}</b>'
        f'<span class="meter" aria-hidden="true"><i style="width:{step.score:.0%}"></i></span></span>'
    )
    shade = "unscored" if step.score is None else f"level-{level(step.score)}"
    mark = {True: "✓ ", False: "✗ ", None: ""}[step.right]
    verdict = f"<span>{mark}{escape(step.verdict)}</span>" if mark or step.verdict else ""
    kind = "harmless" if step.right else "error"
    error = f'<span class="{kind}">{escape(step.error)}</span>' if step.error else ""
    return (
        f'<li class="{shade}">{scored}<span class="words">{escape(step.text.strip())}</span>'
        f'<span class="said">{verdict}{error}</span></li>'
    )


def _verdict(verdict: Verdict) -> str:
    badge = {"win": "won", "loss": "lost", "undecided": "open"}[verdict.outcome]
    return f'<li class="{verdict.outcome}"><b>{badge}</b> <span>{escape(verdict.sentence)}</span></li>'


def _settings(settings: Mapping[str, str]) -> str:
    if not settings:
        return ""
    pairs = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in settings.items())
    return f'<section><h2>Settings</h2><dl class="settings">{pairs}</dl></section>'


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."
