"""What every command says and shows. Data goes to the standard output, all else to the standard error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text
from rich.theme import Theme

from prmkit.data.jsonl import write_bad
from prmkit.errors import BadInput, BadRecord

QUIET = Theme(
    {
        "progress.download": "dim",
        "progress.elapsed": "dim",
        "bar.complete": "dodger_blue1",
        "bar.finished": "dodger_blue1",
        "bar.pulse": "dodger_blue1",
        "status.spinner": "dodger_blue1",
    }
)
out = Console(highlight=False, theme=QUIET)
err = Console(stderr=True, highlight=False, theme=QUIET)

SHOWN = 20  # bad records named on the screen; the file beside the output names all of them


def say(text: str, style: str = "") -> None:
    """A line for the reader; long ones are wrapped by the terminal, so that a path can be copied whole."""
    err.print(Text(text, style), soft_wrap=True)


def complain(text: str) -> None:
    err.print(Text.assemble(("error  ", "bold dark_orange3"), text), soft_wrap=True)


def done(text: str) -> None:
    err.print(Text.assemble(("✓ ", "bold dodger_blue1"), text), soft_wrap=True)


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that is told (done, of how many); it leaves nothing behind, and nothing in a log file."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(32),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bars:
        bar = bars.add_task(what, total=None)
        yield lambda done, total: bars.update(bar, completed=done, total=total)


def quiet() -> None:
    """Keep the model libraries' bars and notes off the screen; what goes wrong still raises."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    with suppress(ModuleNotFoundError):  # without the extra there is nothing to quieten
        logging = import_module("transformers.utils.logging")
        logging.disable_progress_bar()
        logging.set_verbosity_error()


@contextmanager
def opening(what: str) -> Iterator[None]:
    """While a model is loaded; the loaders' own bars and notes are kept off the screen."""
    quiet()
    with err.status(Text(f"opening {what}", "dim")):
        try:
            yield
        except OSError as error:  # of a hub or a folder without a model; it says more than is of use here
            raise BadInput(f"{what} cannot be opened: {str(error).splitlines()[0]}") from error


def set_aside(bad: Sequence[BadRecord], beside: Path) -> bool:
    """Name the bad records and keep them in a file; True where there are any.

    The input is read anew each time, so the new list replaces an old one, also by an empty list.
    """
    bad = sorted(bad, key=lambda record: (record.file, record.line))
    if bad or beside.exists():
        beside.parent.mkdir(parents=True, exist_ok=True)
        write_bad(beside, bad)
    for record in bad[:SHOWN]:
        err.print(Text.assemble(("bad record  ", "dark_orange3"), str(record)), soft_wrap=True)
    if len(bad) > SHOWN:
        say(f"            … and {len(bad) - SHOWN} more")
    if bad:
        say(f"{count(len(bad), 'bad record')} set aside in {beside}")
    return bool(bad)


def count(n: int, what: str) -> str:
    """
    >>> count(1, "bad record"), count(2000, "solution")
    ('1 bad record', '2,000 solutions')
    """
    return f"{n:,} {what}" + ("" if n == 1 else "s")
