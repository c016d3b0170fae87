import asyncio
from dataclasses import astuple

import pytest

from prmkit.effects import batched, limited, metered, spend
from prmkit.testing import ScriptedPolicy
from prmkit.types import Problem, Trajectory


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


async def lengths(words):
    spend(prompt_tokens=sum(map(len, words)), generated_tokens=len(words))
    return [len(word) for word in words]


def test_a_meter_counts_calls_results_and_tokens(run):
    effect, meter = metered(lengths, clock=Clock())
    assert run(effect(["a", "bb"])) == [1, 2]
    assert run(effect(["ccc"])) == [3]
    assert astuple(meter) == (2, 3, 6, 3, 0.0)


def test_the_items_of_a_policy_are_its_continuations(run):
    policy, meter = metered(ScriptedPolicy(lambda problem: ["a", "b"]))
    run(policy([Trajectory(Problem("x")), Trajectory(Problem("y"))], 3, until="end"))
    assert (meter.calls, meter.items) == (1, 6)


def test_nested_meters_both_count(run):
    inner, inside = metered(lengths)
    outer, outside = metered(inner)
    run(outer(["ab"]))
    run(inner(["abc"]))
    assert (outside.prompt_tokens, inside.prompt_tokens) == (2, 5)


def test_tokens_are_seen_from_threads_and_tasks_made_inside(run):
    async def engine(items):
        await asyncio.to_thread(spend, prompt_tokens=1)
        await asyncio.gather(*(asyncio.create_task(lengths(["four"])) for _ in range(2)))
        return items

    effect, meter = metered(engine)
    run(effect([0]))
    assert (meter.prompt_tokens, meter.generated_tokens) == (9, 2)


def test_calls_side_by_side_do_not_mix_their_meters(run):
    async def slow(words):
        await asyncio.sleep(0)
        return await lengths(words)

    (one, first), (two, second) = metered(slow), metered(slow)

    async def both():
        await asyncio.gather(one(["a"]), two(["bbb"]))

    run(both())
    assert (first.prompt_tokens, second.prompt_tokens) == (1, 3)


def test_nothing_is_counted_without_a_meter_or_after_its_call(run):
    effect, meter = metered(lengths)

    async def story():
        await effect(["a"])
        spend(prompt_tokens=100)

    run(story())
    assert meter.prompt_tokens == 1


def test_an_effect_that_calls_itself_through_its_meter_counts_each_token_once(run):
    async def countdown(items):
        spend(generated_tokens=1)
        if items[0] > 1:
            await effect([items[0] - 1])
        return items

    effect, meter = metered(countdown)
    run(effect([3]))
    assert (meter.calls, meter.generated_tokens) == (3, 3)


def test_seconds_count_overlapping_calls_once(run):
    clock = Clock()
    doors = {"first": asyncio.Event(), "second": asyncio.Event()}

    async def wait(names):
        await doors[names[0]].wait()
        return names

    effect, meter = metered(wait, clock=clock)

    async def story():
        first = asyncio.create_task(effect(["first"]))
        await asyncio.sleep(0)
        clock.now = 2.0  # the second call joins at 2
        second = asyncio.create_task(effect(["second"]))
        await asyncio.sleep(0)
        clock.now = 5.0  # the first ends at 5
        doors["first"].set()
        await first
        assert meter.seconds == 5.0
        clock.now = 6.0  # the second ends at 6
        doors["second"].set()
        await second
        clock.now = 10.0  # nothing ran from 6 to 10
        await effect(["second"])

    run(story())
    assert meter.seconds == 6.0


def test_a_failed_call_has_cost_what_it_cost(run):
    clock = Clock()

    async def broken(items):
        spend(prompt_tokens=7)
        clock.now += 1.5
        raise ConnectionError

    effect, meter = metered(broken, clock=clock)
    with pytest.raises(ConnectionError):
        run(effect([1]))
    assert astuple(meter) == (1, 0, 7, 0, 1.5)


@pytest.mark.parametrize("wrap", [batched, lambda engine: limited(batched(engine), 2)])
def test_a_merged_effect_cannot_be_metered_from_outside(wrap):
    with pytest.raises(TypeError, match=r"batched\(metered\(engine\)\)"):
        metered(wrap(lengths))
