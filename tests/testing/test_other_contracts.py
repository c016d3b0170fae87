"""Each clause of the contracts of worlds, scorers and raters, shown to catch who breaks it."""

import itertools
import math
from dataclasses import replace

import pytest

from prmkit.testing import check_rater, check_scorer, check_world, constant_scorer
from prmkit.types import Problem, Scores, Step, Trajectory

ASK = Trajectory(Problem("x"), (Step("look"),))
TWO = Trajectory(Problem("x"), (Step("look"), Step("a cat", by="world"), Step("it is a cat")), "done")
HALF = Trajectory(Problem("x"), (Step("lo", partial=True),))
TRAJECTORIES = [ASK, TWO, HALF]


def answer(t):
    answerable = not t.closed and t.steps[-1].by == "policy" and not t.steps[-1].partial
    return t.then(Step(f"seen after {len(t.steps)}", by="world")) if answerable else t


def each(of_one):
    async def effect(trajectories):
        return [of_one(t) for t in trajectories]

    return effect


async def returns_something_for_nothing(trajectories):
    return [answer(t) for t in trajectories or TRAJECTORIES]


async def returns_one_less(trajectories):
    return [answer(t) for t in trajectories][1:]


def counted():
    turn = itertools.count()
    return each(lambda t: t.then(Step(f"{next(turn)}", by="world")) if t == ASK else answer(t))


def test_a_world_that_answers_the_last_step_keeps_the_contract(run):
    run(check_world(each(answer), TRAJECTORIES))


@pytest.mark.parametrize(
    ("world", "clause"),
    [
        (returns_something_for_nothing, "nothing in, nothing out"),
        (returns_one_less, "one trajectory for each"),
        (each(lambda t: replace(answer(t), problem=Problem("y"))), "keeps the problem"),
        (each(lambda t: replace(t, steps=t.steps[1:])), "changes nothing that was there"),
        (each(lambda t: t.then(Step("I act")) if t == ASK else t), "only steps of its own"),
        (each(lambda t: replace(answer(t), stop="open")), "closed trajectory comes back unchanged"),
        (each(lambda t: t.then(Step("what?", by="world")) if t == HALF else t), "half-written"),
        (each(lambda t: t if t.closed or t == HALF else t.then(Step("hm", by="world"))), "answer itself"),
        (counted(), "depends on its own trajectory only"),
    ],
)
def test_a_world_that_breaks_a_clause_is_told_which(run, world, clause):
    with pytest.raises(AssertionError, match=clause):
        run(check_world(world, TRAJECTORIES))


def test_a_world_of_chance_may_say_so(run):
    run(check_world(counted(), TRAJECTORIES, repeatable=False))


def scored(**changes):
    """A scorer of halves with some field of its scores changed."""
    return each(lambda t: replace(Scores((0.5,) * len(t.actions)), **changes))


def two_steps(values, kind="value"):
    return each(lambda t: Scores(values[: len(t.actions)], kind))


def drifting_scorer():
    turn = itertools.count(1)
    return each(lambda t: Scores((1 / next(turn),) * len(t.actions)))


def test_a_constant_scorer_keeps_the_contract(run):
    run(check_scorer(constant_scorer(0.5), TRAJECTORIES, repeatable=True))
    run(check_scorer(constant_scorer(-3.0, "reward"), TRAJECTORIES, repeatable=True))
    assert run(constant_scorer(0.25)([TWO]))[0].values == (0.25, 0.25)


@pytest.mark.parametrize(
    ("scorer", "clause"),
    [
        (lambda ts: constant_scorer(0.5)(ts or TRAJECTORIES), "nothing in, nothing out"),
        (lambda ts: constant_scorer(0.5)(ts[1:]), "scores for each trajectory"),
        (each(lambda t: Scores((0.5,) * len(t.steps))), "one number per policy step"),
        (two_steps((math.nan, 0.5)), "finite"),
        (two_steps((math.inf, 0.5), "reward"), "finite"),
        (two_steps((None, 0.5)), "finite"),
        (two_steps((0.5, 0.5), "vibe"), "the kind is one of value, correctness, reward"),
        (two_steps((0.5, 1.5)), "a value is a chance"),
        (two_steps((-0.1, 1.0), "correctness"), "a correctness is a chance"),
        (scored(parts={"std": (0.1,) * 3}), "the part 'std'"),
        (scored(tokens=((0.1,),) * 3), "token scores"),
        (scored(notes=("good",) * 3), "notes"),
        (drifting_scorer(), "does not depend on its neighbours"),
    ],
)
def test_a_scorer_that_breaks_a_clause_is_told_which(run, scorer, clause):
    with pytest.raises(AssertionError, match=clause):
        run(check_scorer(scorer, TRAJECTORIES, repeatable=True))


def test_a_scorer_of_chance_need_not_be_repeatable(run):
    run(check_scorer(drifting_scorer(), TRAJECTORIES))


def by_place():
    async def rate(trajectories):
        return [float(i) for i, _ in enumerate(trajectories)]

    return rate


def test_a_rater_that_counts_steps_keeps_the_contract(run):
    run(check_rater(each(lambda t: float(len(t.steps))), TRAJECTORIES, repeatable=True))
    run(check_rater(by_place(), TRAJECTORIES))


@pytest.mark.parametrize(
    ("rater", "clause"),
    [
        (lambda ts: each(lambda t: 0.0)(ts or TRAJECTORIES), "nothing in, nothing out"),
        (lambda ts: each(lambda t: 0.0)(ts[1:]), "one number per trajectory"),
        (each(lambda t: math.nan), "finite"),
        (each(lambda t: None), "finite"),
        (by_place(), "does not depend on its neighbours"),
    ],
)
def test_a_rater_that_breaks_a_clause_is_told_which(run, rater, clause):
    with pytest.raises(AssertionError, match=clause):
        run(check_rater(rater, TRAJECTORIES, repeatable=True))


@pytest.mark.parametrize(
    ("check", "effect"), [(check_scorer, constant_scorer(0.5)), (check_rater, by_place())]
)
def test_a_check_on_nothing_is_refused(run, check, effect):
    with pytest.raises(AssertionError, match="at least one trajectory"):
        run(check(effect, []))
