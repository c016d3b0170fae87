"""Cost as a wrapper: comparisons at equal budget need nothing inside the algorithms."""

from __future__ import annotations

import functools
import inspect
import time
from collections.abc import Callable

from prmkit.effects.batching import Batched
from prmkit.effects.shape import Effect, P, R
from prmkit.effects.spending import COUNTING, METERS, Meter


def metered(
    effect: Effect[P, R], *, clock: Callable[[], float] = time.perf_counter
) -> tuple[Effect[P, R], Meter]:
    """The effect, and a meter that counts what goes through it; meters may stand inside one another.

    >>> import asyncio
    >>> async def length(words):
    ...     spend(prompt_tokens=sum(map(len, words)))
    ...     return [float(len(word)) for word in words]
    >>> from prmkit.effects import metered, spend
    >>> length, meter = metered(length)
    >>> asyncio.run(length(["two", "words"]))
    [3.0, 5.0]
    >>> meter.calls, meter.items, meter.prompt_tokens
    (1, 2, 8)
    """
    if isinstance(inspect.unwrap(effect, stop=lambda inner: isinstance(inner, Batched)), Batched):
        raise TypeError(
            "a merged batch belongs to many callers, so it is metered below the merging: "
            "write batched(metered(engine)), not metered(batched(engine))"
        )
    meter = Meter()
    in_flight, since = 0, 0.0

    def change(by: int) -> None:
        nonlocal in_flight, since
        with COUNTING:
            now = clock()
            if in_flight:
                meter.seconds += now - since
            in_flight, since = in_flight + by, now
            meter.calls += by > 0

    @functools.wraps(effect, updated=())
    async def counted(*args: P.args, **kwargs: P.kwargs) -> list[R]:
        around = METERS.get()
        # A meter met again further in, as by an effect that calls itself, still counts a token once.
        outside = METERS.set(around if meter in around else (*around, meter))
        change(+1)
        try:
            results = await effect(*args, **kwargs)
        finally:
            change(-1)
            METERS.reset(outside)
        with COUNTING:
            meter.items += sum(len(r) if isinstance(r, list) else 1 for r in results)
        return results

    return counted, meter
