"""Monte-Carlo tree search over steps: select, expand, rate, back up. The tree is the result."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from prmkit.types import Candidate, Policy, Problem, Rater, Search, Trajectory, Until


@dataclass(slots=True, eq=False)
class Node:
    """A prefix, its own rating (`value`) and the mean of what was found below it (`worth`)."""

    trajectory: Trajectory
    value: float = 0.0
    parent: Node | None = field(default=None, repr=False)
    children: list[Node] = field(default_factory=list, repr=False)
    depth: int = 0
    visits: int = 0
    total: float = 0.0

    @property
    def worth(self) -> float:
        return self.total / self.visits if self.visits else self.value

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first."""
        yield self
        for child in self.children:
            yield from child.walk()

    def follow(self, choose: Callable[[Node], Node]) -> Node:
        """The leaf reached by choosing a child again and again."""
        node = self
        while node.children:
            node = choose(node)
        return node


Pick = Callable[[Sequence[Node], int], Node]  # siblings and their parent's visits to the one to descend into


def ucb(c: float = 1.0) -> Pick:
    """Upper confidence: worth + c √(ln(N + 1) / (n + 1)), for n visits to a child and N to its parent.

    Sibling worths are stretched to [0, 1] first, so that `c` means the same at every depth. Of equals,
    the first sampled.
    """

    def pick(siblings: Sequence[Node], visits: int) -> Node:
        worths = [n.worth for n in siblings]
        low, width = min(worths), (max(worths) - min(worths)) or 1.0
        bonus = c * math.sqrt(math.log(visits + 1))
        return max(siblings, key=lambda n: (n.worth - low) / width + bonus / math.sqrt(n.visits + 1))

    return pick


async def explore(
    problem: Problem,
    policy: Policy,
    rate: Rater,
    *,
    simulations: int,
    branch: int,
    pick: Pick,
    max_depth: int = 64,
) -> Node:
    """The searched tree: search reads its leaves, labelling its worths, preference learning its siblings.

    A simulation descends to a leaf, expands it into `branch` children, and backs up the best child's
    rating; there are no rollouts. A leaf that is closed, or `max_depth` steps deep, is not expanded and
    backs up its own rating each time it is reached. If the budget ends before any solution does, the most
    visited leaf is completed `branch` times; those are extra leaves, not simulations.
    """
    if min(simulations, branch, max_depth) < 1:
        raise ValueError(f"nothing to explore: {simulations=}, {branch=}, {max_depth=}")

    async def expand(node: Node, until: Until = "step") -> None:
        (grown,) = await policy([node.trajectory], branch, until=until)
        values = await rate(grown)
        node.children = [Node(t, v, node, depth=node.depth + 1) for t, v in zip(grown, values, strict=True)]

    root = Node(Trajectory(problem))
    for _ in range(simulations):
        leaf = root.follow(lambda node: pick(node.children, node.visits))
        if not leaf.trajectory.closed and leaf.depth < max_depth:
            await expand(leaf)
            leaf = max(leaf.children, key=lambda child: child.value)
        back_up(leaf)
    if not any(node.trajectory.closed for node in root.walk()):
        await expand(root.follow(lambda node: max(node.children, key=lambda child: child.visits)), "end")
    return root


def back_up(leaf: Node) -> None:
    """Count a visit, and the leaf's rating, on every node from the leaf to the root."""
    node: Node | None = leaf
    while node is not None:
        node.visits += 1
        node.total += leaf.value
        node = node.parent


def mcts(simulations: int = 32, branch: int = 4, *, pick: Pick | None = None, max_depth: int = 64) -> Search:
    """The solutions in the searched tree; where the policy closed none of them, its open leaves."""

    async def search(problem: Problem, policy: Policy, rate: Rater) -> list[Candidate]:
        root = await explore(
            problem,
            policy,
            rate,
            simulations=simulations,
            branch=branch,
            pick=pick or ucb(),
            max_depth=max_depth,
        )
        leaves = [node for node in root.walk() if not node.children]
        ended = [node for node in leaves if node.trajectory.closed]
        return [Candidate(node.trajectory, node.value) for node in ended or leaves]

    return search
