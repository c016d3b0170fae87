"""`prm papers`: the table of published methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from prmkit.app.commands.options import AsJson
from prmkit.app.commands.terminal import count, out

if TYPE_CHECKING:
    from prmkit.recipes.papers import Paper

STYLES = {"recipe": "bold dodger_blue1", "benchmark": "bold dodger_blue1", "survey": "dim", "absent": "dim"}


def papers(
    json: AsJson = False,
    slot: Annotated[str, typer.Option(metavar="NAME", help="Only the papers of this slot.")] = "",
    status: Annotated[
        str, typer.Option(metavar="NAME", help="Only: recipe, benchmark, survey, absent.")
    ] = "",
) -> None:
    """List the 117 papers: what each does and whether it is built."""
    from dataclasses import asdict
    from json import dumps

    from prmkit.names import pick
    from prmkit.recipes.papers import MARKS, SLOTS
    from prmkit.recipes.papers import papers as all_papers

    if slot:
        pick("slot", slot, dict[str, str](SLOTS.items()))
    if status:
        pick("status", status, dict[str, str](MARKS.items()))
    rows = [p for p in all_papers() if slot in ("", p.slot) and status in ("", p.status)]
    if json:
        typer.echo(dumps([asdict(p) for p in rows], ensure_ascii=False, indent=2))
    else:
        _show(rows)


def _show(rows: Sequence[Paper]) -> None:
    from collections import Counter

    from rich.table import Table
    from rich.text import Text

    from prmkit.recipes.papers import MARKS

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    grid.add_column("card", justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    grid.add_column("name", no_wrap=True)
    grid.add_column("slot", no_wrap=True, style="dim")
    grid.add_column("what it does", overflow="fold", ratio=1)
    for p in rows:
        style = STYLES[p.status]
        mark, name = Text(MARKS[p.status], style), Text(p.name, "" if style == "dim" else style)
        grid.add_row(str(p.id), mark, name, p.slot, Text(p.summary))
    out.print(grid)
    seen = Counter(p.status for p in rows)
    told = "   ".join(f"{mark} {seen[status]} {status}" for status, mark in MARKS.items() if seen[status])
    out.print(Text(f"\n{count(len(rows), 'paper')}   {told}", "dim"))
