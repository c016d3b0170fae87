"""Results that were paid for once, kept on disk: a rerun pays only for what is missing.

A result is committed as soon as the engine returned it. Under `batched` that is after
every engine batch: `batched(cached_scorer(engine, ...))` loses one batch at most to kill -9.
Every result is returned as it reads back from its text, so a run and its rerun see the same.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import heapq
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from prmkit.effects.encoding import canonical, digest, grown, growth, read_scores
from prmkit.effects.shape import PerLoop, R, T, matched
from prmkit.effects.store import Store
from prmkit.errors import BadInput
from prmkit.types import Policy, Rater, Scorer, Trajectory, Until

Item = TypeVar("Item")
Pay = Callable[[list[int]], Awaitable[list[Any]]]  # JSON-able results for the items at these places
Flight = asyncio.Future[None]


class _Memory:
    """The store, and what is being paid for right now."""

    def __init__(self, path: str | Path) -> None:
        self._store = Store(path)
        self._flights: PerLoop[dict[bytes, Flight]] = PerLoop(dict)

    async def recall(self, keys: Sequence[bytes], pay: Pay) -> list[str]:
        """The text under each key; `pay` is asked for those that nobody has and nobody is fetching."""
        known: dict[bytes, str] = {}
        places = {key: place for place, key in enumerate(keys)}
        while missing := [key for key in places if key not in known]:
            flights = self._flights.get()
            elsewhere = {flights[key] for key in missing if key in flights}
            here = [key for key in missing if key not in flights]
            known |= self._store.find(here)
            if unpaid := [key for key in here if key not in known]:
                known |= await self._fetch(unpaid, [places[key] for key in unpaid], pay)
            if elsewhere:
                await _landed(elsewhere)
        return [known[key] for key in keys]

    async def _fetch(self, keys: list[bytes], places: list[int], pay: Pay) -> dict[bytes, str]:
        flights, flight = self._flights.get(), asyncio.get_running_loop().create_future()
        flights.update(dict.fromkeys(keys, flight))
        try:
            results = await pay(places)
            texts = {key: canonical(result) for key, result in zip(keys, results, strict=True)}
            self._store.keep(texts)
        except Exception as error:
            flight.set_exception(error)
            flight.exception()  # seen: perhaps nobody else waits
            raise
        except BaseException:
            flight.cancel()
            raise
        else:
            flight.set_result(None)
        finally:
            for key in keys:
                del flights[key]
        return texts

    def read(self, text: str, load: Callable[[Any], R]) -> R:
        try:
            return load(json.loads(text))
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            place = self._store.path
            raise BadInput(f"the cache {place} holds a text that cannot be read: {text[:80]!r}") from error


async def _landed(flights: set[Flight]) -> None:
    """Wait for others' calls. Their error is ours too; if they were cancelled we shall ask ourselves."""
    await asyncio.wait(flights)  # unlike awaiting a future, this leaves it alone when we are cancelled
    for flight in flights:
        if not flight.cancelled() and (error := flight.exception()):
            raise error


def cached(
    effect: Callable[[Sequence[Item]], Awaitable[list[R]]],
    path: str | Path,
    *,
    name: str,
    key: Callable[[Item], Any],
    dump: Callable[[R], Any],
    load: Callable[[Any], R],
) -> Callable[[Sequence[Item]], Awaitable[list[R]]]:
    """Keep the results of a deterministic effect in the file `path`, item by item.

    `name` says which effect this is (model, settings): another name never sees these results.
    `key` gives what identifies an item and `dump` a result, both as something JSON can hold;
    `load` inverts `dump`. The same item asked for several times at once is computed once.
    """
    memory = _Memory(path)

    @functools.wraps(effect, updated=())
    async def remembered(items: Sequence[Item], /) -> list[R]:
        async def pay(places: list[int]) -> list[Any]:
            results = await effect([items[place] for place in places])
            return [dump(result) for result in matched(results, len(places), effect)]

        keys = [digest([name, key(item)]) for item in items]
        return [memory.read(text, load) for text in await memory.recall(keys, pay)]

    return remembered


def cached_scorer(scorer: Scorer, path: str | Path, *, name: str) -> Scorer:
    """Keep in the file `path` what a scorer says of each trajectory; `name` says which scorer this is."""
    return cached(scorer, path, name=f"scorer {name}", key=_as_it_is, dump=_as_it_is, load=read_scores)


def cached_rater(rater: Rater, path: str | Path, *, name: str) -> Rater:
    """Keep in the file `path` what a rater says of each trajectory; `name` says which rater this is."""
    return cached(rater, path, name=f"rater {name}", key=_as_it_is, dump=float, load=float)


def _as_it_is(value: T) -> T:
    return value


class _Turns:
    """Which draw of a question comes next: 0, 1, 2, …; a draw that failed is offered again."""

    def __init__(self) -> None:
        self._next: dict[bytes, int] = {}
        self._returned: dict[bytes, list[int]] = {}

    def take(self, question: bytes) -> int:
        if returned := self._returned.get(question):
            return heapq.heappop(returned)
        turn = self._next.get(question, 0)
        self._next[question] = turn + 1
        return turn

    def give_back(self, question: bytes, turn: int) -> None:
        heapq.heappush(self._returned.setdefault(question, []), turn)


def cached_policy(policy: Policy, path: str | Path, *, name: str) -> Policy:
    """Keep the draws of a policy in the file `path`, to be replayed in the same order.

    A policy is random: asking for the same prefix, `n` and `until` twice gives two draws. So
    the k-th such question of this wrapper's life has its own key, and a rerun of the same
    program gets the same k-th draw. `name` says which policy this is (model, temperature, …).
    """
    memory, turns = _Memory(path), _Turns()

    @functools.wraps(policy, updated=())
    async def replayed(
        prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        async def pay(places: list[int]) -> list[Any]:
            asked = [prefixes[place] for place in places]
            rows = matched(await policy(asked, n, until=until), len(asked), policy)
            return [
                [growth(prefix, whole) for whole in matched(row, n, policy)]
                for prefix, row in zip(asked, rows, strict=True)
            ]

        questions = [digest([f"policy {name}", prefix, n, until]) for prefix in prefixes]
        drawn = [(question, turns.take(question)) for question in questions]
        keys = [hashlib.sha256(question + turn.to_bytes(8, "big")).digest() for question, turn in drawn]
        try:
            texts = await memory.recall(keys, pay)
        except BaseException:
            for question, turn in drawn:
                turns.give_back(question, turn)
            raise
        return [
            memory.read(text, functools.partial(_row, prefix))
            for prefix, text in zip(prefixes, texts, strict=True)
        ]

    return replayed


def _row(prefix: Trajectory, row: list[dict[str, Any]]) -> list[Trajectory]:
    return [grown(prefix, plain) for plain in row]
