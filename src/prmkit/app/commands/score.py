"""`prm score`: step scores of solutions in a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from prmkit.app.commands.inputs import Solution
    from prmkit.errors import BadRecord
    from prmkit.types import Scorer, Scores

AT_ONCE = 64  # solutions scored together


def score(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Solutions as JSON lines; - is the standard input.")
    ],
    scorer: options.Scorer = options.SCORER,
    format: options.Format = None,
    segment: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="How a solution in one piece is cut: lines, paragraphs, sentences."
        ),
    ] = "lines",
    separator: options.Separator = "\\n",
    json: Annotated[bool, typer.Option("--json", help="Print JSON lines: id, scores, kind, source.")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write these JSON lines to a file.")
    ] = None,
) -> None:
    """Score every step of the solutions in a file."""
    from prmkit.app.commands.inputs import from_stdin, read_solutions, shown_name, unescaped
    from prmkit.data.jsonl import write_jsonl
    from prmkit.scorers import open_scorer

    bad: list[BadRecord] = []
    solutions = read_solutions(file, bad, format=format, segment=segment, separator=unescaped(separator))
    first = list(islice(solutions, AT_ONCE))  # a file that cannot be read is told before a model is opened
    scored = 0
    if first:
        with terminal.opening(scorer):
            opened = open_scorer(scorer)
        rows = _scored(chain(first, solutions), opened, bad, file)
        if out is not None:
            scored = write_jsonl(out, (_record(s, found) for s, found in rows))
        else:
            show = _print_json if json else _print_view
            scored = sum(show(s, found) for s, found in rows)
    elif not bad:
        terminal.complain(f"{shown_name(file)} is empty: there is nothing to score")
        raise typer.Exit(1)
    if scored:
        terminal.done(f"{terminal.count(scored, 'solution')} scored" + (f": {out}" if out else ""))
    if terminal.set_aside(from_stdin(bad), Path(f"{out or shown_name(file)}.bad.jsonl")):
        raise typer.Exit(1)


def _scored(
    solutions: Iterator[Solution], scorer: Scorer, bad: list[BadRecord], file: str
) -> Iterator[tuple[Solution, Scores]]:
    while batch := list(islice(solutions, AT_ONCE)):
        yield from _together(batch, scorer, bad, file)


def _together(
    batch: Sequence[Solution], scorer: Scorer, bad: list[BadRecord], file: str
) -> Iterator[tuple[Solution, Scores]]:
    """One call for all; where the scorer refuses one of them, each alone, so that only that one is lost."""
    from prmkit import run
    from prmkit.app.commands.inputs import bad_solution
    from prmkit.errors import BadInput

    async def ask() -> list[Scores]:
        return await scorer([s.example.trajectory for s in batch])

    try:
        found = run(ask())
    except BadInput as error:
        if len(batch) > 1:
            for one in batch:
                yield from _together([one], scorer, bad, file)
        else:
            bad.append(bad_solution(batch[0], str(error), file))
        return
    yield from zip(batch, found, strict=True)


def _record(solution: Solution, scores: Scores) -> dict[str, Any]:
    return {
        "id": solution.id,
        "scores": [round(v, 6) for v in scores.values],
        "kind": scores.kind,
        "source": scores.source,
    }


def _print_json(solution: Solution, scores: Scores) -> bool:
    from prmkit.data.jsonl import dump

    typer.echo(dump(_record(solution, scores)), nl=False)
    return True


def _print_view(solution: Solution, scores: Scores) -> bool:
    from rich.text import Text

    from prmkit.app.show import steps_view

    trajectory = solution.example.trajectory
    terminal.out.print(Text(solution.id, "bold"))
    terminal.out.print(Text(trajectory.problem.prompt.strip(), "dim"))
    terminal.out.print(steps_view(trajectory, scores))
    terminal.out.print()
    return True
