import asyncio
import random
from collections import Counter
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.effects import batched
from prmkit.maths import aggregate as agg
from prmkit.scorers.combine import by_steps
from prmkit.search import frontier, tree
from prmkit.types import Candidate, Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

SEARCHES = {
    "best of n": frontier.best_of_n(8),
    "beam": frontier.beam(2, 4),
    "diverse trees": frontier.diverse_trees(2, 4),
    "particles": frontier.particles(8),
    "mcts": tree.mcts(24, 4),
}
GUIDED = [name for name in SEARCHES if name != "best of n"]


def candidates(*values, roots=None, stop="open"):
    roots = roots or [0] * len(values)
    steps = [Trajectory(PROBLEM, (Step(str(i)),), stop) for i in range(len(values))]
    return [Candidate(t, v, root) for t, v, root in zip(steps, values, roots, strict=True)]


def names(kept):
    return [c.trajectory.text for c in kept]


def success(search, length=6, p=0.6, trials=300):
    async def one(seed):
        world = Exact(length, p, seed)
        found = await search(PROBLEM, world.policy, by_steps(world.oracle, agg.last))
        return (await world.verify([agg.best(found).trajectory]))[0]

    async def every():
        return [await one(seed) for seed in range(trials)]

    return mean(asyncio.run(every()))


def test_best_of_n_succeeds_as_often_as_it_must():
    assert success(frontier.best_of_n(8)) == pytest.approx(1 - (1 - 0.6**6) ** 8, abs=0.08)


@pytest.mark.parametrize("name", GUIDED)
def test_guided_search_beats_best_of_n_under_an_oracle(name):
    # 16 whole solutions, at least as many steps as any of the searches takes, succeed with 0.53
    assert success(SEARCHES[name], trials=150) > 0.85


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_reproducible(name, run):
    def found():
        world = Exact(seed=1)
        return run(SEARCHES[name](PROBLEM, world.policy, by_steps(world.oracle, agg.last)))

    assert found() == found()


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_always_finds_something(name, run, script):
    endless = script(10**6, lambda text: 0.0)

    async def never_ends(prefixes, n=1, /, *, until="step"):
        return await endless.policy(prefixes, n, until="step")

    assert run(SEARCHES[name](PROBLEM, never_ends, endless.rate))


def test_beam_search_keeps_the_best_children_of_all(run, script):
    values = {"a": 0.2, "b": 0.9, "aa": 0.1, "ab": 0.3, "ba": 0.8, "bb": 0.7}
    s = script(2, values.__getitem__)
    found = run(frontier.beam(2, 2)(PROBLEM, s.policy, s.rate))
    # the first round writes a b a b; both b go on, and each of them writes ba and bb
    assert [(c.trajectory.text, c.value) for c in found] == [("ba", 0.8), ("ba", 0.8)]
    assert s.calls == [([""], 4, "step"), (["b", "b"], 2, "step")]


def test_diverse_trees_keep_one_candidate_for_each_root(run, script):
    s = script(3, lambda text: text.count("b") / 3)
    found = run(frontier.diverse_trees(3, 2)(PROBLEM, s.policy, s.rate))
    assert [(c.trajectory.text, c.root) for c in found] == [("bbb", 0), ("bbb", 1), ("bbb", 2)]


def test_best_of_n_reads_the_prompt_once(run, script):
    s = script(3, lambda text: 0.5)
    found = run(frontier.best_of_n(5)(PROBLEM, s.policy, s.rate))
    assert s.calls == [([""], 5, "end")]
    assert [c.root for c in found] == [0, 1, 2, 3, 4]
    assert names(found) == ["aaa", "bbb", "aaa", "bbb", "aaa"]


def test_a_search_that_runs_out_of_steps_returns_its_open_candidates(run):
    world = Exact(length=6)
    found = run(frontier.beam(3, 2, max_steps=2)(PROBLEM, world.policy, by_steps(world.oracle, agg.last)))
    assert len(found) == 3
    assert all(len(c.trajectory.actions) == 2 and not c.trajectory.closed for c in found)


def test_finished_candidates_stay_and_are_not_asked_about_again(run):
    asked = []

    async def policy(prefixes, n=1, /, *, until="step"):
        asked.append([t.text for t in prefixes])
        return [
            [t.then(Step("x"), "done") if k == 0 or t.steps else t.then(Step("y")) for k in range(n)]
            for t in prefixes
        ]

    async def rate(ts, /):
        return [{"x": 0.9, "y": 0.8, "yx": 0.1}[t.text] for t in ts]

    found = run(frontier.beam(2, 1)(PROBLEM, policy, rate))
    assert asked == [[""], ["y"]]
    assert [(c.trajectory.text, c.value) for c in found] == [("x", 0.9), ("yx", 0.1)]


def test_finished_work_goes_before_new_work_that_rates_the_same(run):
    async def policy(prefixes, n=1, /, *, until="step"):
        return [
            [t.then(Step("xy"[k]), "done" if t.steps or k else "open") for k in range(n)] for t in prefixes
        ]

    async def rate(ts, /):
        return [0.5 for _ in ts]

    keep_three = frontier.grow(PROBLEM, policy, rate, roots=1, branch=2, keep=frontier.top(3))
    assert names(run(keep_three)) == ["y", "xx", "xy"]


def test_a_keep_that_drops_everyone_leaves_the_best(run, script):
    s = script(2, lambda text: text.count("b") / 2)
    grown = frontier.grow(PROBLEM, s.policy, s.rate, roots=1, branch=2, keep=lambda cs, rng: [])
    assert names(run(grown)) == ["bb"]


@pytest.mark.parametrize("sizes", [(0, 4), (4, 0)])
def test_a_search_of_nothing_is_refused(sizes, run, script):
    s = script(2, lambda text: 0.0)
    with pytest.raises(ValueError, match="nothing to grow"):
        run(frontier.beam(*sizes)(PROBLEM, s.policy, s.rate))


def test_of_equal_candidates_the_first_stays():
    rng = random.Random(0)
    assert names(frontier.top(2)(candidates(0.5, 0.7, 0.5, 0.7), rng)) == ["1", "3"]
    assert names(frontier.top(3)(candidates(0.5, 0.7, 0.5, 0.7), rng)) == ["1", "3", "0"]
    assert names(frontier.top_per_root(candidates(0.5, 0.5, 0.1, 0.4, roots=[1, 1, 0, 0]), rng)) == ["3", "0"]


def test_a_threshold_drops_the_bad_and_falls_back_when_all_are():
    keep, rng = frontier.above(0.5, frontier.top(1)), random.Random(0)
    assert names(keep(candidates(0.2, 0.6, 0.5), rng)) == ["1", "2"]
    assert names(keep(candidates(0.2, 0.4, 0.1), rng)) == ["1"]


def test_particles_are_drawn_by_their_odds():
    kept = frontier.resample(8000)(candidates(0.5, 0.75, 0.9), random.Random(0))
    share = Counter(names(kept))
    assert [share[k] / 8000 for k in "012"] == pytest.approx([1 / 13, 3 / 13, 9 / 13], abs=0.02)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(1e-4, 100))
def test_odds_are_finite_and_the_best_weighs_one(values, temperature):
    weights = frontier.odds(values, temperature)
    assert max(weights) == 1.0
    assert all(0 <= w <= 1 for w in weights)
    assert weights[values.index(max(values))] == 1.0


@pytest.mark.parametrize("name", ["beam", "mcts"])
def test_fifty_searches_share_engine_calls(name, run):
    world = Exact(length=6)
    sizes = {"together": [], "alone": []}

    def counted(kind):
        async def score(ts, /):
            sizes[kind].append(len(ts))
            return await world.oracle(ts)

        return score

    shared = by_steps(batched(counted("together"), limit=1024), agg.last)

    async def many():
        return await asyncio.gather(*(SEARCHES[name](PROBLEM, world.policy, shared) for _ in range(50)))

    assert all(run(many()))
    run(SEARCHES[name](PROBLEM, world.policy, by_steps(counted("alone"), agg.last)))
    assert len(sizes["together"]) <= 2 * len(sizes["alone"])
