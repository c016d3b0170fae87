"""Sampling many continuations at once from a causal language model: token ids in, token ids out.

A prompt is read once however many samples it gets; a finished row leaves the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

SHRINK_AT = 0.75  # compacting copies the cache, so it waits until a quarter of the rows are done


class RoomyLayer(DynamicLayer):  # type: ignore[misc]
    """A cache layer with spare room at the end: a new token is written in place instead of copying all."""

    ROOM = 64

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self._keys = self._values = None
        self.keys = self._append("_keys", self.keys, key_states)
        self.values = self._append("_values", self.values, value_states)
        return self.keys, self.values

    def _append(self, store: str, seen: torch.Tensor, new: torch.Tensor) -> torch.Tensor:
        length = seen.shape[-2] if seen.numel() else 0
        wanted = length + new.shape[-2]
        room: torch.Tensor | None = getattr(self, store)
        stale = room is None or room.shape[0] != new.shape[0] or room.data_ptr() != seen.data_ptr()
        if room is None or stale or room.shape[-2] < wanted:
            rows, heads, _, width = new.shape
            room = new.new_empty((rows, heads, wanted + self.ROOM, width))
            if length:
                room[:, :, :length] = seen
            setattr(self, store, room)
        room[:, :, length:wanted] = new
        return room[:, :, :wanted]


@dataclass(slots=True)
class Sample:
    tokens: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    ended: bool = False  # by the model's own end token, which is not among `tokens`


@torch.inference_mode()
def sample(
    model: Any,
    prompts: Sequence[Sequence[int]],
    n: int,
    *,
    end: int,
    padding: int,
    max_tokens: int,
    temperature: float,
    generator: torch.Generator,
    enough: Callable[[int, list[int]], bool],
) -> list[list[Sample]]:
    """`n` continuations of every prompt. `enough(last token, tokens so far)` says where a row may stop.

    Temperature 0 takes the likeliest token. Log-probabilities are those of the distribution sampled from.
    """
    out = [Sample() for _ in range(len(prompts) * n)]
    longest = max(map(len, prompts))
    ids = torch.tensor([[padding] * (longest - len(p)) + list(p) for p in prompts], device=model.device)
    lengths = torch.tensor([len(p) for p in prompts], device=model.device)
    mask = torch.arange(longest, device=model.device) >= (longest - lengths)[:, None]
    cache = Cache(layer_class_to_replicate=RoomyLayer)
    logits = model(
        input_ids=ids,
        attention_mask=mask,
        position_ids=(mask.cumsum(-1) - 1).clamp(min=0),
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    ).logits[:, -1]
    if n > 1:
        cache.batch_repeat_interleave(n)
        logits, mask, lengths = (x.repeat_interleave(n, 0) for x in (logits, mask, lengths))

    alive = list(range(len(out)))
    for _ in range(max_tokens):
        chosen, logprobs = _draw(logits, temperature, generator)
        going = [
            at
            for at, (row, token, logprob) in enumerate(
                zip(alive, chosen.tolist(), logprobs.tolist(), strict=True)
            )
            if row >= 0 and _take(out[row], token, logprob, end, enough)
        ]
        if not going:
            break
        if len(going) <= SHRINK_AT * len(alive):
            keep = torch.tensor(going, device=model.device)
            cache.batch_select_indices(keep)
            mask, lengths, chosen = mask[keep], lengths[keep], chosen[keep]
            alive = [alive[at] for at in going]
        else:
            stays = set(going)
            alive = [row if at in stays else -1 for at, row in enumerate(alive)]
        mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
        logits = model(
            input_ids=chosen[:, None],
            attention_mask=mask,
            position_ids=lengths[:, None],
            past_key_values=cache,
            use_cache=True,
        ).logits[:, -1]
        lengths = lengths + 1
    return [out[i * n : (i + 1) * n] for i in range(len(prompts))]


def _take(
    row: Sample, token: int, logprob: float, end: int, enough: Callable[[int, list[int]], bool]
) -> bool:
    """Add a token to a row; False when the row is complete."""
    if token == end:
        row.ended = True
        return False
    row.tokens.append(token)
    row.logprobs.append(logprob)
    return not enough(token, row.tokens)


def _draw(
    logits: torch.Tensor, temperature: float, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    if temperature == 0:
        logprobs = logits.float().log_softmax(-1)
        chosen = logprobs.argmax(-1)
    else:
        logprobs = (logits.float() / temperature).log_softmax(-1)
        chosen = torch.multinomial(logprobs.exp(), 1, generator=generator)[:, 0]
    return chosen, logprobs.gather(-1, chosen[:, None])[:, 0]
