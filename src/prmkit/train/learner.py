"""One policy-gradient update of a causal language model, and its state on disk.

The learner is blind to the algorithm: it is given token ids, an advantage for each, and
which of them to train on.
"""

from __future__ import annotations

import copy
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from safetensors.torch import load_model, save_model
from torch import Tensor

from prmkit.errors import PrmkitError
from prmkit.text.coder import Coder
from prmkit.text.layout import lay_out
from prmkit.train import policy_gradient as pg
from prmkit.types import Trajectory

GRADIENT_NORM = 1.0


@dataclass(frozen=True, slots=True)
class RLConfig:
    """The defaults suit a model of a million parameters; one of billions wants a learning rate near 1e-6."""

    updates: int = 24
    problems: int = 16  # per update
    samples: int = 8  # per problem
    learning_rate: float = 3e-4
    epochs: int = 1  # passes over the samples of one update
    minibatch: int = 128  # solutions per step of the optimiser
    rows: int = 32  # solutions in one pass through the model; small is fast on a CPU
    clip: float = 0.2
    kl: float = 0.0  # weight of the distance from the policy at the start; above 0 a frozen copy is kept
    whiten: bool = True  # bring the advantages of an update to one scale
    temperature: float | None = None  # the policy's own when None
    max_tokens: int | None = None  # of one solution; the policy's own limit when None
    seed: int = 0
    watch_every: int = 8
    save_every: int = 8


@dataclass(frozen=True, slots=True)
class Row:
    """A trajectory as the learner sees it: one advantage per token, `trained` where the policy chose it."""

    ids: tuple[int, ...]
    advantages: tuple[float, ...]
    trained: tuple[bool, ...]


def lay_credit(trajectory: Trajectory, advantages: Sequence[float], coder: Coder) -> Row:
    """Each policy step's advantage over its tokens; the prompt and what the world said are not trained on.

    The end token of a trajectory that ended by itself was the policy's choice, too: it shares the
    advantage of the last step. One cut at a limit has none.
    """
    layout = lay_out(trajectory, coder, prompt=coder.render(trajectory.problem))
    ids = list(layout.ids)
    laid, trained = [0.0] * len(ids), [False] * len(ids)
    for (start, end), advantage in zip(layout.spans, advantages, strict=True):
        laid[start:end] = [advantage] * (end - start)
        trained[start:end] = [True] * (end - start)
    if trajectory.stop == "done" and layout.spans:
        ids, laid, trained = [*ids, coder.end], [*laid, advantages[-1]], [*trained, True]
    return Row(tuple(ids), tuple(laid), tuple(trained))


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows side by side as (B, T) tensors, padded on the right."""

    ids: Tensor
    advantages: Tensor
    mask: Tensor

    @classmethod
    def of(cls, rows: Sequence[Row], *, padding: int, device: torch.device) -> Batch:
        """Shortest first, so that rows of like length stand together."""
        rows = sorted(rows, key=lambda row: len(row.ids))
        width = len(rows[-1].ids)
        ids = [[*row.ids, *[padding] * (width - len(row.ids))] for row in rows]
        advantages = [[*row.advantages, *[0.0] * (width - len(row.ids))] for row in rows]
        mask = [[*row.trained, *[False] * (width - len(row.ids))] for row in rows]
        return cls(
            torch.tensor(ids, device=device),
            torch.tensor(advantages, device=device),
            torch.tensor(mask, device=device),
        )

    def split(self, size: int) -> list[Batch]:
        """Pieces of `size` rows, each cut to the columns that matter to it."""
        return [self._piece(slice(at, at + size)) for at in range(0, len(self.ids), size)]

    def _piece(self, rows: slice) -> Batch:
        width = int(self.mask[rows].any(0).nonzero().max()) + 1
        return Batch(self.ids[rows, :width], self.advantages[rows, :width], self.mask[rows, :width])

    @property
    def first(self) -> int:
        """The first column in which any row is trained."""
        return int(self.mask.any(0).nonzero().min())

    def ahead(self, columns: Tensor) -> Tensor:
        """The columns from the first trained one on."""
        return columns[:, self.first :]


class Learner:
    """A model, its optimiser and, where the distance from the start is penalised, a frozen copy."""

    def __init__(self, model: Any, config: RLConfig, temperature: float) -> None:
        self.model = model.float()  # half precision would round away steps as small as these
        self.config, self.temperature = config, temperature
        self.optimiser = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=0.0)
        self.reference = copy.deepcopy(model).requires_grad_(False) if config.kl > 0 else None

    def learn(self, batch: Batch, *, seed: int | str) -> dict[str, float]:
        """Some steps of the optimiser on one batch of samples; what happened, as means over these steps."""
        if self.config.whiten:
            batch = Batch(batch.ids, pg.normalise(batch.advantages, batch.mask), batch.mask)
        parts = batch.split(min(self.config.rows, self.config.minibatch))
        at_once = max(1, self.config.minibatch // self.config.rows)
        order, rng = list(range(len(parts))), random.Random(seed)
        rng.shuffle(order)
        with torch.no_grad():  # the parts of the first step are seen before any step: their own pass will do
            old = {i: self._logprobs(self.model, parts[i]) for i in order[at_once:]}
            frozen = (
                dict(enumerate(self._logprobs(self.reference, p) for p in parts)) if self.reference else {}
            )
        steps: list[dict[str, float]] = []
        for _ in range(self.config.epochs):
            chosen = [order[at : at + at_once] for at in range(0, len(order), at_once)]
            steps += [self._step({i: parts[i] for i in some}, old, frozen) for some in chosen]
            rng.shuffle(order)
        return {name: fmean(step[name] for step in steps) for name in steps[0]}

    def _step(
        self, parts: Mapping[int, Batch], old: dict[int, Tensor], frozen: Mapping[int, Tensor]
    ) -> dict[str, float]:
        """One step of the optimiser along the mean over all tokens of the parts."""
        self.optimiser.zero_grad(set_to_none=True)
        tokens = sum(int(part.mask.sum()) for part in parts.values())
        numbers: dict[str, float] = defaultdict(float)
        for i, part in parts.items():
            logprobs = self._logprobs(self.model, part)
            before = old.setdefault(i, logprobs.detach())
            loss, seen = self._loss(part, logprobs, before, frozen.get(i))
            share = int(part.mask.sum()) / tokens
            (share * loss).backward()  # type: ignore[no-untyped-call]
            for name, number in seen.items():
                numbers[name] += share * number
        numbers["gradient"] = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), GRADIENT_NORM))
        if not isfinite(numbers["gradient"]):  # before the step: the weights are still whole
            raise PrmkitError(f"training went astray, its numbers are not finite: {dict(numbers)}")
        self.optimiser.step()
        return numbers

    def _loss(
        self, part: Batch, logprobs: Tensor, old: Tensor, frozen: Tensor | None
    ) -> tuple[Tensor, dict[str, float]]:
        advantages, mask = part.ahead(part.advantages), part.ahead(part.mask)
        loss = pg.clipped_loss(logprobs, old, advantages, mask, clip=self.config.clip)
        clipped = pg.clip_share(logprobs.detach(), old, advantages, mask, clip=self.config.clip)
        seen = {"entropy": -old[mask].mean().item(), "clipped": clipped.item()}
        if frozen is not None:
            kl = pg.kl_penalty(logprobs, frozen, mask)
            loss = loss + self.config.kl * kl
            seen["kl"] = kl.item()
        return loss, {"loss": loss.item(), **seen}

    def _logprobs(self, model: Any, part: Batch) -> Tensor:
        """Of the tokens from the first trained column on."""
        # No attention mask: padding stands to the right, where nothing that counts looks.
        kept = part.ids.shape[1] - part.first
        logits = model(input_ids=part.ids, use_cache=False, logits_to_keep=kept + 1).logits[:, :-1]
        return pg.token_logprobs(logits, part.ahead(part.ids), self.temperature)

    def save(self, folder: Path) -> None:
        """All that a later process needs to go on as if nothing had happened."""
        save_model(self.model, str(folder / "model.safetensors"))
        # We draw from generators of our own; a scorer or a credit rule may draw from the common ones.
        chance = {"torch": torch.get_rng_state(), "python": random.getstate()}
        torch.save({"optimiser": self.optimiser.state_dict(), "chance": chance}, folder / "state.pt")

    def load(self, folder: Path) -> None:
        load_model(self.model, str(folder / "model.safetensors"))
        state = torch.load(folder / "state.pt", weights_only=True)
        self.optimiser.load_state_dict(state["optimiser"])
        torch.set_rng_state(state["chance"]["torch"])
        random.setstate(state["chance"]["python"])
