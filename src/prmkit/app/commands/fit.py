"""`prm fit`: a process reward model from labelled steps."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from prmkit.errors import BadRecord
    from prmkit.types import Example


def fit(
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="A run folder, or a file of labelled solutions.")
    ],
    out: options.Out,
    model: Annotated[
        str, typer.Option(metavar="SPEC", help="Where training starts: builtin:arith, hf:NAME, or a folder.")
    ] = options.POLICY,
    objective: Annotated[str, typer.Option(metavar="NAME", help="bce, mse, rank or outcome.")] = "bce",
    labels: Annotated[
        str | None, typer.Option(metavar="NAME", help="Which scores of a run folder to learn from.")
    ] = None,
    format: options.Format = None,
    separator: options.Separator = "\\n",
    epochs: Annotated[float, typer.Option(help="Passes over the data.")] = 3.0,
    learning_rate: Annotated[
        float,
        typer.Option(
            help="Of the trunk; the new head learns 100 times faster. 1e-4 suits the builtin model."
        ),
    ] = 1e-5,
    batch: Annotated[int, typer.Option(min=1, help="Solutions in a step.")] = 32,
    max_length: Annotated[int, typer.Option(min=1, help="The most tokens a solution may have.")] = 4096,
    seed: options.Seed = 0,
) -> None:
    """Train a process reward model on labelled steps."""
    from prmkit.app.overview import read, summary
    from prmkit.data.runs import Run
    from prmkit.names import load, pick
    from prmkit.policies import policy_folder

    bad: list[BadRecord] = []
    examples = _examples(data, labels, format, separator, bad)
    if not examples and not bad:
        terminal.complain(f"{data} is empty: there is nothing to learn from")
        raise typer.Exit(1)
    start = policy_folder(model)
    with terminal.opening(model):
        pick("objective", objective, load("prmkit.train.objectives:OBJECTIVES", extra="hf", what="prm fit"))
        train = load("prmkit.train.fit:fit", extra="hf", what="prm fit")
        config = load("prmkit.train.fit:FitConfig", extra="hf")(
            epochs=epochs, learning_rate=learning_rate, batch=batch, max_length=max_length, seed=seed
        )
    asked: dict[str, Any] = {"verb": "fit", "data": data, "model": model, "objective": objective}
    asked |= {"labels": labels, "format": format, "separator": separator, "epochs": epochs}
    asked |= {"learning_rate": learning_rate, "batch": batch, "max_length": max_length}
    run = Run.create_or_resume(out, asked=asked, seed=seed)
    if run.about.finished:
        terminal.done("this training was finished before")
    elif examples:
        begun = perf_counter()
        with terminal.progress("training") as watch, redirect_stdout(sys.stderr):

            def progress(step: int, steps: int, loss: float) -> None:
                watch(step, steps)
                run.append_metric(step=step, loss=loss)

            train(examples, model=start, out=out, objective=objective, config=config, progress=progress)
        run.finish(cost={"seconds": perf_counter() - begun})
        terminal.done(f"trained on {_count(examples)}")
    terminal.err.print(summary(read(run)))
    some_bad = terminal.set_aside(bad, out / "bad.jsonl")
    typer.echo(out)
    if some_bad:
        raise typer.Exit(1)


def _examples(
    data: str, labels: str | None, format: str | None, separator: str, bad: list[BadRecord]
) -> list[Example]:
    from prmkit.app.commands.inputs import read_solutions, unescaped
    from prmkit.data.runs import Run
    from prmkit.verbs import examples_from

    if Path(data).is_dir():
        run = Run.open(data)
        return examples_from(run, labels or _only(run.score_names()))
    return [s.example for s in read_solutions(data, bad, format=format, separator=unescaped(separator))]


def _count(examples: list[Example]) -> str:
    steps = sum(label is not None for e in examples for label in e.labels)
    return f"{terminal.count(steps, 'labelled step')} of {terminal.count(len(examples), 'solution')}"


def _only(names: list[str]) -> str:
    """The scores to learn from where none are named: the labels, or the only ones there are."""
    return names[0] if len(names) == 1 else "label"
