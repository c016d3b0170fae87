"""PQM (card 16): a PRM that learns the order of steps against one that learns each by itself.

The samples, their Monte-Carlo labels, the trunk, the head and the order of the batches are the same for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from prmkit.bench.arms.learning import POLICY, examples_of, learn_prm
from prmkit.bench.compare import Arm
from prmkit.bench.run import problem_seed
from prmkit.maths import aggregate as agg
from prmkit.maths import labels
from prmkit.maths.metrics import spearman
from prmkit.policies import open_policy
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.text.answers import exact_answer
from prmkit.types import Aggregate, Example, Policy, Scorer, Scores, Trajectory
from prmkit.worlds import arith

OBJECTIVES = {"ranking": "rank", "cross-entropy": "bce"}
BEST, BEST_LAST, ORDER = "best of 16 by min", "best of 16 by last", "order within a solution"


@dataclass(frozen=True, slots=True)
class Sizes:
    problems: int = 80  # to learn from
    samples: int = 4  # of each
    rollouts: int = 8  # for a label, and for a value to be ordered by
    epochs: float = 4.0
    tests: int = 150  # held-out problems
    candidates: int = 16
    valued: int = 80  # of the held-out problems, the first candidate's steps get a Monte-Carlo value


@dataclass(frozen=True, slots=True)
class Pool:
    """What both arms of a seed share."""

    examples: list[Example]
    candidates: list[list[Trajectory]]  # of each held-out problem
    right: list[list[float]]
    values: list[Scores]  # of the first candidates


@dataclass
class Study:
    """Plays seeds; the pool of the last one is kept, for the next condition with the same seed."""

    sizes: Sizes = Sizes()
    _last: tuple[int, Pool] | None = None

    async def play(self, seed: int, *, masked: bool = False) -> dict[str, Arm]:
        """Both PRMs, and how they choose and order; `masked` hides the labels after the first error."""
        if self._last is None or self._last[0] != seed:
            self._last = seed, await sample(self.sizes, seed)
        pool = self._last[1]
        examples = [hidden_after_error(e) for e in pool.examples] if masked else pool.examples
        known = sum(label is not None for e in examples for label in e.labels)
        arms = {}
        for name, objective in OBJECTIVES.items():
            prm = await learn_prm(examples, objective=objective, epochs=self.sizes.epochs, seed=seed)
            arms[name] = Arm(await judge(prm, pool), spent=known)
        return arms


async def sample(sizes: Sizes, seed: int) -> Pool:
    policy = open_policy(POLICY, seed=seed)
    flat = [t for row in await _solve(policy, sizes.problems, sizes.samples, seed, 0) for t in row]
    hard = monte_carlo(
        policy, exact_answer, rollouts=sizes.rollouts, estimate=labels.hard, stop_at_success=True
    )
    soft = monte_carlo(policy, exact_answer, rollouts=sizes.rollouts)
    candidates = await _solve(policy, sizes.tests, sizes.candidates, seed, 1)
    return Pool(
        examples_of(flat, await hard(flat)),
        candidates,
        [await exact_answer(row) for row in candidates],
        await soft([row[0] for row in candidates[: sizes.valued]]),
    )


async def _solve(policy: Policy, problems: int, samples: int, seed: int, use: int) -> list[list[Trajectory]]:
    listed = arith.problems(problems, seed=problem_seed(seed, use))
    return await policy([Trajectory(p) for p in listed], samples, until="end")


def hidden_after_error(example: Example) -> Example:
    known = [1.0 if label is None else label for label in example.labels]
    return replace(example, labels=labels.mask_after_first_error(known))


async def judge(prm: Scorer, pool: Pool) -> dict[str, list[float | None]]:
    """By problem: is the candidate that the PRM puts first right, and does it order steps as values do?"""
    scores = [await prm(row) for row in pool.candidates]
    firsts = [row[0] for row in scores[: len(pool.values)]]
    return {
        BEST: _chosen(scores, pool.right, agg.minimum),
        BEST_LAST: _chosen(scores, pool.right, agg.last),
        ORDER: [spearman(s.values, v.values) for s, v in zip(firsts, pool.values, strict=True)],
    }


def _chosen(
    scores: Sequence[Sequence[Scores]], right: Sequence[Sequence[float]], aggregate: Aggregate
) -> list[float | None]:
    """Whether the best candidate of each problem is right, the first among equals."""
    totals = [[aggregate(s.values) for s in row] for row in scores]
    return [outcomes[row.index(max(row))] for outcomes, row in zip(right, totals, strict=True)]
