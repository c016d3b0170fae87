"""How large the demo is. One place, so that a reader sees what was measured on what."""

from __future__ import annotations

from dataclasses import dataclass

from prmkit.train.fit import FitConfig
from prmkit.train.rl import RLConfig

PRM, ORM, ORACLE = "prm", "outcome-model", "oracle"  # the scorers of the demo


@dataclass(frozen=True, slots=True)
class Settings:
    seed: int = 0
    policy: str = "builtin:arith"
    train_problems: int = 500
    rollouts: int = 4
    test_problems: int = 200
    searched: int = 50  # of them, the first so many are also solved by beam search and MCTS
    samples: int = 16  # per test problem: the largest budget
    beam_width: int = 4
    branch: int = 4
    rl_problems: int = 400
    updates: int = 14
    watched: int = 100  # held-out problems on which the policy is watched while it learns

    @property
    def budgets(self) -> tuple[int, ...]:
        """1, 2, 4 … up to `samples`."""
        return tuple(2**k for k in range(self.samples.bit_length()))

    @property
    def fit(self) -> FitConfig:
        return FitConfig(epochs=3, learning_rate=1e-4, head_factor=100, batch=16, seed=self.seed)

    @property
    def rl(self) -> RLConfig:
        return RLConfig(updates=self.updates, seed=self.seed, watch_every=2)

    def problem_seed(self, part: int) -> int:
        """Training, test and RL problems come from different streams, as do those of other demo seeds."""
        return 10 * self.seed + part
