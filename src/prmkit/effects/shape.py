"""The one shape all wrappers keep: an async callable, a list in, a list of as many results out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, ParamSpec, TypeAlias, TypeVar

from prmkit.errors import BadInput

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

Effect: TypeAlias = Callable[P, Awaitable[list[R]]]


def matched(results: list[R], asked: int, effect: object) -> list[R]:
    """The results, if there is one for each item that was asked for."""
    if len(results) != asked:
        name = getattr(effect, "__qualname__", None) or repr(effect)
        raise BadInput(
            f"{name} was given {asked} and returned {len(results)}: an effect owes one result to each"
        )
    return results


class PerLoop(Generic[T]):
    """One `T` for each running event loop: a wrapped effect outlives the `asyncio.run` that used it first."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: dict[asyncio.AbstractEventLoop, T] = {}

    def get(self) -> T:
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            for old in [known for known in list(self._made) if known.is_closed()]:
                self._made.pop(old, None)
            self._made[loop] = self._make()
        return self._made[loop]
