"""The command `prm`."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from prmkit import __version__
from prmkit.app.commands import terminal
from prmkit.app.commands.bench import bench
from prmkit.app.commands.claim import claim
from prmkit.app.commands.demo import demo
from prmkit.app.commands.fit import fit
from prmkit.app.commands.label import label
from prmkit.app.commands.papers import papers
from prmkit.app.commands.rl import rl
from prmkit.app.commands.score import score
from prmkit.app.commands.solve import solve
from prmkit.app.commands.view import view
from prmkit.errors import PrmkitError

ASKED_WRONG, STOPPED = 2, 130  # exit statuses; 1 is for work that was done though some records were bad


class Polite(TyperGroup):
    """What was asked wrong gets a sentence, not a traceback; PRM_DEBUG=1 shows the traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            terminal.say("stopped; run the same command again to go on")
            raise typer.Exit(STOPPED) from stop
        except BrokenPipeError:  # whoever read our output has seen enough
            raise
        except (PrmkitError, OSError) as error:
            if os.environ.get("PRM_DEBUG"):
                raise
            terminal.complain(_sentence(error))
            raise typer.Exit(ASKED_WRONG) from error


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error).partition("\n")[0]


app = typer.Typer(
    name="prm",
    cls=Polite,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="rich",
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"prmkit {__version__}")
        raise typer.Exit


@app.callback()
def prm(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Process reward models, the full loop: make data, train, measure, search, improve a policy."""


START, MAKE, USE, LOOK = "Start here", "Make", "Use", "Measure and look"
for panel, commands in {
    START: (demo,),
    MAKE: (label, fit, rl),
    USE: (score, solve),
    LOOK: (bench, claim, view, papers),
}.items():
    for command in commands:
        app.command(rich_help_panel=panel)(command)


def main() -> None:
    app()
