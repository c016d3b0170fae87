import pytest

from prmkit.policies.in_world import in_world
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.testing import check_policy, check_scorer
from prmkit.types import Step, Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

ROOT = Trajectory(PROBLEM)


async def echo(trajectories, /):
    """A world that repeats each step, and would repeat itself if it were asked to answer itself."""
    return [t.then(Step(f"saw {t.steps[-1].text}", by="world")) for t in trajectories]


def alternates(t):
    return [s.by for s in t.steps] == ["policy", "world"] * (len(t.actions) - 1) + ["policy"]


def test_an_answered_policy_alternates(run):
    world = Exact(length=4)
    (ends,) = run(in_world(world.policy, echo)([ROOT], 3, until="end"))
    assert len(ends) == 3
    for t in ends:
        assert alternates(t)
        assert len(t.actions) == 4
        assert t.stop == "done"


def test_one_step_is_one_move_and_its_answer(run):
    ((t,),) = run(in_world(Exact(length=4, p=1.0).policy, echo)([ROOT]))
    assert [s.text for s in t.steps] == ["right", "saw right"]


def test_a_prefix_cut_before_its_answer_is_answered_first(run):
    policy = in_world(Exact(length=4, p=1.0).policy, echo)
    ((t,),) = run(policy([ROOT.then(Step("wrong"))]))
    assert [s.text for s in t.steps] == ["wrong", "saw wrong", "right", "saw right"]


def test_a_half_written_step_is_not_answered_until_it_is_whole(run):
    async def slow(prefixes, n=1, /, *, until="step"):
        def go_on(t):
            if t.steps and t.steps[-1].partial:
                return Trajectory(t.problem, (*t.steps[:-1], Step(t.steps[-1].text + "ght")))
            return t.then(Step("ri", partial=True))

        return [[go_on(t)] * n for t in prefixes]

    policy = in_world(slow, echo)
    ((half,),) = run(policy([ROOT], until=2))
    assert [s.text for s in half.steps] == ["ri"]
    ((whole,),) = run(policy([half], until=2))
    assert [s.text for s in whole.steps] == ["right", "saw right"]


def test_what_is_written_past_the_answer_is_cut(run):
    policy = in_world(Exact(length=4, p=1.0).policy, echo)
    ((t,),) = run(policy([ROOT], until=4))  # the bare policy would have written four steps and closed
    assert [s.text for s in t.steps] == ["right", "saw right"]
    assert not t.closed


def test_a_world_may_end_the_matter(run):
    async def game_over(trajectories, /):
        return [t.then(Step("you lost", by="world"), "done") for t in trajectories]

    ((t,),) = run(in_world(Exact().policy, game_over)([ROOT], until="end"))
    assert [s.by for s in t.steps] == ["policy", "world"]


def test_an_agent_that_never_ends_is_stopped_and_says_why(run):
    ((t,),) = run(in_world(Exact(length=99).policy, echo, max_turns=5)([ROOT], until="end"))
    assert len(t.actions) == 5
    assert t.stop == "length"


def test_an_agent_keeps_the_contract(run):
    run(check_policy(in_world(Exact(length=4).policy, echo), [PROBLEM]))
    run(check_policy(in_world(Exact(length=99).policy, echo, max_turns=3), [PROBLEM]))


def test_labelling_needs_no_change_for_agents(run):
    world = Exact(length=4)
    agent = in_world(world.policy, echo)
    (ends,) = run(agent([ROOT], 3, until="end"))
    run(check_scorer(monte_carlo(agent, world.verify, rollouts=4), ends))


def test_an_agent_without_a_turn_is_refused():
    with pytest.raises(ValueError, match="without a turn"):
        in_world(Exact().policy, echo, max_turns=0)
