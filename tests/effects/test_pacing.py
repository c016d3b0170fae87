import asyncio
import random

import pytest

from prmkit.effects import limited, retried
from prmkit.errors import BadInput


class BusyError(Exception):
    def __init__(self, retry_after=None):
        super().__init__("busy")
        self.retry_after = retry_after


class Flaky:
    """Raises these errors one after the other, then answers."""

    def __init__(self, *errors):
        self.errors, self.calls = list(errors), 0

    async def __call__(self, items):
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return items


class Naps:
    def __init__(self):
        self.taken = []

    async def __call__(self, seconds):
        self.taken.append(seconds)


def test_at_most_so_many_calls_are_under_way(run):
    under_way, most = 0, 0

    async def engine(items):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return items

    effect = limited(engine, 2)

    async def story():
        return await asyncio.gather(*(effect([i]) for i in range(7)))

    assert run(story()) == [[i] for i in range(7)]
    assert most == 2
    assert run(story()) == [[i] for i in range(7)]  # in a second event loop


def test_a_call_that_failed_makes_room(run):
    effect = limited(Flaky(BusyError()), 1)

    async def story():
        return await asyncio.gather(effect([1]), effect([2]), return_exceptions=True)

    first, second = run(story())
    assert isinstance(first, BusyError)
    assert second == [2]


def test_a_call_is_made_again_until_it_succeeds(run):
    engine = Flaky(BusyError(), BusyError())
    assert run(retried(engine, on=(BusyError,), sleep=Naps())([1])) == [1]
    assert engine.calls == 3


def test_waits_double_up_to_the_longest_and_lie_between_half_and_all_of_it(run):
    naps = Naps()
    run(
        retried(Flaky(*(BusyError() for _ in range(4))), on=(BusyError,), base=1.0, longest=3.0, sleep=naps)(
            [1]
        )
    )
    for nap, full in zip(naps.taken, [1.0, 2.0, 3.0, 3.0], strict=True):
        assert full / 2 <= nap <= full


def test_the_same_seed_waits_the_same(run):
    def waits(seed):
        naps = Naps()
        run(
            retried(Flaky(BusyError(), BusyError()), on=(BusyError,), sleep=naps, rng=random.Random(seed))(
                [1]
            )
        )
        return naps.taken

    assert waits(1) == waits(1) != waits(2)


def test_a_server_that_says_when_to_come_back_is_obeyed(run):
    naps = Naps()
    run(retried(Flaky(BusyError(retry_after=90), BusyError(retry_after=0)), on=(BusyError,), sleep=naps)([1]))
    assert naps.taken[0] == 90.0
    assert naps.taken[1] > 0


def test_the_last_error_propagates_with_a_note_of_how_often_it_was_tried(run):
    errors = [BusyError() for _ in range(3)]
    with pytest.raises(BusyError) as caught:
        run(retried(Flaky(*errors), attempts=3, on=(BusyError,), sleep=Naps())([1]))
    assert caught.value is errors[-1]
    assert caught.value.__notes__ == ["gave up after 3 attempts"]


def test_an_error_of_another_kind_is_not_tried_again(run):
    engine = Flaky(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        run(retried(engine, sleep=Naps())([1]))
    assert engine.calls == 1


def test_numbers_that_let_nothing_through_are_refused():
    with pytest.raises(BadInput):
        limited(Flaky(), 0)
    with pytest.raises(BadInput):
        retried(Flaky(), attempts=0)
