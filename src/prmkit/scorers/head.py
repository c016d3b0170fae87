"""A trained PRM: a token-classification model that answers at the end of each step.

Two labels, class 1 = good, as TRL and vLLM have it; the score is their softmax. `prm.json` beside the
weights says what the score means and where it is read, so that a folder is all a user must know.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from transformers import AutoModelForTokenClassification, AutoTokenizer

from prmkit.effects import spend
from prmkit.errors import BadInput
from prmkit.text.coder import Coder
from prmkit.text.layout import Layout, lay_out
from prmkit.types import Kind, Scores, Trajectory

PROFILE = "prm.json"


@dataclass(frozen=True, slots=True)
class Profile:
    """What must be known of a checkpoint besides its weights."""

    kind: Kind = "value"
    marker: str = ""  # the text after each step at which the score is read; "" reads the step's last token
    objective: str = ""  # what it was trained with

    def save(self, folder: Path) -> None:
        (folder / PROFILE).write_text(json.dumps(asdict(self), indent=2) + "\n", "utf-8")


def read_profile(folder: Path) -> Profile:
    """The profile of a checkpoint folder, or a clear word about what is missing or odd."""
    file = folder / PROFILE
    if not file.is_file():
        raise BadInput(
            f"{folder} has no {PROFILE}: it was not made by `prm fit`, so how to read it is not known"
        )
    try:
        profile = Profile(**json.loads(file.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise BadInput(f"{file}: {error}") from error
    if profile.kind not in get_args(Kind):
        raise BadInput(f"{file}: field 'kind' is {profile.kind!r}, not one of {', '.join(get_args(Kind))}")
    if not isinstance(profile.marker, str):
        raise BadInput(f"{file}: field 'marker' is {profile.marker!r}, not a text")
    return profile


def open(folder: str | Path, *, device: str = "", tokens_at_once: int = 16384) -> HeadScorer:
    """The PRM saved in a folder."""
    if not Path(folder).is_dir():
        raise BadInput(f"no such folder: {folder}")
    profile = read_profile(Path(folder))
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if where.startswith("cuda") else torch.float32
    model: Any = AutoModelForTokenClassification.from_pretrained(folder, dtype=dtype)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return HeadScorer(model.to(where).eval(), tokenizer, profile, tokens_at_once, source=Path(folder).name)


class HeadScorer:
    """Every step of a solution in one pass, solutions of like length side by side."""

    def __init__(
        self, model: Any, tokenizer: Any, profile: Profile, tokens_at_once: int = 16384, *, source: str = ""
    ) -> None:
        self.model, self.coder, self.profile = model, Coder(tokenizer), profile
        self.tokens_at_once, self.source = tokens_at_once, source
        self._one_at_a_time = threading.Lock()

    async def __call__(self, trajectories: Sequence[Trajectory], /) -> list[Scores]:
        return await asyncio.to_thread(self._score, list(trajectories))

    def _score(self, trajectories: list[Trajectory]) -> list[Scores]:
        layouts = [self.lay_out(t) for t in trajectories]
        values: list[tuple[float, ...]] = [()] * len(layouts)
        with self._one_at_a_time:
            for batch in batches([len(x.ids) for x in layouts], self.tokens_at_once):
                for i, row in zip(batch, self._read([layouts[i] for i in batch]), strict=True):
                    values[i] = row
        spend(prompt_tokens=sum(len(x.ids) for x in layouts))
        return [Scores(row, self.profile.kind, source=self.source) for row in values]

    def lay_out(self, trajectory: Trajectory) -> Layout:
        prompt = self.coder.render(trajectory.problem)
        layout = lay_out(trajectory, self.coder, prompt=prompt, marker=self.profile.marker)
        limit = self.model.config.max_position_embeddings
        if len(layout.ids) > limit:
            raise BadInput(
                f"problem {trajectory.problem.id!r}: {len(layout.ids)} tokens, and the model reads {limit} at most"
            )
        return layout

    @torch.inference_mode()
    def _read(self, layouts: list[Layout]) -> Iterator[tuple[float, ...]]:
        logits = self.model(**padded([x.ids for x in layouts], self.coder.padding, self.model.device)).logits
        good = logits.float().softmax(-1)[..., 1]
        for row, layout in zip(good, layouts, strict=True):
            yield tuple(row[list(layout.read_at)].tolist())


def padded(rows: Sequence[Sequence[int]], padding: int, device: Any = "cpu") -> dict[str, torch.Tensor]:
    """Right-padded ids and their mask; in a causal model what stands to the right changes nothing."""
    longest = max(map(len, rows))
    ids = torch.tensor([[*row, *[padding] * (longest - len(row))] for row in rows], device=device)
    lengths = torch.tensor([len(row) for row in rows], device=device)
    return {
        "input_ids": ids,
        "attention_mask": (torch.arange(longest, device=device) < lengths[:, None]).long(),
    }


def batches(lengths: Sequence[int], tokens_at_once: int) -> Iterator[list[int]]:
    """Indices in groups of like length whose padded size stays within a number of tokens."""
    batch: list[int] = []
    for i in sorted(range(len(lengths)), key=lambda i: lengths[i]):
        if batch and (len(batch) + 1) * lengths[i] > tokens_at_once:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch
