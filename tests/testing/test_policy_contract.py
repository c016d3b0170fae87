"""Each clause of the contract, shown to catch a policy that breaks it."""

from dataclasses import replace

import pytest

from prmkit.testing import ScriptedPolicy, check_policy
from prmkit.types import Problem, Step, Trajectory

PROBLEMS = [Problem("x"), Problem("y")]
SCRIPTED = ScriptedPolicy(lambda problem: ["one ", "two ", f"{problem.prompt}."], tokens=True)


def tampered(change):
    """The scripted policy with `change(prefix, whole, until)` made to every continuation."""

    async def policy(prefixes, n=1, /, *, until="step"):
        rows = await SCRIPTED(prefixes, n, until=until)
        return [
            [change(prefix, whole, until) for whole in row]
            for prefix, row in zip(prefixes, rows, strict=True)
        ]

    return policy


def last_step(whole, **changes):
    return replace(whole, steps=(*whole.steps[:-1], replace(whole.steps[-1], **changes)))


@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("script", [["one ", "two "], ["one"], [], ["a", "b", "c"], ["", "b"]])
def test_a_scripted_policy_keeps_the_contract(run, script, tokens):
    run(check_policy(ScriptedPolicy(lambda problem: script, tokens=tokens), PROBLEMS, n=3))


def test_something_must_be_checked(run):
    with pytest.raises(AssertionError, match="at least one problem"):
        run(check_policy(SCRIPTED, []))


async def answers_nothing_with_something(prefixes, n=1, /, *, until="step"):
    return await SCRIPTED(prefixes, n, until=until) or [[]]


async def forgets_a_prefix(prefixes, n=1, /, *, until="step"):
    return (await SCRIPTED(prefixes, n, until=until))[1:]


async def ignores_n(prefixes, n=1, /, *, until="step"):
    return await SCRIPTED(prefixes, until=until)


def changes_the_problem(prefix, whole, until):
    return replace(whole, problem=Problem("z"))


def drops_the_prefix(prefix, whole, until):
    return replace(whole, steps=whole.steps[-1:])


def rewrites_a_cut_step(prefix, whole, until):
    cut = prefix.steps and prefix.steps[-1].partial
    return last_step(whole, text="ONE ") if cut and until == "step" else whole


def forgets_the_tokens_it_had(prefix, whole, until):
    if prefix.steps and prefix.steps[-1].partial and until == "step":
        had = len(prefix.steps[-1].tokens)
        new = whole.steps[-1]
        return last_step(whole, tokens=new.tokens[had:], logprobs=new.logprobs[had:])
    return whole


def takes_two_steps(prefix, whole, until):
    return whole if prefix.closed or until != "step" else whole.then(Step("extra", tokens=(1, 2)))


def stands_still(prefix, whole, until):
    return prefix if isinstance(until, int) else whole


def adds_no_step(prefix, whole, until):
    return whole.then(Step("seen", by="world")) if until != "step" else prefix.then(Step("seen", by="world"))


def leaves_its_step_half_written(prefix, whole, until):
    return last_step(whole, partial=True) if until == "step" and not whole.closed else whole


def never_closes(prefix, whole, until):
    return whole if prefix.closed else replace(whole, stop="open")


def ignores_the_token_limit(prefix, whole, until):
    if until == 4 and not prefix.closed:
        return last_step(whole, text="x" * 9, tokens=(1,) * 9, logprobs=(0.0,) * 9, partial=True)
    return whole


def hides_the_cut(prefix, whole, until):
    return last_step(whole, partial=False) if isinstance(until, int) and not whole.closed else whole


def reopens(prefix, whole, until):
    return prefix.then(Step("and more"), "done") if prefix.closed else whole


def loses_a_logprob(prefix, whole, until):
    return whole if prefix.closed else last_step(whole, logprobs=(0.0,))


@pytest.mark.parametrize(
    ("policy", "clause"),
    [
        (answers_nothing_with_something, "nothing in, nothing out"),
        (forgets_a_prefix, "one list per prefix"),
        (ignores_n, "n continuations"),
        (tampered(changes_the_problem), "keeps its problem"),
        (tampered(drops_the_prefix), "begins with the steps of its prefix"),
        (tampered(rewrites_a_cut_step), "gone on with, not rewritten"),
        (tampered(forgets_the_tokens_it_had), "keeps its first tokens"),
        (tampered(takes_two_steps), "exactly one policy step"),
        (tampered(adds_no_step), "exactly one policy step"),
        (tampered(leaves_its_step_half_written), "half-written"),
        (tampered(stands_still), "adds something or closes"),
        (tampered(never_closes), "closes the trajectory"),
        (tampered(ignores_the_token_limit), "at most so many tokens"),
        (tampered(hides_the_cut), "marked partial"),
        (tampered(reopens), "comes back unchanged"),
        (tampered(loses_a_logprob), "a logprob for every token"),
    ],
)
def test_a_policy_that_breaks_a_clause_is_told_which(run, policy, clause):
    with pytest.raises(AssertionError, match=clause):
        run(check_policy(policy, PROBLEMS))


def test_a_policy_in_a_world_keeps_the_contract(run):
    def with_replies(prefix, whole, until):
        finished = until == "step" and not whole.closed
        return whole.then(Step("noted. ", by="world")) if finished else whole

    run(check_policy(tampered(with_replies), PROBLEMS))


def test_a_script_is_written_step_by_step_to_the_end_or_by_characters(run):
    policy = ScriptedPolicy(lambda problem: ["ab", "cd"])
    start = Trajectory(Problem("x"))
    [[one]] = run(policy([start]))
    assert one == Trajectory(Problem("x"), (Step("ab"),))
    [[whole]] = run(policy([one]))
    assert whole == Trajectory(Problem("x"), (Step("ab"), Step("cd")), "done")
    [[three]] = run(policy([start], until=3))
    assert three == Trajectory(Problem("x"), (Step("ab"), Step("c", partial=True)))
    [[again]] = run(policy([three], until=9))
    assert again == whole


def test_a_script_that_is_over_closes_what_goes_beyond_it(run):
    beyond = Trajectory(Problem("x"), (Step("a"), Step("b")))
    assert run(ScriptedPolicy(lambda problem: ["a"])([beyond], 2)) == [[replace(beyond, stop="done")] * 2]
