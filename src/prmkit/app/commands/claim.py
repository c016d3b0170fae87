"""`prm claim`: a claim in miniature."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from rich.console import RenderableType

    from prmkit.bench.compare import Finding
    from prmkit.bench.run import Result, Verdict

STYLES = {"holds": "bold dodger_blue1", "fails": "bold dark_orange3", "undecided": "dim"}


def claim(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of the claim; without one, all are listed.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Repetitions; below 5 there is no verdict.")] = 5,
    json: options.AsJson = False,
) -> None:
    """Test a paper's claim in small: holds, fails or undecided."""
    from json import dumps

    import prmkit
    from prmkit.app.report import Table
    from prmkit.app.show import table_view
    from prmkit.bench.claims import CLAIMS
    from prmkit.bench.run import run_claim
    from prmkit.names import pick

    if name is None:
        rows = [(key, str(c.card), c.statement) for key, c in CLAIMS.items()]
        if json:
            listed = [{"name": key, "card": int(card), "statement": said} for key, card, said in rows]
            typer.echo(dumps(listed, ensure_ascii=False, indent=2))
        else:
            terminal.out.print(table_view(Table(("claim", "card", "what it says"), tuple(rows))))
        return
    chosen = pick("claim", name, CLAIMS)
    terminal.quiet()
    with terminal.progress(name) as watch:
        verdict = prmkit.run(run_claim(chosen, seeds=seeds, progress=lambda done, of, _: watch(done, of)))
    if json:
        typer.echo(dumps(verdict.as_json(), ensure_ascii=False, indent=2))
    else:
        _show(verdict)


def _show(verdict: Verdict) -> None:
    from rich.text import Text

    c, show = verdict.claim, terminal.out.print
    show(Text(c.statement, "bold"))
    show(Text(f"card {c.card}; {c.world}; {c.treatment} against {c.control} at equal {c.budget}", "dim"))
    for result in verdict.results:
        show()
        expected = f"   should fail: {result.should_fail}" if result.should_fail else ""
        show(Text.assemble(f"{result.condition}   ", _word(result.ruling), (expected, "dim")))
        show(_findings(result))
    reason = f": {verdict.reason}" if verdict.reason else ""
    show(
        Text.assemble(
            "\n", _word(verdict.ruling), reason, (f"   {terminal.count(verdict.seeds, 'seed')}", "dim")
        )
    )


def _word(ruling: str) -> tuple[str, str]:
    return ruling, STYLES[ruling]


def _findings(result: Result) -> RenderableType:
    """Every comparison: those that decide, where one of a row is enough, then those only shown."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 0, 0, 2))
    for row in result.asks:
        for i, finding in enumerate(row):
            grid.add_row(Text(("or " if i else "") + finding.comparison.metric), _told(finding))
    for finding in result.also:
        grid.add_row(Text(f"also {finding.comparison.metric}", "dim"), _told(finding))
    return grid


def _told(finding: Finding) -> RenderableType:
    from rich.text import Text

    from prmkit.app.show import interval_text

    asked = finding.comparison
    found = "not defined" if finding.interval is None else interval_text(finding.interval, digits=3)
    wanted = f", wanted {asked.wanted}" if asked.wanted else ""
    sides = ((asked.treatment, finding.treatment), (asked.control, finding.control))
    figures = ", ".join(f"{arm} {fmean(each):.3g}" for arm, each in sides)
    return Text.assemble(f"{asked.form} {found}{wanted}\n", (figures, "dim"))
