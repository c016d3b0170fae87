"""The same things as in a report, in a terminal; every view can be read without its colours."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from prmkit.app.report import Table, Verdicts, interval_text, level
from prmkit.errors import BadInput
from prmkit.types import Scores, Trajectory

__all__ = ["interval_text", "steps_view", "table_view", "verdicts_view"]

# From the worst score to the best: orange, grey, blue, told apart by every kind of eye.
SHADES = ("bold dark_orange3", "dark_orange3", "default", "steel_blue1", "bold dodger_blue1")
BAR = 10  # characters
BADGES = {"win": ("won ", SHADES[-1]), "loss": ("lost", SHADES[0]), "undecided": ("open", "dim")}


def steps_view(trajectory: Trajectory, scores: Scores) -> RenderableType:
    """Each step with its score in front; the lowest is pointed out, what a world said has none.

    Values and chances of being right have a bar from 0 to 1; a reward, which has no bounds, only its sign.
    """
    if len(scores.values) != len(trajectory.actions):
        raise BadInput(f"{len(trajectory.actions)} steps, but {len(scores.values)} scores")
    grid = Grid.grid(padding=(0, 1))
    for justify in ("right", "right", "left", "left"):
        grid.add_column(justify=justify, no_wrap=True, vertical="top")
    grid.add_column(overflow="fold", ratio=1)
    for cells in _rows(trajectory, scores):
        grid.add_row(*cells)
    return grid


def table_view(table: Table) -> RenderableType:
    """A report's table, its numbers to the right."""
    grid = Grid(
        title=table.caption or None, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for name, numeric in zip(table.header, table.numeric, strict=True):
        grid.add_column(
            Text(name), justify="right" if numeric else "left", header_style="bold", no_wrap=numeric
        )
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid


def verdicts_view(verdicts: Verdicts) -> RenderableType:
    """One sentence per comparison, and before it whether it was won, lost or left open."""
    grid = Grid.grid(padding=(0, 1))
    for verdict in verdicts.items:
        badge, style = BADGES[verdict.outcome]
        grid.add_row(Text(badge, style=style), Text(verdict.sentence))
    return grid


def _rows(trajectory: Trajectory, scores: Scores) -> Iterator[tuple[RenderableType, ...]]:
    lowest = min(scores.values, default=0.0)
    several = len(set(scores.values)) > 1
    numbered, notes = iter(enumerate(scores.values, start=1)), iter(scores.notes)
    for step in trajectory.steps:
        words = Text(step.text.strip())
        if step.by == "world":
            words.stylize("dim")
            yield Text(""), Text(""), Text("not scored", style="dim"), Text(""), words
            continue
        number, value = next(numbered)
        style, bar = _dress(value, scores.kind)
        note = next(notes, "")
        said: RenderableType = Group(words, Text(note.strip(), style="dim italic")) if note.strip() else words
        pointer = Text("◂" if several and value == lowest else " ", style=style)
        shown = Text(_number(value, scores.kind), style=style)
        yield Text(str(number), style="dim"), shown, Text(bar, style=style), pointer, said


def _number(value: float, kind: str) -> str:
    return f"{value:+.2f}" if kind == "reward" else f"{value:.2f}"


def _dress(value: float, kind: str) -> tuple[str, str]:
    """The style and the bar of a score."""
    if kind == "reward":
        return SHADES[0] if value < 0 else SHADES[-1], ""
    full = round(value * BAR)
    return SHADES[level(value)], "━" * full + "╌" * (BAR - full)
