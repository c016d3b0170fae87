"""`prm view`: a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prmkit.app.commands import terminal


def view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    scores: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which scores to show, where there are several.")
    ] = None,
    solutions: Annotated[int, typer.Option("-n", min=0, help="Solutions to show.")] = 3,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page of it instead.")] = None,
) -> None:
    """Look at a run folder: what was asked, what came of it, what it cost."""
    from prmkit.app import overview

    seen = overview.look(run, scores)
    if html is None:
        terminal.out.print(overview.screen(seen, solutions))
        return
    from prmkit.app.report import render

    html.parent.mkdir(parents=True, exist_ok=True)
    html.write_text(render(overview.page(seen, max(solutions, 1))), "utf-8")
    typer.echo(html)
