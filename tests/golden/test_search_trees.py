import json
import os
from pathlib import Path

import pytest

from prmkit.maths import aggregate as agg
from prmkit.scorers.combine import by_steps
from prmkit.search import frontier, tree
from prmkit.worlds.exact import PROBLEM, Exact

HERE = Path(__file__).parent


def told(node):
    last = node.trajectory.steps[-1].text if node.trajectory.steps else ""
    return {
        "step": last,
        "stop": node.trajectory.stop,
        "value": round(node.value, 6),
        "worth": round(node.worth, 6),
        "visits": node.visits,
        "children": [told(child) for child in node.children],
    }


def listed(candidates):
    return [
        {
            "steps": " ".join(s.text for s in c.trajectory.steps),
            "stop": c.trajectory.stop,
            "value": round(c.value, 6),
            "root": c.root,
        }
        for c in candidates
    ]


async def plain_tree(policy, rate):
    return told(await tree.explore(PROBLEM, policy, rate, simulations=14, branch=2, pick=tree.ucb()))


async def shallow_tree(policy, rate):
    pick = tree.ucb(0.5)
    return told(await tree.explore(PROBLEM, policy, rate, simulations=8, branch=2, pick=pick, max_depth=2))


def found_by(search):
    async def found(policy, rate):
        return listed(await search(PROBLEM, policy, rate))

    return found


GOLDEN = {
    "tree-plain": plain_tree,
    "tree-shallow": shallow_tree,
    "frontier-best-of-n": found_by(frontier.best_of_n(4)),
    "frontier-beam": found_by(frontier.beam(3, 2)),
    "frontier-diverse-trees": found_by(frontier.diverse_trees(3, 2)),
    "frontier-particles": found_by(frontier.particles(6, temperature=2.0, seed=5)),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_a_seeded_search_finds_what_it_found_before(name, run):
    world = Exact(length=4, p=0.6, seed=7, heal=0.3)
    found = run(GOLDEN[name](world.policy, by_steps(world.oracle, agg.last)))
    file = HERE / f"{name}.json"
    if os.environ.get("PRMKIT_WRITE_GOLDEN"):
        file.write_text(json.dumps(found, indent=1) + "\n")
    assert found == json.loads(file.read_text()), f"{name} changed; tests/golden/README.md says how to go on"
