"""Ways to spend a budget of policy tokens on a problem, compared on the same problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean

from prmkit.data.jsonl import write_whole
from prmkit.effects import batched, metered
from prmkit.maths import aggregate as agg
from prmkit.maths.stats import Interval, bootstrap, paired_difference
from prmkit.text.answers import final_answer, same_answer
from prmkit.types import Aggregate, Candidate, Policy, Problem, Rater, Scores, Search, Trajectory
from prmkit.verbs import solve

Choose = Callable[[Sequence[int]], str | None]  # out of these samples of one problem: the answer given


@dataclass(frozen=True, slots=True)
class Spent:
    """What a method reached on each problem, and the policy tokens it took per problem."""

    solved: tuple[float, ...]
    tokens: float

    @property
    def interval(self) -> Interval:
        return bootstrap(self.solved)

    def beyond(self, other: Spent) -> Interval:
        """How much more of the problems it solves, over those that both were given."""
        both = min(len(self.solved), len(other.solved))
        return paired_difference(self.solved[:both], other.solved[:both])


@dataclass(frozen=True, slots=True)
class Pool:
    """The samples of one problem, and what each scorer says of them."""

    problem: Problem
    samples: tuple[Trajectory, ...]
    right: tuple[float, ...]
    scores: Mapping[str, tuple[Scores, ...]]

    def first(self, chosen: Sequence[int]) -> str | None:
        return self._answer(chosen[0])

    def best(self, scorer: str, by: Aggregate) -> Choose:
        values = self.weights(scorer, by)
        return lambda chosen: self._answer(max(chosen, key=lambda i: values[i]))

    def vote(self, weights: Sequence[float] | None = None) -> Choose:
        def choose(chosen: Sequence[int]) -> str | None:
            candidates = [Candidate(self.samples[i], weights[i] if weights else 1.0) for i in chosen]
            return agg.vote(candidates, lambda c: final_answer(c.trajectory.text), lambda c: c.value)

        return choose

    def weights(self, scorer: str, by: Aggregate) -> list[float]:
        return [by(s.values) for s in self.scores[scorer]]

    def _answer(self, i: int) -> str | None:
        return final_answer(self.samples[i].text)

    def solved(self, choose: Choose, n: int) -> float:
        """How often the choice out of n samples is right: the mean over the disjoint groups of n there are."""
        groups = [range(start, start + n) for start in range(0, len(self.samples) - n + 1, n)]
        return fmean(self._is_right(choose(group)) for group in groups)

    def _is_right(self, answer: str | None) -> bool:
        return answer is not None and same_answer(answer, self.problem.answer or "")

    @property
    def tokens(self) -> float:
        """Per sample; the end token is one, too."""
        return fmean(1 + sum(len(s.tokens) for s in t.actions) for t in self.samples)


def over_budgets(
    pools: Sequence[Pool], method: Callable[[Pool], Choose], budgets: Sequence[int]
) -> dict[int, Spent]:
    """A method that picks among samples, at every number of samples."""
    chosen = [(pool, method(pool)) for pool in pools]
    tokens = fmean(pool.tokens for pool in pools)
    return {n: Spent(tuple(pool.solved(choose, n) for pool, choose in chosen), n * tokens) for n in budgets}


async def kept(file: Path, measure: Callable[[], Awaitable[Spent]]) -> Spent:
    """What was measured before, where the file has it; else it is measured now and written down."""
    if not file.exists():
        write_whole(file, json.dumps(asdict(await measure())).encode())
    row = json.loads(file.read_text("utf-8"))
    return Spent(tuple(row["solved"]), row["tokens"])


async def searched(
    problems: Sequence[Problem],
    search: Search,
    *,
    policy: Policy,
    rate: Rater,
    tick: Callable[[int, int], None],
) -> Spent:
    """A search that builds its solutions step by step; all problems side by side, so engines see full batches."""
    counted, meter = metered(policy)
    shared = batched(counted, limit=512)
    done = 0

    async def one(problem: Problem) -> float:
        nonlocal done
        found = await solve(problem, shared, batched_rate, search=search)
        done += 1
        tick(done, len(problems))
        answer = final_answer(found.trajectory.text)
        return float(answer is not None and same_answer(answer, problem.answer or ""))

    batched_rate = batched(rate, limit=2048)
    solved = await asyncio.gather(*(one(p) for p in problems))
    return Spent(tuple(solved), meter.generated_tokens / len(problems))
