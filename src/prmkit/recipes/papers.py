"""The table of papers, the one place where a paper is named: `papers.toml`, read and shown.

python -m prmkit.recipes.papers > docs/papers.md
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Slot = Literal[
    "label",
    "scorer",
    "objective",
    "aggregate",
    "segment",
    "search",
    "signal",
    "benchmark",
    "domain",
    "survey",
]
Status = Literal["absent", "recipe", "benchmark", "survey"]

SLOTS: Mapping[Slot, str] = {
    "label": "Labels: where the number of a step comes from",
    "scorer": "Forms of scorer, rater and comparer",
    "objective": "Objectives: what training minimises",
    "aggregate": "Aggregates: from steps to one number",
    "segment": "Segments: where a step ends",
    "search": "Search",
    "signal": "Signals for policy training: credit, curate, pair",
    "benchmark": "Benchmarks",
    "domain": "Domains: data, prompt, world, check",
    "survey": "Surveys and analyses",
}
MARKS: Mapping[Status, str] = {"recipe": "●", "benchmark": "◆", "survey": "–", "absent": "○"}


@dataclass(frozen=True, slots=True)
class Paper:
    """One row. `summary`, `changed` and `claim` are ours; `title` and `arxiv` are the paper's."""

    name: str
    title: str
    slot: Slot
    summary: str
    status: Status
    id: int | None = None  # the card's number; a classic has none
    arxiv: str = ""
    recipe: str = ""  # a name in RECIPES
    changed: str = ""  # what differs from the paper
    values: Mapping[str, str] = field(default_factory=dict, hash=False)  # default → where it comes from
    claim: str = ""  # the miniature claim, its margins, and where it should fail


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("prmkit.recipes").joinpath("papers.toml").read_text("utf-8"))


def papers() -> tuple[Paper, ...]:
    """The 117 papers that have a card, by number."""
    return tuple(Paper(**row) for row in _table()["paper"])


def classics() -> tuple[Paper, ...]:
    """The methods behind a recipe that have no card."""
    return tuple(Paper(**row) for row in _table()["classic"])


def as_json() -> str:
    """The 117 rows as a JSON list, one object per paper."""
    return json.dumps([asdict(p) for p in papers()], ensure_ascii=False, indent=2)


def as_markdown() -> str:
    """`docs/papers.md`: every paper by slot, then what is implemented, with values and changes."""
    rows, old = papers(), classics()
    sections = [f"## {title}\n\n{_rows(p for p in rows if p.slot == slot)}" for slot, title in SLOTS.items()]
    built = [*(p for p in rows if p.status in ("recipe", "benchmark")), *old]
    blocks = [
        "# Papers",
        "<!-- Made by `python -m prmkit.recipes.papers` from src/prmkit/recipes/papers.toml: edit that. -->",
        _counts(rows),
        *sections,
        f"## Classics without a card\n\n{_rows(old)}",
        "## What is implemented",
        *map(_paragraph, built),
    ]
    return "\n\n".join(blocks) + "\n"


def _counts(rows: Iterable[Paper]) -> str:
    """How many papers stand where.

    >>> _counts([Paper("a", "A", "label", "", "recipe"), Paper("b", "B", "search", "", "absent")])
    '2 papers: ● 1 recipe, ◆ 0 benchmark, – 0 survey, ○ 1 absent.'
    """
    seen = Counter(p.status for p in rows)
    return f"{seen.total()} papers: " + ", ".join(f"{m} {seen[s]} {s}" for s, m in MARKS.items()) + "."


def _rows(rows: Iterable[Paper]) -> str:
    lines = [
        f"| {p.id or ''} | {MARKS[p.status]} | {p.name} | {_cell(_cited(p))} | {_cell(p.summary)} |"
        for p in rows
    ]
    return "\n".join(["| card | | name | paper | what it does |", "|---|---|---|---|---|", *lines])


def _cited(p: Paper) -> str:
    return f"{p.title} ([{p.arxiv}](https://arxiv.org/abs/{p.arxiv}))" if p.arxiv else p.title


def _cell(text: str) -> str:
    """Text that Markdown takes literally inside a table.

    >>> print(_cell("From <Answer> to *Think*"))
    From \\<Answer> to \\*Think\\*
    """
    return re.sub(r"([<*|])", r"\\\1", text)


def _paragraph(p: Paper) -> str:
    values = ", ".join(f"`{name}` ({source})" for name, source in p.values.items())
    parts = [
        p.summary,
        f"Changed: {p.changed}" if p.changed else "",
        f"Values: {values}." if values else "",
        f"Claim: {p.claim}" if p.claim else "",
    ]
    title = f"{p.name}: recipe `{p.recipe}`" if p.recipe else p.name
    return f"### {title}\n\n" + _cell(" ".join(filter(None, parts)))


if __name__ == "__main__":
    print(as_markdown(), end="")
