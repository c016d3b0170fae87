import asyncio
import gc
from contextvars import ContextVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.effects import batched, metered, spend
from prmkit.errors import BadInput
from prmkit.testing import ScriptedPolicy, check_policy
from prmkit.types import Problem, Trajectory


class Doubler:
    """Doubles numbers, remembers its batches, and fails on a batch that holds a poisoned number."""

    def __init__(self, poison=None):
        self.poison, self.batches = poison, []

    async def __call__(self, items):
        self.batches.append(list(items))
        await asyncio.sleep(0)
        if self.poison in items:
            raise ConnectionError("poisoned")
        return [2 * item for item in items]


async def together(*calls, **options):
    return await asyncio.gather(*calls, **options)


def test_concurrent_calls_become_one_engine_call(run):
    engine = Doubler()
    effect = batched(engine)

    async def story():
        return await together(effect([1, 2]), effect([3]), effect([4]))

    assert run(story()) == [[2, 4], [6], [8]]
    assert engine.batches == [[1, 2, 3, 4]]


def test_no_batch_is_larger_than_the_limit_and_a_large_call_is_split(run):
    engine = Doubler()
    effect = batched(engine, limit=2)

    async def story():
        return await together(effect([1, 2, 3]), effect([4, 5]))

    assert run(story()) == [[2, 4, 6], [8, 10]]
    assert engine.batches == [[1, 2], [3, 4], [5]]


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=8), st.integers(1, 6))
def test_every_caller_gets_its_own_results_in_order(calls, limit):
    effect = batched(Doubler(), limit=limit)

    async def story():
        return await together(*(effect(call) for call in calls))

    assert asyncio.run(story()) == [[2 * item for item in call] for call in calls]


def test_searches_that_need_some_turns_between_their_calls_stay_in_step(run):
    engine = Doubler()
    effect = batched(engine)

    async def search(hops):
        for _ in range(3):
            await effect([hops])
            for _ in range(hops):
                await asyncio.sleep(0)

    async def story():
        await together(search(0), search(2))

    run(story())
    assert [len(batch) for batch in engine.batches] == [2, 2, 2]


def test_an_empty_call_does_not_reach_the_engine(run):
    engine = Doubler()
    assert run(batched(engine)([])) == []
    assert engine.batches == []


def test_policy_calls_are_merged_when_n_and_until_agree(run):
    asked = []
    scripted = ScriptedPolicy(lambda problem: ["a", "b", "c"])

    async def engine(prefixes, n=1, /, *, until="step"):
        asked.append((len(prefixes), n, until))
        return await scripted(prefixes, n, until=until)

    policy = batched(engine)
    start = Trajectory(Problem("x"))

    async def story():
        return await together(
            policy([start]),
            policy([start], 2, until="end"),
            policy([start], 1, until="step"),
            policy([start], 2, until="step"),
        )

    rows = run(story())
    assert asked == [(2, 1, "step"), (1, 2, "end"), (1, 2, "step")]
    assert [[t.text for t in row] for [row] in rows] == [["a"], ["abc", "abc"], ["a"], ["a", "a"]]


def test_a_batched_policy_is_a_policy(run):
    run(check_policy(batched(ScriptedPolicy(lambda problem: ["one", "two"], tokens=True)), [Problem("x")]))


def test_an_engine_error_reaches_the_callers_of_that_batch_and_only_those(run):
    effect = batched(Doubler(poison=2), limit=2)

    async def story():
        return await together(effect([1]), effect([2]), effect([3]), return_exceptions=True)

    first, second, third = run(story())
    assert isinstance(first, ConnectionError)
    assert first is second
    assert third == [6]


def test_items_of_a_call_that_already_failed_are_not_computed(run):
    engine = Doubler(poison=1)
    effect = batched(engine, limit=1)

    async def story():
        return await together(effect([1, 2, 3]), effect([4]), return_exceptions=True)

    assert run(story())[1] == [8]
    assert engine.batches == [[1], [4]]


@pytest.mark.parametrize("started", [False, True])
def test_cancelling_one_caller_does_not_hurt_the_others(run, started):
    door = asyncio.Event()
    seen = []

    async def engine(items):
        seen.append(list(items))
        await door.wait()
        return items

    effect = batched(engine)

    async def story():
        gone, stays = asyncio.create_task(effect([1])), asyncio.create_task(effect([2]))
        await asyncio.sleep(0)
        while started and not seen:
            await asyncio.sleep(0)
        gone.cancel()
        door.set()
        results = await together(gone, stays, return_exceptions=True)
        return results, await effect([3])

    (gone, stays), later = run(story())
    assert isinstance(gone, asyncio.CancelledError)
    assert (stays, later) == ([2], [3])
    assert seen[0] == ([1, 2] if started else [2])


def test_an_engine_that_cancels_itself_leaves_nobody_hanging(run):
    async def engine(items):
        if 1 in items:
            raise asyncio.CancelledError
        return items

    effect = batched(engine, limit=1)

    async def story():
        return await together(effect([1]), effect([2]), return_exceptions=True)

    first, second = run(story())
    assert isinstance(first, asyncio.CancelledError)
    assert second == [2]


def test_a_wrong_number_of_results_is_an_error_that_says_so(run):
    async def forgetful(items):
        return items[1:]

    with pytest.raises(BadInput, match=r"forgetful was given 3 and returned 2"):
        run(batched(forgetful)([1, 2, 3]))


def test_a_batch_holds_at_least_one_item():
    with pytest.raises(BadInput, match="at least one"):
        batched(Doubler(), limit=0)


def test_one_wrapped_effect_serves_several_event_loops(run):
    effect = batched(Doubler())
    assert [run(effect([i])) for i in range(3)] == [[0], [2], [4]]


def test_a_loop_that_died_in_the_middle_leaves_nothing_behind(run):
    stuck = True

    async def engine(items):
        if stuck:
            await asyncio.Event().wait()
        return items

    effect = batched(engine)

    async def impatient():
        await asyncio.wait_for(together(effect([1]), effect([2])), timeout=0.01)

    with pytest.raises(TimeoutError):
        run(impatient())
    stuck = False
    assert run(effect([3])) == [3]
    gc.collect()


async def spender(items):
    spend(prompt_tokens=len(items))
    return items


def test_the_meter_below_counts_merged_calls_once(run):
    engine, meter = metered(spender)
    effect = batched(engine)

    async def story():
        await together(effect([1]), effect([2, 3]))

    run(story())
    assert (meter.calls, meter.items, meter.prompt_tokens) == (1, 3, 3)


def test_a_meter_around_the_caller_counts_its_own_tokens_and_no_others(run):
    effect = batched(spender)

    async def search(items):
        return await effect(items)

    (one, first), (two, second) = metered(search), metered(search)

    async def story():
        await together(one([1]), effect([0] * 50), two([2, 3]), one([4]))

    run(story())
    assert (first.prompt_tokens, second.prompt_tokens) == (2, 2)


def test_the_engine_sees_nothing_of_the_caller_who_came_first(run):
    who = ContextVar("who", default="nobody")

    async def engine(items):
        return [who.get() for _ in items]

    effect = batched(engine)

    async def call(name):
        who.set(name)
        return await effect([1])

    async def story():
        return await together(call("first"), call("second"))

    assert run(story()) == [["nobody"], ["nobody"]]
