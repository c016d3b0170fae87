"""What a person sees while the loop runs: one bar a stage, and a table that fills."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

Tick = Callable[[int, int], None]  # (done, of how many)


class Screen:
    """Live in a terminal; plain lines, one per stage and figure, where there is none."""

    def __init__(self, console: Console) -> None:
        self.console, self._rows, self._started = console, list[tuple[str, str]](), time.monotonic()
        self._bars = Progress(
            TextColumn("{task.description:<44}"),
            BarColumn(24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
        )
        self._live = Live(self._view(), console=console, refresh_per_second=4)

    def __enter__(self) -> Screen:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    @contextmanager
    def stage(self, what: str) -> Iterator[Tick]:
        """A bar for one part of the loop; the rest of the screen stays."""
        bar = self._bars.add_task(what, total=None)
        started = time.monotonic()
        yield lambda done, total: self._bars.update(bar, completed=done, total=total)
        task = self._bars.tasks[bar]
        self._bars.update(bar, total=task.total or 1, completed=task.total or 1)
        self._refresh()
        if not self.console.is_terminal:
            self.console.print(f"{what}: {time.monotonic() - started:.0f} s", highlight=False)

    def figure(self, name: str, value: str) -> None:
        """One more line of the table."""
        self._rows.append((name, value))
        self._refresh()
        if not self.console.is_terminal:
            self.console.print(f"  {name}: {value}", highlight=False)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def _refresh(self) -> None:
        self._live.update(self._view())

    def _view(self) -> Group:
        table = Table(box=None, show_header=False, pad_edge=False)
        for row in self._rows:
            table.add_row(*row)
        return Group(self._bars, "", table)
