"""`prm bench`: a scorer on a suite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prmkit.app.commands import options, terminal


def bench(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="Its name; without one, all are listed.")
    ] = None,
    scorer: options.Scorer = options.SCORER,
    data: Annotated[
        Path | None, typer.Option(metavar="PATH", help="The file or folder of a suite that is not shipped.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many solutions of each subset.")] = None,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="A step scored below it is an error.")] = 0.5,
    seed: options.Seed = 0,
    json: options.AsJson = False,
) -> None:
    """Measure a scorer on a suite of solutions whose errors are known."""
    from json import dumps

    import prmkit
    from prmkit.app.report import Table
    from prmkit.app.show import table_view
    from prmkit.bench.measure import measure
    from prmkit.bench.suites import SUITES
    from prmkit.names import pick
    from prmkit.scorers import open_scorer

    if suite is None:
        listed = tuple((name, s.about) for name, s in SUITES.items())
        terminal.out.print(table_view(Table(("suite", "what it holds"), listed)))
        return
    pick("suite", suite, SUITES)
    with terminal.opening(scorer):
        opened = open_scorer(scorer)
    with terminal.err.status("measuring"):
        found = prmkit.run(
            measure(opened, suite, data=data, threshold=threshold, seed=seed, limit=limit, name=scorer)
        )
    if json:
        typer.echo(dumps(found.as_json(), ensure_ascii=False, indent=2))
    else:
        title = f"{suite}: {scorer}, a step below {threshold:g} is an error"
        terminal.out.print(table_view(Table(found.header, tuple(found.table()), title)))
        if found.left_out:
            terminal.say(f"left out: {found.left_out}")
    if terminal.set_aside(found.bad, Path(f"{data or suite}.bad.jsonl")):
        raise typer.Exit(1)
