import asyncio
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter

import pytest

from prmkit.effects import batched, cached, cached_policy, cached_rater, cached_scorer, metered, retried
from prmkit.errors import BadInput
from prmkit.testing import ScriptedPolicy, check_policy, check_scorer
from prmkit.types import Problem, Scores, Step, Trajectory


class Paid:
    """Doubles numbers and remembers for what it was paid."""

    def __init__(self):
        self.items = []

    async def __call__(self, items):
        self.items += items
        await asyncio.sleep(0)
        return [2.0 * item for item in items]


def remembered(engine, path, name="doubler"):
    return cached(engine, path, name=name, key=int, dump=float, load=float)


def solution(*texts):
    return Trajectory(Problem("x"), tuple(map(Step, texts)), "done")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "cache.db"


def test_a_rerun_pays_only_for_what_is_missing(run, path):
    first, second = Paid(), Paid()
    assert run(remembered(first, path)([1, 2])) == [2.0, 4.0]
    assert run(remembered(second, path)([3, 2, 1, 4])) == [6.0, 4.0, 2.0, 8.0]
    assert second.items == [3, 4]


def test_the_same_item_twice_in_a_call_is_paid_once(run, path):
    engine = Paid()
    assert run(remembered(engine, path)([1, 2, 1])) == [2.0, 4.0, 2.0]
    assert sorted(engine.items) == [1, 2]


def test_another_name_never_sees_these_results(run, path):
    engine = Paid()
    run(remembered(engine, path, "one")([1]))
    run(remembered(engine, path, "two")([1]))
    assert engine.items == [1, 1]


def test_more_items_than_one_query_holds_are_found(run, path):
    many = list(range(2000))
    run(remembered(Paid(), path)(many))
    engine = Paid()
    assert run(remembered(engine, path)([*many, 2000]))[-1] == 4000.0
    assert engine.items == [2000]


def test_identical_items_in_flight_are_computed_once(run, path):
    engine = Paid()
    effect = remembered(engine, path)

    async def story():
        return await asyncio.gather(effect([1, 2]), effect([2, 3]), effect([3, 1]))

    assert run(story()) == [[2.0, 4.0], [4.0, 6.0], [6.0, 2.0]]
    assert Counter(engine.items) == Counter([1, 2, 3])


def test_who_waits_for_a_cancelled_call_asks_himself(run, path):
    asked = []
    door = asyncio.Event()

    async def engine(items):
        asked.append(items)
        await door.wait()
        return items

    effect = remembered(engine, path)

    async def story():
        gone, stays = asyncio.create_task(effect([1])), asyncio.create_task(effect([1]))
        await asyncio.sleep(0.01)
        gone.cancel()
        door.set()
        return await stays

    assert run(story()) == [1.0]
    assert asked == [[1], [1]]


def test_cancelling_who_waits_does_not_hurt_who_pays(run, path):
    door = asyncio.Event()

    async def engine(items):
        await door.wait()
        return items

    effect = remembered(engine, path)

    async def story():
        stays, gone = asyncio.create_task(effect([1])), asyncio.create_task(effect([1]))
        await asyncio.sleep(0.01)
        gone.cancel()
        door.set()
        return await stays

    assert run(story()) == [1.0]


def test_an_error_is_shared_by_who_waited_and_is_not_kept(run, path):
    calls = 0

    async def engine(items):
        nonlocal calls
        calls += 1
        await asyncio.sleep(0)
        if calls == 1:
            raise ConnectionError
        return items

    effect = remembered(engine, path)

    async def story():
        return await asyncio.gather(effect([1]), effect([1]), return_exceptions=True)

    assert [type(error) for error in run(story())] == [ConnectionError, ConnectionError]
    assert run(effect([1])) == [1.0]


def test_a_wrong_number_of_results_is_an_error_and_nothing_is_kept(run, path):
    async def forgetful(items):
        return items[1:]

    with pytest.raises(BadInput, match="given 2 and returned 1"):
        run(remembered(forgetful, path)([1, 2]))
    engine = Paid()
    run(remembered(engine, path)([1, 2]))
    assert engine.items == [1, 2]


def test_a_scorer_reads_back_exactly_what_it_said(run, path):
    said = Scores((0.1, 1 / 3), "correctness", {"rollouts": (8.0, 8.0)}, ((0.1,), ()), ("a", "б"), "judge")
    score, meter = metered(lambda ts: scripted(ts))

    async def scripted(trajectories):
        return [said for _ in trajectories]

    assert run(cached_scorer(score, path, name="judge")([solution("a", "b")])) == [said]
    assert run(cached_scorer(score, path, name="judge")([solution("a", "b")])) == [said]
    assert meter.calls == 1


def test_a_run_and_its_rerun_see_the_same_even_where_a_scorer_is_careless(run, path):
    async def careless(trajectories):
        return [Scores([0.5]) for _ in trajectories]

    first, again = (run(cached_scorer(careless, path, name="x")([solution("a")])) for _ in range(2))
    assert first == again == [Scores((0.5,))]


def test_a_rater_and_a_scorer_of_one_name_do_not_mix(run, path):
    async def rate(trajectories):
        return [float(len(t.steps)) for t in trajectories]

    async def score(trajectories):
        return [Scores((0.5,) * len(t.actions)) for t in trajectories]

    ts = [solution("a"), solution("a", "b")]
    assert run(cached_rater(rate, path, name="x")(ts)) == [1.0, 2.0]
    run(check_scorer(cached_scorer(score, path, name="x"), ts, repeatable=True))
    assert run(cached_rater(rate, path, name="x")(ts)) == [1.0, 2.0]


def dice(seed, fail_first=0):
    """A policy whose every draw is another; it counts the prefixes it was asked for."""
    rng = random.Random(seed)

    async def roll(prefixes, n=1, /, *, until="step"):
        roll.paid += len(prefixes)
        if roll.paid <= fail_first:
            raise ConnectionError
        return [[t.then(Step(f"{rng.random()}"), "done") for _ in range(n)] for t in prefixes]

    roll.paid = 0
    return roll


START = Trajectory(Problem("x"))


def test_the_same_prefix_is_drawn_anew_within_a_run_and_replayed_by_a_rerun(run, path):
    async def program(policy):
        first = await policy([START, START], 2)
        second = await policy([START], 2)
        third = await policy([START], 2, until="end")
        return [t.text for row in (*first, *second, *third) for t in row]

    drawn = run(program(cached_policy(dice(1), path, name="dice")))
    assert len(set(drawn)) == 8
    other = dice(2)
    assert run(program(cached_policy(other, path, name="dice"))) == drawn
    assert other.paid == 0


def test_a_longer_rerun_pays_only_for_the_draws_that_are_new(run, path):
    async def program(policy, draws):
        return [(await policy([START]))[0][0].text for _ in range(draws)]

    drawn = run(program(cached_policy(dice(1), path, name="dice"), 2))
    engine = dice(2)
    longer = run(program(cached_policy(engine, path, name="dice"), 5))
    assert longer[:2] == drawn
    assert engine.paid == 3


def test_a_draw_that_failed_is_the_next_one_again(run, path):
    async def no_wait(seconds):
        pass

    engine = dice(1, fail_first=1)
    drawn = run(retried(cached_policy(engine, path, name="dice"), sleep=no_wait)([START]))
    assert engine.paid == 2
    other = dice(2)
    assert run(cached_policy(other, path, name="dice")([START])) == drawn
    assert other.paid == 0


def test_a_policy_that_returns_too_few_continuations_is_not_kept(run, path):
    async def meagre(prefixes, n=1, /, *, until="step"):
        return [[t.then(Step("a"))] for t in prefixes]

    with pytest.raises(BadInput, match="given 2 and returned 1"):
        run(cached_policy(meagre, path, name="meagre")([START], 2))


def test_a_cached_policy_is_a_policy_also_when_merged(run, path):
    scripted = ScriptedPolicy(lambda problem: ["one ", "two ", "three"], tokens=True)
    for _ in range(2):
        policy = batched(cached_policy(scripted, path, name="scripted"))
        run(check_policy(policy, [Problem("x"), Problem("y", data={"image": b"\x00"})]))


def test_two_wrappers_share_one_file(run, path):
    one, two = Paid(), Paid()
    first, second = remembered(one, path), remembered(two, path)
    run(first([1]))
    run(second([1, 2]))
    run(first([2, 3]))
    assert (one.items, two.items) == ([1, 3], [2])


PROGRAM = """
    import asyncio, sys, time
    from prmkit.effects import cached

    path, log, size, hang_after = sys.argv[1], open(sys.argv[2], "a"), int(sys.argv[3]), int(sys.argv[4])

    async def engine(items):
        for item in items:
            log.write(f"{item}\\n")
        log.flush()
        if items[-1] >= hang_after:
            time.sleep(600)
        return [2.0 * item for item in items]

    async def main():
        effect = cached(engine, path, name="doubler", key=int, dump=float, load=float)
        for start in range(0, 300, size):
            await effect(list(range(start, start + size)))

    asyncio.run(main())
"""


@pytest.mark.parametrize(("size", "hang_after"), [(1, 100), (30, 149), (300, 299)])
def test_after_kill_9_a_rerun_pays_only_for_the_batch_that_was_lost(run, tmp_path, size, hang_after):
    program, path, log = tmp_path / "program.py", tmp_path / "cache.db", tmp_path / "paid.log"
    program.write_text(textwrap.dedent(PROGRAM))
    log.touch()
    command = [sys.executable, str(program), str(path), str(log), str(size)]
    with subprocess.Popen([*command, str(hang_after)]) as process:
        while str(hang_after) not in log.read_text().splitlines():
            assert process.poll() is None
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL

    subprocess.run([*command, "1000"], check=True)
    paid = Counter(map(int, log.read_text().split()))
    lost = range(hang_after + 1 - size, hang_after + 1)
    assert paid == Counter(range(300)) + Counter(lost)
    engine = Paid()
    assert run(remembered(engine, path)(range(300))) == [2.0 * i for i in range(300)]
    assert engine.items == []


def damage_header(path):
    path.write_bytes(b"this was never a database" * 100)


def damage_pages(path):
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def cut_short(path):
    path.write_bytes(path.read_bytes()[:5000])


def of_another_program(path):
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()


def of_the_future(path):
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()


def with_a_broken_text(path):
    with sqlite3.connect(path) as db:
        db.execute("UPDATE results SET text = '{'")
    db.close()


@pytest.mark.parametrize(
    ("harm", "says"),
    [
        (damage_header, "damaged"),
        (damage_pages, "damaged"),
        (cut_short, "damaged"),
        (of_another_program, "another program"),
        (of_the_future, "schema 99"),
        (with_a_broken_text, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_named_not_ignored(run, path, harm, says):
    many = list(range(500))
    effect = remembered(Paid(), path)
    run(effect(many))
    del effect  # the last user of the file closes it
    harm(path)
    with pytest.raises(BadInput, match=says) as caught:
        run(remembered(Paid(), path)(many))
    assert str(path) in str(caught.value)


def test_a_place_where_no_file_can_be_is_named(tmp_path):
    (tmp_path / "file").touch()
    for place in (tmp_path, tmp_path / "file" / "cache.db"):
        with pytest.raises(BadInput, match=str(place)):
            remembered(Paid(), place)
