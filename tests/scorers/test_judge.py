import pytest

from prmkit.errors import BadInput
from prmkit.scorers.judge import judge
from prmkit.types import Step, Trajectory
from prmkit.worlds.exact import PROBLEM

VERDICTS = {"yes": 1.0, "no": 0.0, "half": 0.5}


def panel(*answers):
    """A policy whose k-th vote is the k-th answer."""

    async def policy(prefixes, n=1, /, *, until="step"):
        assert until == "end"
        return [[t.then(Step(a), "done") for a in answers[:n]] for t in prefixes]

    return policy


def ask(t, i):
    return f"is step {i} right: {t.actions[i].text}"


def test_each_step_is_asked_about_once_in_one_call(run, solution):
    questions = []

    async def policy(prefixes, n=1, /, *, until="step"):
        questions.append([t.problem.prompt for t in prefixes])
        return [[t.then(Step("yes"), "done")] * n for t in prefixes]

    run(judge(policy, ask, VERDICTS.get)([solution("rw"), solution("w")]))
    assert questions == [["is step 0 right: right", "is step 1 right: wrong", "is step 0 right: wrong"]]


def test_what_the_world_said_is_not_judged(run, clerk):
    t = Trajectory(PROBLEM, (Step("yes"), Step("42", by="world"), Step("no")), "done")
    (scores,) = run(judge(clerk, ask, VERDICTS.get)([t]))
    assert scores.values == (1.0, 0.0)


def test_votes_are_averaged(run, solution):
    (scores,) = run(judge(panel("yes", "no", "yes", "half"), ask, VERDICTS.get, votes=4)([solution("r")]))
    assert scores.values == (0.625,)
    assert scores.kind == "correctness"
    assert scores.source == "judge:4"


def test_an_answer_that_cannot_be_read_has_no_vote(run, solution):
    (scores,) = run(judge(panel("hm", "yes", "no"), ask, VERDICTS.get, votes=3)([solution("r")]))
    assert scores.values == (0.5,)
    assert scores.parts["readable"] == (2.0,)
    assert scores.notes == ("yes",)


def test_no_readable_answer_is_an_error_unless_a_number_is_given_for_it(run, solution):
    with pytest.raises(BadInput, match=r"no verdict could be read in any of 2 answers; the first: 'hm'"):
        run(judge(panel("hm", "well"), ask, VERDICTS.get, votes=2)([solution("r")]))
    lenient = judge(panel("hm", "well"), ask, VERDICTS.get, votes=2, unreadable=0.5)
    (scores,) = run(lenient([solution("r")]))
    assert (scores.values, scores.parts["readable"], scores.notes) == ((0.5,), (0.0,), ("hm",))


def test_a_judge_without_a_vote_is_refused(clerk):
    with pytest.raises(ValueError, match="without a vote"):
        judge(clerk, ask, VERDICTS.get, votes=0)
