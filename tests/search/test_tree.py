import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prmkit.maths import aggregate as agg
from prmkit.scorers.combine import by_steps
from prmkit.search import tree
from prmkit.types import Trajectory
from prmkit.worlds.exact import PROBLEM, Exact


def explored(run, world, simulations=40, branch=3, **options):
    rate = by_steps(world.oracle, agg.last)
    options = {"pick": tree.ucb(), **options}
    return run(tree.explore(PROBLEM, world.policy, rate, simulations=simulations, branch=branch, **options))


def node(worth, visits):
    return tree.Node(Trajectory(PROBLEM), visits=visits, total=worth * visits, value=worth)


def test_upper_confidence_worked_by_hand():
    known, new = node(1.0, 3), node(0.0, 0)
    # c √ln 4 = 1.177 c: worth 1 and half the bonus against worth 0 and all of it are equal at c = 1.699
    assert tree.ucb(1.65)([known, new], 3) is known
    assert tree.ucb(1.75)([known, new], 3) is new


def test_upper_confidence_prefers_the_first_of_equals():
    first, second = node(0.5, 1), node(0.5, 1)
    assert tree.ucb()([first, second], 2) is first


def test_upper_confidence_means_the_same_on_any_scale():
    def choice(scale):
        siblings = [node(0.2 * scale, 4), node(0.3 * scale, 9), node(0.1 * scale, 1)]
        return siblings.index(tree.ucb()(siblings, 14))

    assert choice(1.0) == choice(0.01) == choice(100.0)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 3), st.integers(1, 30))
def test_every_node_counts_its_children_visits(seed, length, branch, simulations):
    root = explored(asyncio.run, Exact(length, 0.6, seed), simulations, branch)
    assert root.visits == simulations
    for n in root.walk():
        below = sum(c.visits for c in n.children)
        if n is root:
            assert below == n.visits
        elif any(c.visits for c in n.children):
            assert n.visits - below in (0, 1)  # a node may have been a leaf once, before it was expanded


def test_the_worth_of_a_node_is_the_mean_of_what_was_backed_up(run, script):
    s = script(2, {"a": 0.2, "b": 0.6, "ba": 1.0, "bb": 0.0, "aa": 0.5, "ab": 0.5}.__getitem__)
    root = run(tree.explore(PROBLEM, s.policy, s.rate, simulations=2, branch=2, pick=tree.ucb()))
    # the first simulation backs up b, the second expands b and backs up ba: root and b hold (0.6 + 1) / 2
    a, b = root.children
    assert [n.trajectory.text for n in b.children] == ["ba", "bb"]
    assert (root.visits, root.worth) == (2, pytest.approx(0.8))
    assert (b.visits, b.worth) == (2, pytest.approx(0.8))
    assert (a.visits, a.worth) == (0, 0.2)


def test_closed_leaves_are_visited_again_and_backed_up_without_new_calls(run, script):
    s = script(1, {"a": 0.2, "b": 0.6}.__getitem__)
    root = run(tree.explore(PROBLEM, s.policy, s.rate, simulations=10, branch=2, pick=tree.ucb()))
    assert len(s.calls) == 1
    assert root.visits == sum(c.visits for c in root.children) == 10
    assert root.total == pytest.approx(sum(c.visits * c.value for c in root.children))


def test_no_path_is_deeper_than_allowed(run, script):
    s = script(100, lambda text: 0.5)
    root = run(
        tree.explore(PROBLEM, s.policy, s.rate, simulations=20, branch=1, pick=tree.ucb(), max_depth=3)
    )
    assert [len(texts[0]) for texts, _, until in s.calls if until == "step"] == [0, 1, 2]
    assert root.visits == 20
    assert s.calls[-1] == (["aaa"], 1, "end")


def test_a_budget_that_ends_early_still_gives_whole_solutions(run):
    world = Exact(length=8)
    found = run(tree.mcts(1, 4)(PROBLEM, world.policy, by_steps(world.oracle, agg.last)))
    assert len(found) == 4
    assert all(c.trajectory.closed and len(c.trajectory.actions) == 8 for c in found)


def test_a_policy_that_never_ends_gives_its_open_leaves(run, script):
    s = script(10**6, lambda text: 0.5)

    async def never_ends(prefixes, n=1, /, *, until="step"):
        return await s.policy(prefixes, n, until="step")

    found = run(tree.mcts(3, 2)(PROBLEM, never_ends, s.rate))
    assert found
    assert not any(c.trajectory.closed for c in found)


def test_a_tree_search_of_nothing_is_refused(run, script):
    s = script(2, lambda text: 0.0)
    with pytest.raises(ValueError, match="nothing to explore"):
        run(tree.mcts(0)(PROBLEM, s.policy, s.rate))
