"""Many small calls in, few large calls out."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections import deque
from collections.abc import Hashable
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple

from prmkit.effects.shape import Effect, P, PerLoop, R, matched
from prmkit.effects.spending import METERS, Meter
from prmkit.errors import BadInput

QUIET_TURNS = 3  # of the event loop without a new item: whoever was about to ask has asked


class _Kind(NamedTuple):
    """What calls must have in common to be merged."""

    meters: tuple[Meter, ...]  # so that every token is counted where it was asked for, and only there
    rest: tuple[Hashable, ...]
    options: tuple[tuple[str, Hashable], ...]


@dataclass
class _Call:
    items: list[Any]
    answer: asyncio.Future[list[Any]]
    taken: int = 0
    results: list[Any] = field(default_factory=list)

    def receive(self, results: list[Any]) -> None:
        self.results += results
        if len(self.results) == len(self.items) and not self.answer.done():
            self.answer.set_result(self.results)

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


Part = tuple[_Call, list[Any]]  # the items of a call that go into one batch


@dataclass
class _Lane:
    """The calls that wait in one event loop."""

    waiting: dict[_Kind, deque[_Call]] = field(default_factory=dict)
    added: int = 0  # items ever, to notice when no more come
    drain: asyncio.Task[None] | None = None

    def add(self, kind: _Kind, call: _Call) -> None:
        self.waiting.setdefault(kind, deque()).append(call)
        self.added += len(call.items)

    def take(self, limit: int) -> tuple[_Kind, list[Part]]:
        """Up to `limit` items of the kind that waits longest; what is left of it goes to the back."""
        kind = next(iter(self.waiting))
        calls = self.waiting.pop(kind)
        batch: list[Part] = []
        while calls and limit:
            call = calls[0]
            if not call.answer.done():  # else cancelled, or failed with an earlier part
                part = call.items[call.taken : call.taken + limit]
                call.taken += len(part)
                limit -= len(part)
                batch.append((call, part))
            if call.answer.done() or call.taken == len(call.items):
                calls.popleft()
        if calls:
            self.waiting[kind] = calls
        return kind, batch

    def abandon(self) -> None:
        for calls in self.waiting.values():
            for call in calls:
                call.answer.cancel()
        self.waiting.clear()


class Batched(Generic[P, R]):
    """An effect that merges the calls made to it side by side; made by `batched`."""

    def __init__(self, engine: Effect[P, R], limit: int = 256) -> None:
        if limit < 1:
            raise BadInput(f"a batch holds at least one item, not {limit}")
        functools.update_wrapper(self, engine, updated=())
        self.engine: Any = engine
        self.limit = limit
        self._signature = inspect.signature(engine)
        self._lanes = PerLoop(_Lane)

    async def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()  # policy(ts) and policy(ts, 1, until="step") ask the same
        items, *rest = bound.args
        if not items:
            return []
        loop, lane = asyncio.get_running_loop(), self._lanes.get()
        call = _Call(list(items), loop.create_future())
        lane.add(_Kind(METERS.get(), tuple(rest), tuple(sorted(bound.kwargs.items()))), call)
        if lane.drain is None:
            # In a fresh context: the caller who happens to come first lends nothing to the others.
            lane.drain = loop.create_task(self._drain(lane), context=Context())
        return await call.answer

    async def _drain(self, lane: _Lane) -> None:
        try:
            while lane.waiting:
                await _settle(lane, self.limit)
                kind, batch = lane.take(self.limit)
                if batch:
                    await self._serve(kind, batch)
        finally:
            lane.drain = None
            lane.abandon()  # nobody waits here unless the loop is being shut down

    async def _serve(self, kind: _Kind, batch: list[Part]) -> None:
        items = [item for _, part in batch for item in part]
        METERS.set(kind.meters)
        try:
            results = await self.engine(items, *kind.rest, **dict(kind.options))
            answers = iter(matched(results, len(items), self.engine))
        except asyncio.CancelledError:
            for call, _ in batch:
                call.answer.cancel()
            task = asyncio.current_task()
            if task is not None and task.cancelling():  # else it was the engine that gave up
                raise
        except Exception as error:  # noqa: BLE001 - whatever the engine raised belongs to its callers
            for call, _ in batch:
                call.fail(error)
        else:
            for call, part in batch:
                call.receive([next(answers) for _ in part])


async def _settle(lane: _Lane, limit: int) -> None:
    """Let the searches that the last batch woke take the few turns they need to ask again."""
    enough, quiet = lane.added + limit, 0
    while quiet < QUIET_TURNS and lane.added < enough:
        before = lane.added
        await asyncio.sleep(0)
        quiet = 0 if lane.added > before else quiet + 1


def batched(effect: Effect[P, R], limit: int = 256) -> Effect[P, R]:
    """Merge concurrent calls into engine calls of at most `limit` items, one engine call at a time.

    Searches are written for one problem and run side by side; an engine wants one large
    batch. This stands between them. Only calls with equal further arguments are merged (for
    a policy: equal `n` and `until`), and only under the same meters. An engine's error
    reaches the callers of that batch and no others; a caller may be cancelled alone.
    """
    return Batched(effect, limit)
