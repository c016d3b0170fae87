"""Checkpoints of a run: numbered folders that are there whole or not at all, and only the last of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


def appear(folder: Path, write: Callable[[Path], None]) -> None:
    """Have `write` fill a draft, then give it its name: a kill leaves no half-written folder of that name."""
    draft = folder.with_name(f"{folder.name}.tmp")
    for stale in (draft, folder):
        shutil.rmtree(stale, ignore_errors=True)
    draft.mkdir(parents=True)
    write(draft)
    draft.rename(folder)


def save(out: Path, number: int, write: Callable[[Path], None]) -> None:
    """The checkpoint of this number; the one before it goes once this one is whole."""
    folder = out / f"checkpoint-{number}"
    appear(folder, write)
    clear(out, keep=folder)


def last(out: Path) -> tuple[int, Path] | None:
    """The number and the folder of the last whole checkpoint."""
    found = [(f.name.removeprefix("checkpoint-"), f) for f in out.glob("checkpoint-*")]
    return max(((int(number), f) for number, f in found if number.isdecimal()), default=None)


def clear(out: Path, *, keep: Path | None = None) -> None:
    for folder in out.glob("checkpoint-*"):
        if folder != keep:
            shutil.rmtree(folder)
