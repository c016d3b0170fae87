"""Wrappers for engines behind a network: not too much at once, and again when it failed."""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable

from prmkit.effects.shape import Effect, P, PerLoop, R
from prmkit.errors import BadInput


def limited(effect: Effect[P, R], concurrency: int) -> Effect[P, R]:
    """At most `concurrency` calls under way at once in an event loop; the others wait their turn."""
    if concurrency < 1:
        raise BadInput(f"at least one call must be let through, not {concurrency}")
    gates = PerLoop(lambda: asyncio.Semaphore(concurrency))

    @functools.wraps(effect, updated=())
    async def waited(*args: P.args, **kwargs: P.kwargs) -> list[R]:
        async with gates.get():
            return await effect(*args, **kwargs)

    return waited


def backoff(failures: int, base: float, longest: float) -> float:
    """Seconds to wait after so many failures: min(longest, base · 2^(failures − 1)).

    >>> [backoff(k, base=0.5, longest=3.0) for k in (1, 2, 3, 4)]
    [0.5, 1.0, 2.0, 3.0]
    """
    return float(min(longest, base * 2.0 ** (failures - 1)))


def retried(
    effect: Effect[P, R],
    *,
    attempts: int = 5,
    on: tuple[type[Exception], ...] = (ConnectionError, TimeoutError),
    base: float = 0.5,
    longest: float = 30.0,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    rng: random.Random | None = None,
) -> Effect[P, R]:
    """Call again after an error of the kinds in `on`, at most `attempts` times in all.

    Waits u · backoff with u uniform in [½, 1], so that callers who failed together do not
    come back together. An error that carries `retry_after` (seconds) is obeyed in full,
    even beyond `longest`: asking sooner would only fail again. The last error propagates
    as it is, with a note of how often it was tried.
    """
    if attempts < 1:
        raise BadInput(f"at least one attempt must be made, not {attempts}")
    dice = rng or random.Random()

    @functools.wraps(effect, updated=())
    async def persistent(*args: P.args, **kwargs: P.kwargs) -> list[R]:
        failures = 0
        while True:
            try:
                return await effect(*args, **kwargs)
            except on as error:
                failures += 1
                if failures == attempts:
                    _note(error, f"gave up after {attempts} attempts")
                    raise
                wait = dice.uniform(0.5, 1.0) * backoff(failures, base, longest)
                asked = getattr(error, "retry_after", None)
            await sleep(wait if asked is None else max(wait, float(asked)))

    return persistent


def _note(error: Exception, text: str) -> None:
    if text not in getattr(error, "__notes__", ()):  # callers of one batch share its error
        error.add_note(text)
