import pytest

from prmkit.maths import aggregate as agg
from prmkit.scorers.combine import by_pairs, by_prefix, by_steps, cuts, deal, ensemble, through
from prmkit.types import Problem, Scores, Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact


def saying(*values, kind="value", source=""):
    async def score(ts, /):
        return [Scores(tuple(values), kind, source=source) for _ in ts]

    return score


def test_an_ensemble_puts_scores_together_step_by_step(run, solution):
    both = ensemble(saying(0.9, 0.2, source="one"), saying(0.5, 0.6, source="two"), by=min)
    assert run(both([solution("rr")])) == [Scores((0.5, 0.2), source="one+two")]
    mean = ensemble(saying(0.9, 0.2), saying(0.5, 0.6), by=agg.mean)
    assert run(mean([solution("rr")]))[0].values == pytest.approx((0.7, 0.4))


def test_an_ensemble_keeps_the_kind_and_refuses_a_mixture(run, solution):
    rewards = ensemble(saying(2.0, kind="reward"), saying(4.0, kind="reward"), by=agg.mean)
    assert run(rewards([solution("r")])) == [Scores((3.0,), "reward")]
    with pytest.raises(ValueError, match="different kinds of scores means nothing: reward, value"):
        run(ensemble(saying(0.1), saying(0.1, kind="reward"), by=min)([solution("r")]))


def test_an_ensemble_of_scores_of_different_lengths_is_an_error(run, solution):
    with pytest.raises(ValueError, match="zip"):
        run(ensemble(saying(0.1, 0.2), saying(0.1), by=min)([solution("rr")]))


def test_an_ensemble_of_nobody_is_refused():
    with pytest.raises(ValueError, match="no scorers"):
        ensemble(by=min)


def test_a_scorer_sees_the_view_it_is_shown(run, solution):
    def upside_down(t):
        swap = {"right": "wrong", "wrong": "right"}
        return Trajectory(t.problem, tuple(Step(swap[s.text]) for s in t.steps), t.stop)

    world = Exact(length=2)
    (seen,) = run(through(upside_down, world.oracle)([solution("ww")]))
    assert seen.values == world.truth(solution("rr")).values


def test_a_view_that_hides_a_policy_step_is_an_error(run, solution):
    scorer = through(lambda t: t.prefixes()[0], Exact().oracle)
    with pytest.raises(ValueError, match="a view of 2 policy steps shows 1"):
        run(scorer([solution("rr")]))


def test_the_last_cut_is_the_solution_as_it_ended(solution):
    assert cuts(solution("rw")) == [solution("r", "open"), solution("rw")]
    assert cuts(solution("rw", "open")) == [solution("r", "open"), solution("rw", "open")]
    assert cuts(solution("")) == []
    last_word = Trajectory(PROBLEM, (Step("go"), Step("you won", by="world")), "done")
    assert cuts(last_word) == [last_word]


def test_rating_prefixes_in_one_call_gives_step_scores(run, solution):
    sizes = []

    async def length(ts, /):
        sizes.append(len(ts))
        return [len(t.steps) / 10 + t.closed for t in ts]

    assert [s.values for s in run(by_prefix(length)([solution("rr"), solution("r", "open")]))] == [
        (0.1, 1.2),
        (0.1,),
    ]
    assert sizes == [3]


@pytest.mark.parametrize("answers", [1, 3])
def test_a_rater_that_miscounts_is_an_error(run, solution, answers):
    async def rate(ts, /):
        return [0.5] * answers

    with pytest.raises(ValueError, match=f"2 items were asked about, {answers} answers came back"):
        run(by_prefix(rate)([solution("rr")]))


def test_dealing_keeps_order_and_empty_rows():
    assert deal([1, 2, 3], [2, 0, 1]) == [[1, 2], [], [3]]


def test_step_scores_put_together_rate_a_solution(run, solution):
    rate = by_steps(saying(0.9, 0.2, 0.5), agg.minimum)
    assert run(rate([solution("rrr")])) == [0.2]


def test_a_solution_without_steps_has_no_rating(run, solution):
    rate = by_steps(Exact().oracle, agg.last)
    with pytest.raises(ValueError, match="without a policy step"):
        run(rate([solution("r", "open"), Trajectory(PROBLEM)]))
    assert run(rate([])) == []


def test_a_solution_that_ended_before_its_first_step_has_no_chance(run, solution):
    rate = by_steps(saying(0.9), agg.last)
    assert run(rate([Trajectory(PROBLEM, (), "done"), solution("r")])) == [0.0, 0.9]


async def longer(pairs, /):
    return [0.5 + 0.5 * ((len(a.steps) > len(b.steps)) - (len(a.steps) < len(b.steps))) for a, b in pairs]


def test_a_tournament_ranks_as_its_judge_does(run, solution):
    ts = [solution("rr"), solution("r"), solution("rrr")]
    assert run(by_pairs(longer)(ts)) == [0.5, 0.0, 1.0]


def test_a_judge_who_always_takes_the_first_decides_nothing(run, solution):
    async def first(pairs, /):
        return [1.0 for _ in pairs]

    assert run(by_pairs(first)([solution("r"), solution("rr"), solution("rrr")])) == [0.5, 0.5, 0.5]


def test_only_solutions_of_one_problem_are_compared(run, solution):
    other = Problem("another")
    ts = [solution("r"), solution("rrrr", problem=other), solution("rr"), solution("rrr", problem=other)]
    assert run(by_pairs(longer)(ts)) == [0.0, 1.0, 1.0, 0.0]


def test_a_solution_without_a_rival_gets_a_half(run, solution):
    async def never(pairs, /):
        raise AssertionError("there is nothing to compare")

    assert run(by_pairs(never)([solution("r")])) == [0.5]
    assert run(by_pairs(never)([])) == []
