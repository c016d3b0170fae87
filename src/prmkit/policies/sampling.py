"""Sampling many continuations at once from a causal language model: token ids in, token ids out.

A prompt is read once however many samples it gets; a finished row leaves the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicLayer

Enough = Callable[[int, list[int]], bool]
SHRINK_AT = 0.75  # compacting copies the cache, so it waits until a quarter of the rows are done


class RoomyLayer(DynamicLayer):  # type: ignore[no-untyped-call]
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

    def _append(self, store: str, seen: torch.Tensor | None, new: torch.Tensor) -> torch.Tensor:
        length = seen.shape[-2] if seen is not None and seen.numel() else 0
        wanted = length + new.shape[-2]
        room: torch.Tensor | None = getattr(self, store)
        if room is None or seen is None or room.data_ptr() != seen.data_ptr() or room.shape[-2] < wanted:
            rows, heads, _, width = new.shape
            room = new.new_empty((rows, heads, wanted + self.ROOM, width))
            if seen is not None and length:
                room[:, :, :length] = seen
            setattr(self, store, room)
        room[:, :, length:wanted] = new
        return room[:, :, :wanted]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a model's distribution is bent before a token is drawn from it; temperature 0 is greedy."""

    temperature: float = 1.0
    top_k: int = 0  # keep so many of the likeliest tokens; 0 keeps all
    top_p: float = 1.0  # keep the likeliest tokens up to this much probability

    def logprobs(self, logits: torch.Tensor) -> torch.Tensor:
        logprobs = (logits.float() / (self.temperature or 1.0)).log_softmax(-1)
        if self.top_k:
            least = logprobs.topk(min(self.top_k, logits.shape[-1]), -1).values[:, -1:]
            logprobs = logprobs.masked_fill(logprobs < least, -torch.inf).log_softmax(-1)
        if self.top_p < 1:
            ranked, order = logprobs.sort(-1, descending=True)
            before = ranked.exp().cumsum(-1) - ranked.exp()  # the likeliest token always stays
            kept = torch.empty_like(ranked, dtype=torch.bool).scatter_(-1, order, before < self.top_p)
            logprobs = logprobs.masked_fill(~kept, -torch.inf).log_softmax(-1)
        return logprobs


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
    max_tokens: Sequence[int],
    shape: Shape,
    generator: torch.Generator,
    enough: Enough,
) -> list[list[Sample]]:
    """`n` continuations of every prompt, of `max_tokens[i]` tokens at most for prompt i.

    `enough(i, tokens so far)` says where a continuation of prompt i may stop before that. Log-probabilities
    are those of the distribution sampled from.
    """
    if min(max_tokens) < 1:
        raise ValueError(f"a continuation has at least one token, not {min(max_tokens)}")
    out = [Sample() for _ in range(len(prompts) * n)]
    longest = max(map(len, prompts))
    ids = torch.tensor([[padding] * (longest - len(p)) + list(p) for p in prompts], device=model.device)
    lengths = torch.tensor([len(p) for p in prompts], device=model.device)
    last = lengths + torch.tensor(max_tokens, device=model.device) - 1
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
        logits, mask, lengths, last = (x.repeat_interleave(n, 0) for x in (logits, mask, lengths, last))

    alive = list(range(len(out)))
    while True:
        chosen, logprobs = _draw(logits, shape, generator)
        drawn = zip(alive, chosen.tolist(), logprobs.tolist(), strict=True)
        going = [
            at
            for at, (row, token, logprob) in enumerate(drawn)
            if row >= 0
            and _take(out[row], token, logprob, end)
            and len(out[row].tokens) < max_tokens[row // n]
            and not enough(row // n, out[row].tokens)
        ]
        if not going:
            break
        if len(going) <= SHRINK_AT * len(alive):
            keep = torch.tensor(going, device=model.device)
            cache.batch_select_indices(keep)
            mask, lengths, last, chosen = mask[keep], lengths[keep], last[keep], chosen[keep]
            alive = [alive[at] for at in going]
        else:
            stays = set(going)
            alive = [row if at in stays else -1 for at, row in enumerate(alive)]
        mask = torch.cat([mask, mask.new_ones((len(mask), 1))], dim=1)
        logits = model(
            input_ids=chosen[:, None],
            attention_mask=mask,
            position_ids=torch.minimum(lengths, last)[:, None],  # a finished row goes no further than it may
            past_key_values=cache,
            use_cache=True,
        ).logits[:, -1]
        lengths = lengths + 1
    return [out[i * n : (i + 1) * n] for i in range(len(prompts))]


def _take(row: Sample, token: int, logprob: float, end: int) -> bool:
    """Add a token to a row; False when it is the one that ends the row."""
    row.ended = token == end
    if not row.ended:
        row.tokens.append(token)
        row.logprobs.append(logprob)
    return not row.ended


def _draw(
    logits: torch.Tensor, shape: Shape, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    logprobs = shape.logprobs(logits)
    if shape.temperature == 0:
        chosen = logprobs.argmax(-1)
    else:
        # By inverting the cumulative distribution: one random number a row, not one a word of the vocabulary.
        cumulative = logprobs.exp().cumsum(-1)
        total = cumulative[:, -1:]
        at = torch.rand((len(logits), 1), device=logits.device, generator=generator) * total
        # Rounding may bring `at` up to the total, past the last token that can be drawn.
        at = torch.minimum(at, torch.nextafter(total, torch.zeros_like(total)))
        chosen = torch.searchsorted(cumulative, at, right=True)[:, 0]
    return chosen, logprobs.gather(-1, chosen[:, None])[:, 0]
