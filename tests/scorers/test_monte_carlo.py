import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prmkit.effects import batched
from prmkit.maths import labels
from prmkit.scorers.combine import by_prefix
from prmkit.scorers.monte_carlo import bisect, monte_carlo, play_on
from prmkit.types import Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

NAMES = {"r": "right", "w": "wrong", "m": "mend"}


def make(letters, stop="done"):
    return Trajectory(PROBLEM, tuple(Step(NAMES[c]) for c in letters), stop)


def remembering(policy):
    """The policy, and the (prefixes, n) of every call to it."""
    calls = []

    async def asked(prefixes, n=1, /, *, until="step"):
        calls.append((len(prefixes), n))
        return await policy(prefixes, n, until=until)

    return asked, calls


def half_right(world_length):
    """A policy whose continuations are in turn all right and all wrong."""

    async def policy(prefixes, n=1, /, *, until="step"):
        return [
            [
                Trajectory(
                    t.problem,
                    (*t.steps, *[Step(("right", "wrong")[k % 2])] * (world_length - len(t.steps))),
                    "done",
                )
                for k in range(n)
            ]
            for t in prefixes
        ]

    return policy


def test_three_steps_worked_by_hand(run):
    world = Exact(length=3)
    (scores,) = run(monte_carlo(half_right(3), world.verify, rollouts=4)([make("rrw")]))
    assert scores.values == (0.5, 0.5, 0.0)
    assert scores.parts == {"successes": (2.0, 2.0, 0.0), "rollouts": (4.0, 4.0, 1.0)}
    assert scores.source == "monte_carlo:4"
    assert scores.kind == "value"


def test_a_closed_solution_needs_the_check_and_no_rollouts(run):
    world = Exact(length=3)
    policy, calls = remembering(world.policy)
    (scores,) = run(monte_carlo(policy, world.verify, rollouts=4)([make("r")]))
    assert (scores.values, scores.parts["rollouts"], calls) == ((1.0,), (1.0,), [])
    assert run(play_on(policy, world.verify, rollouts=4)([make("rw"), make("rr")])) == [0.0, 1.0]
    assert calls == []


def test_an_open_solution_is_played_on_from_its_last_step(run):
    world = Exact(length=3, p=1.0)
    (scores,) = run(monte_carlo(world.policy, world.verify, rollouts=4)([make("rr", "open")]))
    assert scores.parts == {"successes": (4.0, 4.0), "rollouts": (4.0, 4.0)}


def test_all_steps_of_all_solutions_are_one_call(run):
    world = Exact(length=3)
    policy, calls = remembering(world.policy)
    run(monte_carlo(policy, world.verify, rollouts=5)([make("rrr"), make("rw", "open"), make("rwr")]))
    assert calls == [(2 + 2 + 2, 5)]


def test_monte_carlo_is_playing_on_from_every_prefix(run, solutions):
    full = monte_carlo(Exact(seed=4).policy, Exact().verify, rollouts=6)
    parts = by_prefix(play_on(Exact(seed=4).policy, Exact().verify, rollouts=6))
    assert [s.values for s in run(full(solutions))] == [s.values for s in run(parts(solutions))]


@pytest.mark.parametrize("heal", [0.0, 0.4])
def test_monte_carlo_converges_to_the_known_value(run, heal):
    world = Exact(length=4, p=0.8, heal=heal)
    tried = [make("rrrr"), make("rwrr"), make("wrmr"), make("rr", "open")]
    for t, scores in zip(
        tried, run(monte_carlo(world.policy, world.verify, rollouts=3000)(tried)), strict=True
    ):
        assert scores.values == pytest.approx(world.truth(t).values, abs=0.03)


def test_the_values_follow_from_the_counts(run, solutions):
    world = Exact()
    for estimate, from_counts in [
        (labels.soft, labels.soft_from_counts),
        (labels.hard, labels.hard_from_counts),
    ]:
        scorer = monte_carlo(world.policy, world.verify, rollouts=3, estimate=estimate)
        for s in run(scorer(solutions)):
            counts = zip(s.parts["successes"], s.parts["rollouts"], strict=True)
            assert s.values == tuple(from_counts(*c) for c in counts)


def test_bisection_finds_the_planted_error_with_a_third_of_the_rollouts(run):
    planted = make("rrrrrwrrrrrrrrrr")
    world = Exact(length=16, p=0.98)
    (full,) = run(monte_carlo(world.policy, world.verify, rollouts=16, estimate=labels.hard)([planted]))
    (half,) = run(bisect(world.policy, world.verify, rollouts=16)([planted]))
    assert labels.first_error(full.values) == labels.first_error(half.values) == 5
    assert sum(half.parts["rollouts"]) <= sum(full.parts["rollouts"]) / 3
    assert half.source == "bisect:16"


def test_bisection_keeps_what_it_probed_and_infers_the_rest(run):
    world = Exact(length=4, p=1.0)
    (scores,) = run(bisect(world.policy, world.verify, rollouts=2)([make("rrwr")]))
    # the end is wrong: one check; then step 1 is good, step 2 is not; step 0 follows from step 1
    assert scores.values == (1.0, 1.0, 0.0, 0.0)
    assert scores.parts == {"successes": (0.0, 2.0, 0.0, 0.0), "rollouts": (0.0, 2.0, 2.0, 1.0)}


def test_bisection_checks_a_finished_solution_only_once(run):
    world, checked = Exact(length=4, p=1.0), []

    async def verify(ts, /):
        checked.extend(t.text for t in ts)
        return await world.verify(ts)

    (scores,) = run(bisect(world.policy, verify, rollouts=2)([make("rrrw")]))
    assert labels.first_error(scores.values) == 3
    assert (
        checked == [make("rrrw").text] + [make("rrrr").text] * 4
    )  # then two rollouts from each of two steps


def test_a_solution_that_ends_well_is_not_searched(run):
    world = Exact(length=4)
    policy, calls = remembering(world.policy)
    (scores,) = run(bisect(policy, world.verify)([make("rrrr")]))
    assert (scores.values, calls) == ((1.0,) * 4, [])
    assert scores.parts == {"successes": (0.0, 0.0, 0.0, 1.0), "rollouts": (0.0, 0.0, 0.0, 1.0)}


def test_an_unfinished_solution_is_bisected_too(run):
    world = Exact(length=6, p=1.0)
    found = run(
        bisect(world.policy, world.verify)([make("rrr", "open"), make("rrw", "open"), make("wrr", "open")])
    )
    assert [s.values for s in found] == [(1, 1, 1), (1, 1, 0), (0, 0, 0)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text("rw", min_size=8, max_size=8), min_size=1, max_size=4))
def test_bisection_is_full_monte_carlo_where_errors_never_heal(texts):
    world, tried = Exact(length=8, p=0.95), [make(text) for text in texts]
    full = asyncio.run(monte_carlo(world.policy, world.verify, rollouts=24, estimate=labels.hard)(tried))
    half = asyncio.run(bisect(world.policy, world.verify, rollouts=24)(tried))
    assert [s.values for s in half] == [s.values for s in full]


def test_bisection_is_misled_where_an_error_was_mended(run):
    world, tried = Exact(length=4, p=0.9, heal=0.001), [make("wmrw")]
    (full,) = run(monte_carlo(world.policy, world.verify, rollouts=16, estimate=labels.hard)(tried))
    (half,) = run(bisect(world.policy, world.verify, rollouts=16)(tried))
    assert full.values == (0, 1, 1, 0)  # the values fall, rise and fall: there is no one place to search for
    assert half.values == (1, 1, 1, 0)


def test_bisections_run_side_by_side_so_that_their_calls_are_merged(run):
    world = Exact(length=16, p=0.98)
    policy, calls = remembering(world.policy)
    tried = [make("r" * i + "w" + "r" * (15 - i)) for i in range(15)]
    found = run(bisect(batched(policy, limit=1024), world.verify)(tried))
    assert [labels.first_error(s.values) for s in found] == list(range(15))
    assert sum(prefixes for prefixes, _ in calls) >= 45  # one after another that many calls
    assert len(calls) <= 8


@settings(max_examples=40, deadline=None)
@given(st.text("rw", min_size=5, max_size=5), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_stopping_at_the_first_success_says_the_same_for_less(text, rollouts, chunk, seed):
    def scored(**options):
        world = Exact(length=5, p=0.6, seed=seed)
        scorer = monte_carlo(world.policy, world.verify, rollouts=rollouts, estimate=labels.hard, **options)
        return asyncio.run(scorer([make(text)]))[0]

    whole, short = scored(), scored(stop_at_success=True, chunk=chunk)
    assert short.values == whole.values
    for fewer, all_of_them, value in zip(
        short.parts["rollouts"], whole.parts["rollouts"], short.values, strict=True
    ):
        assert fewer <= all_of_them
        assert value == 1.0 or fewer == all_of_them  # nobody gives up early on a failure


def test_rollouts_are_asked_in_rounds_and_only_where_success_is_missing(run):
    world = Exact(length=3, p=1.0)
    policy, calls = remembering(world.policy)
    scorer = monte_carlo(
        policy, world.verify, rollouts=5, estimate=labels.hard, stop_at_success=True, chunk=2
    )
    (scores,) = run(scorer([make("rwr")]))
    assert calls == [(2, 2), (1, 2), (1, 1)]
    assert scores.parts == {"successes": (2.0, 0.0, 0.0), "rollouts": (2.0, 5.0, 1.0)}
    assert scores.source == "monte_carlo:5:until_success"


def test_bisection_stops_at_success_too(run):
    world, policy_calls = Exact(length=8, p=1.0), []
    for stop in (False, True):
        policy, calls = remembering(world.policy)
        (scores,) = run(
            bisect(policy, world.verify, rollouts=8, stop_at_success=stop, chunk=1)([make("rrrrrrwr")])
        )
        assert labels.first_error(scores.values) == 6
        policy_calls.append(sum(n for _, n in calls))
    assert policy_calls == [3 * 8, 2 * 1 + 8]


def test_a_share_of_successes_may_not_stop_at_the_first():
    world = Exact()
    with pytest.raises(ValueError, match="biased"):
        play_on(world.policy, world.verify, stop_at_success=True)


@pytest.mark.parametrize("options", [{"rollouts": 0}, {"chunk": 0}])
def test_no_rollouts_is_refused(options):
    world = Exact()
    with pytest.raises(ValueError, match="nothing to play"):
        bisect(world.policy, world.verify, **options)


def test_a_failing_check_is_an_error_and_not_a_zero(run):
    async def broken(ts, /):
        raise RuntimeError("the checker died")

    with pytest.raises(RuntimeError, match="the checker died"):
        run(monte_carlo(Exact().policy, broken)([make("rw", "open")]))
