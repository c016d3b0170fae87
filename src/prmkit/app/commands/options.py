"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

POLICY = "builtin:arith"
SCORER = "builtin:arith"

Policy = Annotated[
    str, typer.Option(metavar="SPEC", help="Who writes solutions: builtin:arith, hf:NAME, or a folder.")
]
Scorer = Annotated[
    str, typer.Option(metavar="SPEC", help="Who scores steps: builtin:arith, head:FOLDER, or a folder.")
]
Seed = Annotated[int, typer.Option(help="Of everything random.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead.")]
Problems = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEMS",
        help="A JSON-lines file of {prompt, answer, id}, or arith:100 for generated problems.",
    ),
]
Out = Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where everything is written.")]
Format = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Of the file; seen from its first rows when not given."),
]
Separator = Annotated[
    str,
    typer.Option(metavar="TEXT", help="Put after steps of a file that end without any white space."),
]
