"""PURE (card 23): training a policy on the worst reward to come against training it on their sum.

The PRM is learnt from the simulated pupil's solutions and Monte-Carlo labels. Filler harms no chance of
success, so it is labelled right and pays nearly as much as a step that does something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

from prmkit.bench.arms.learning import POLICY, examples_of, learn_prm
from prmkit.bench.compare import Arm
from prmkit.bench.run import problem_seed
from prmkit.effects import metered
from prmkit.maths import credit, labels
from prmkit.names import load
from prmkit.policies import open_policy
from prmkit.recipes.labelling import as_verdicts
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.text.answers import exact_answer
from prmkit.types import Credit, Scorer, Scores, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil

RULES: dict[str, Credit] = {"min-form": credit.min_form(), "sum-form": credit.sum_form}
BASE = "base policy"
SOLVED, STEPS, FILLER = "solved", "steps", "share of filler"


@dataclass(frozen=True, slots=True)
class Sizes:
    labelled: int = 400  # solutions of the pupil for the PRM
    rollouts: int = 8
    epochs: float = 4.0
    problems: int = 256  # to train the policy on
    updates: int = 16
    at_once: int = 16  # problems an update
    samples: int = 8  # of each
    tests: int = 150  # held-out problems
    tries: int = 4  # at each of them
    max_tokens: int = 192  # of a solution: three times what a right one takes


@dataclass
class Study:
    """Plays seeds; the base policy's figures of the last one are kept for the next condition."""

    sizes: Sizes = Sizes()
    _base: tuple[int, Arm] | None = None

    async def play(self, seed: int, *, perfect: bool = False) -> dict[str, Arm]:
        """Both rules from the same policy, PRM and seed; `perfect` puts a judge who pays filler nothing."""
        prm = strict_judge if perfect else as_verdicts(await self._learn(seed))
        if self._base is None or self._base[0] != seed:
            self._base = seed, Arm(await self._look(POLICY, seed))
        arms = {BASE: self._base[1]}
        for name, rule in RULES.items():
            scorer, meter = metered(prm)
            with TemporaryDirectory(prefix="prmkit-claim-") as folder:
                trained = await self._train(rule, scorer, Path(folder) / "run", seed)
                arms[name] = Arm(await self._look(str(trained), seed), spent=meter.items)
        return arms

    async def _learn(self, seed: int) -> Scorer:
        pupil = Pupil(mend=0.12, seed=seed)  # what the built-in policy learnt from
        problems = arith.problems(self.sizes.labelled, seed=problem_seed(seed, 0))
        rows = await pupil([Trajectory(p) for p in problems], 1, until="end")
        label = monte_carlo(
            pupil, exact_answer, rollouts=self.sizes.rollouts, estimate=labels.hard, stop_at_success=True
        )
        solutions = [t for (t,) in rows]
        return await learn_prm(
            examples_of(solutions, await label(solutions)), epochs=self.sizes.epochs, seed=seed
        )

    async def _train(self, rule: Credit, scorer: Scorer, out: Path, seed: int) -> Path:
        train_policy = load("prmkit.train.rl:train_policy", extra="hf", what="training a policy")
        sizes = self.sizes
        config = load("prmkit.train.rl:RLConfig", extra="hf")(
            updates=sizes.updates,
            problems=sizes.at_once,
            samples=sizes.samples,
            max_tokens=sizes.max_tokens,
            seed=seed,
        )
        problems = arith.problems(sizes.problems, seed=problem_seed(seed, 1))
        trained: Path = await train_policy(
            problems,
            policy=POLICY,
            check=exact_answer,
            credit=rule,
            out=out,
            scorer=scorer,
            config=config,
        )
        return trained

    async def _look(self, policy: str, seed: int) -> Mapping[str, Sequence[float]]:
        """By held-out problem: the share solved, steps a solution, and the share of them that is filler."""
        problems = arith.problems(self.sizes.tests, seed=problem_seed(seed, 2))
        opened = open_policy(policy, seed=seed, max_tokens=self.sizes.max_tokens)
        rows = await opened([Trajectory(p) for p in problems], self.sizes.tries, until="end")
        return {
            SOLVED: [fmean(await exact_answer(row)) for row in rows],
            STEPS: [fmean(len(t.actions) for t in row) for row in rows],
            FILLER: [fmean(map(filler_share, row)) for row in rows],
        }


def filler_share(trajectory: Trajectory) -> float:
    """The share of steps that do nothing: off-topic or repeated."""
    verdicts = arith.judge(trajectory)
    return sum(v.error in arith.HARMLESS for v in verdicts) / max(1, len(verdicts))


async def strict_judge(trajectories: Sequence[Trajectory], /) -> list[Scores]:
    """The oracle, but a harmless step that does nothing is neither right nor wrong: ½, a reward of 0."""
    return [Scores(tuple(map(_paid, arith.judge(t))), "correctness", source="strict") for t in trajectories]


def _paid(verdict: arith.Verdict) -> float:
    if not verdict.on_track:
        return 0.0
    return 0.5 if verdict.error in arith.HARMLESS else 1.0
