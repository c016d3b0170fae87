"""What the arms that train have in common: a small PRM from labelled solutions."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from prmkit.names import load
from prmkit.policies import policy_folder
from prmkit.scorers import open_scorer
from prmkit.types import Example, Scorer, Scores, Trajectory

POLICY = "builtin:arith"  # the policy of the claims, and the trunk of their PRMs


async def learn_prm(
    examples: Sequence[Example], *, objective: str = "bce", epochs: float = 4.0, seed: int = 0
) -> Scorer:
    """A PRM on the trunk of the built-in policy; its folder is gone when it is returned."""
    fit = load("prmkit.train.fit:fit", extra="hf", what="training a PRM")
    config = load("prmkit.train.fit:FitConfig", extra="hf")(
        epochs=epochs, learning_rate=1e-4, batch=16, save_every=epochs, seed=seed
    )
    with TemporaryDirectory(prefix="prmkit-claim-") as folder:
        out = Path(folder) / "prm"
        trunk = policy_folder(POLICY)
        await asyncio.to_thread(fit, examples, model=trunk, out=out, objective=objective, config=config)
        return open_scorer(out)


def examples_of(solutions: Sequence[Trajectory], scores: Sequence[Scores]) -> list[Example]:
    """Solutions with the labels that a scorer gave them."""
    return [
        Example(t, s.values, s.kind, id=t.problem.id, source=s.source)
        for t, s in zip(solutions, scores, strict=True)
    ]
