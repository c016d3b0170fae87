import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.testing import check_policy, check_scorer
from prmkit.types import Problem, Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact, sound

chances = st.floats(0, 1)


def solution(text, stop="done"):
    names = {"r": "right", "w": "wrong", "m": "mend"}
    return Trajectory(PROBLEM, tuple(Step(names[c]) for c in text), stop)


def test_the_value_of_a_prefix_worked_by_hand():
    world = Exact(length=3, p=0.5)
    assert world.value(solution("", "open")) == 0.125
    assert world.truth(solution("rrr")).values == (0.25, 0.5, 1.0)
    assert world.truth(solution("rwr")).values == (0.25, 0.0, 0.0)


def test_a_healing_world_worked_by_hand():
    world = Exact(length=3, p=0.5, heal=0.5)  # a spoilt solution mends with ¼ a step
    # one step ahead: ½ when sound, ¼ when spoilt; two ahead: ½·½ + ½·¼ = ⅜, and ¼·½ + ¾·¼ = 5/16
    assert world.truth(solution("wrr")).values == (5 / 16, 0.25, 0.0)
    assert world.truth(solution("rmr")).values == (3 / 8, 0.5, 1.0)


def test_healing_lets_the_value_rise_after_an_error():
    first, second, last = Exact(length=3, p=0.8, heal=0.3).truth(solution("wmr")).values
    assert first < second < last == 1.0


@given(chances, chances, st.integers(1, 5), st.text("rwm", max_size=4))
def test_the_value_of_a_prefix_is_the_mean_value_of_its_next_steps(p, heal, length, text):
    world, prefix = Exact(length, p, heal=heal), solution(text[: length - 1], "open")
    mend = 0.0 if sound(prefix) else p * heal
    after = {c: world.value(prefix.then(Step(c))) for c in ("right", "wrong", "mend")}
    expected = (p - mend) * after["right"] + (1 - p) * after["wrong"] + mend * after["mend"]
    assert world.value(prefix) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "r", "w", "wr", "wm"])
@pytest.mark.parametrize("heal", [0.0, 0.6])
def test_the_policy_succeeds_as_often_as_the_value_says(run, text, heal):
    world, prefix = Exact(length=4, p=0.7, heal=heal), solution(text, "open")
    (ends,) = run(world.policy([prefix], 4000, until="end"))
    assert sum(run(world.verify(ends))) / 4000 == pytest.approx(world.value(prefix), abs=0.03)


def test_a_continuation_does_not_depend_on_how_calls_are_batched(run):
    a, b = solution("", "open"), solution("r", "open")
    together, apart = Exact(seed=3), Exact(seed=3)
    ((a1, a2), (b1, b2)) = run(together.policy([a, b], 2, until="end"))
    assert [b1] == run(apart.policy([b], until="end"))[0]
    assert [a1, a2] == run(apart.policy([a], 2, until="end"))[0]
    assert [b2] == run(apart.policy([b], until="end"))[0]


def test_a_seed_and_a_problem_choose_the_continuations(run):
    def ends(seed, problem=PROBLEM):
        return [t.text for t in run(Exact(seed=seed).policy([Trajectory(problem)], 20, until="end"))[0]]

    assert ends(1) == ends(1)
    assert ends(1) != ends(2)
    assert ends(1) != ends(1, Problem("another toy", id="other"))


def test_until_says_how_far_to_go(run):
    world, root = Exact(length=5), solution("", "open")
    lengths = [len(run(world.policy([root], until=u))[0][0].steps) for u in ("step", 1, 3, 99, "end")]
    assert lengths == [1, 1, 3, 5, 5]


def test_what_is_closed_comes_back_unchanged(run):
    done, cut = solution("rr"), solution("r", "length")
    assert run(Exact().policy([done, cut], 2, until="end")) == [[done, done], [cut, cut]]


def test_an_open_solution_with_all_its_steps_is_closed_as_it_is(run):
    assert run(Exact(length=2).policy([solution("rr", "open")])) == [[solution("rr")]]


def test_only_a_finished_sound_solution_is_right(run):
    tried = [solution("rr"), solution("rw"), solution("wm"), solution("rr", "open"), solution("rr", "length")]
    assert run(Exact(length=2).verify(tried)) == [1, 0, 1, 0, 0]


def test_the_contracts_hold(run):
    world = Exact(heal=0.2)
    run(check_policy(world.policy, [PROBLEM, Problem("another toy")]))
    run(check_scorer(world.oracle, [solution("rwrrm"), solution("rr", "open")], repeatable=True))


@pytest.mark.parametrize("knobs", [{"p": 1.2}, {"heal": -0.1}, {"length": 0}])
def test_an_impossible_world_is_refused(knobs):
    with pytest.raises(ValueError, match="no such world"):
        Exact(**knobs)
