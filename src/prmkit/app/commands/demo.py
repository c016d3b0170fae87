"""`prm demo`: the whole loop."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prmkit.app.commands import options


def demo(
    seed: options.Seed = 0,
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where everything is written.")] = Path(
        "runs/demo"
    ),
) -> None:
    """Run the whole loop on a small world, in minutes, and write a report."""
    from prmkit.names import load

    load("prmkit.app.demo:demo", extra="hf", what="prm demo")(out, seed)
