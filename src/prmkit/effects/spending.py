"""Who pays: the meters that stand around the running call, and how an engine reports to them."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(eq=False)  # a meter is a place, not a value: two empty ones are not the same
class Meter:
    """What an effect has cost so far.

    calls             how often it was called, failures included
    items             results it returned; for a policy the continuations, prefixes × n
    prompt_tokens     read by the engines inside it, as they reported through `spend`
    generated_tokens  written by them
    seconds           wall time with at least one call under way, so calls side by side count once
    """

    calls: int = 0
    items: int = 0
    prompt_tokens: int = 0
    generated_tokens: int = 0
    seconds: float = 0.0


METERS: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())
COUNTING = threading.Lock()  # engines spend from worker threads, and += is two operations


def spend(*, prompt_tokens: int = 0, generated_tokens: int = 0) -> None:
    """Called by an engine: adds to every meter around the call, also from its tasks and `asyncio.to_thread`.

    A bare `loop.run_in_executor` loses the context and with it the meters.
    """
    with COUNTING:
        for meter in METERS.get():
            meter.prompt_tokens += prompt_tokens
            meter.generated_tokens += generated_tokens
