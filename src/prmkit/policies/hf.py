"""A transformers causal language model in this process, as a `Policy`."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from prmkit.effects import spend
from prmkit.errors import BadInput
from prmkit.policies.sampling import Enough, Sample, Shape, sample
from prmkit.text.coder import Coder
from prmkit.text.layout import lay_out
from prmkit.types import Step, Stop, Trajectory, Until


@dataclass(frozen=True, slots=True)
class Sampling:
    shape: Shape = Shape()
    separator: str = "\n"  # a step ends with it; "\n\n" for models that write paragraphs
    max_tokens: int = 1024  # of one completion
    rows: int = 512  # sequences decoded side by side
    seed: int = 0


def open(
    model: str | Path,
    *,
    device: str = "",
    temperature: float | None = None,
    top_k: int | None = None,
    top_p: float | None = None,
    **sampling: Any,
) -> HFPolicy:
    """The causal language model saved under a path or known to the hub by a name.

    Temperature, top-k and top-p are the model's own (its generation config) where they are not given.
    """
    where = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if where.startswith("cuda") else torch.float32
    loaded: Any = AutoModelForCausalLM.from_pretrained(model, dtype=dtype)
    own = loaded.generation_config.to_dict() if loaded.generation_config.do_sample else {}
    given: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    chosen = {name: own.get(name) if value is None else value for name, value in given.items()}
    shape = Shape(**{name: value for name, value in chosen.items() if value is not None})
    tokenizer = AutoTokenizer.from_pretrained(model)
    return HFPolicy(loaded.to(where).eval(), tokenizer, Sampling(shape, **sampling))


class HFPolicy:
    """Steps are cut at the separator; each keeps the tokens and log-probabilities it was sampled with."""

    def __init__(self, model: Any, tokenizer: Any, sampling: Sampling = Sampling()) -> None:
        self.model, self.coder, self.sampling = model, Coder(tokenizer), sampling
        config = model.config.get_text_config()  # the language part, where a model has others
        self.limit: int = getattr(config, "max_position_embeddings", None) or sys.maxsize
        self._generator = torch.Generator(model.device).manual_seed(sampling.seed)
        self._one_at_a_time = threading.Lock()
        may_end = {sampling.separator[-1], "\ufffd"}  # the last character, or some of its bytes
        self._may_end = {i for i in tokenizer.get_vocab().values() if may_end & set(self.coder.decode([i]))}

    async def __call__(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        return await asyncio.to_thread(self._sample, list(prefixes), n, until)

    def _sample(self, prefixes: list[Trajectory], n: int, until: Until) -> list[list[Trajectory]]:
        out = [[t if t.closed else replace(t, stop="length")] * n for t in prefixes]
        ids = {i: self._ids(t) for i, t in enumerate(prefixes) if not t.closed}
        room = {i: self._room(prefixes[i], len(ids[i]), until) for i in ids}
        order = sorted((i for i in ids if room[i]), key=lambda i: len(ids[i]))  # like lengths: less padding
        at_once = max(1, self.sampling.rows // n)
        with self._one_at_a_time:
            for start in range(0, len(order), at_once):
                batch = order[start : start + at_once]
                begun = [self._begun(prefixes[i]) for i in batch]
                rows = sample(
                    self.model,
                    [ids[i] for i in batch],
                    n,
                    end=self.coder.end,
                    padding=self.coder.padding,
                    max_tokens=[room[i] for i in batch],
                    shape=self.sampling.shape,
                    generator=self._generator,
                    enough=_never if until == "end" else self._at_step_ends([b.tokens for b in begun]),
                )
                spend(
                    prompt_tokens=sum(len(ids[i]) for i in batch),
                    generated_tokens=sum(len(s.tokens) + s.ended for row in rows for s in row),
                )
                for i, half, row in zip(batch, begun, rows, strict=True):
                    out[i] = [self._extend(prefixes[i], half, s, until) for s in row]
        return out

    def _room(self, trajectory: Trajectory, length: int, until: Until) -> int:
        """How many tokens may be added; 0 where the work so far fills all that the model reads."""
        if length >= self.limit and not trajectory.steps:
            raise BadInput(
                f"problem {trajectory.problem.id!r}: its prompt has {length} tokens, and the model reads "
                f"{self.limit} at most, its own included"
            )
        wanted = self.sampling.max_tokens if isinstance(until, str) else until
        return max(0, min(wanted, self.limit - length))

    def _ids(self, trajectory: Trajectory) -> tuple[int, ...]:
        return lay_out(trajectory, self.coder, prompt=self.coder.render(trajectory.problem)).ids

    def _begun(self, prefix: Trajectory) -> Sample:
        """The half-written step that is to be gone on with, in this model's tokens; empty where there is none."""
        last = prefix.steps[-1] if prefix.steps else None
        if last is None or not last.partial:
            return Sample()
        if last.tokens and last.tokenizer == self.coder.name:
            return Sample(list(last.tokens), list(last.logprobs))
        return Sample(self.coder.encode(last.text))

    def _at_step_ends(self, begun: list[list[int]]) -> Enough:
        return lambda i, tokens: self._step_is_over([*begun[i], *tokens])

    def _step_is_over(self, tokens: list[int]) -> bool:
        return tokens[-1] in self._may_end and self._ends_step(self.coder.decode(tokens))

    def _ends_step(self, text: str) -> bool:
        """True where a separator follows something; blank lines before a step belong to it."""
        return self.sampling.separator in text.lstrip()

    def _extend(self, prefix: Trajectory, begun: Sample, drawn: Sample, until: Until) -> Trajectory:
        steps = self._cut(begun, drawn)
        if begun.tokens:
            prefix = replace(prefix, steps=prefix.steps[:-1])
        whole = drawn.ended or self._ends_step(steps[-1].text)
        if not whole:
            # A character may be cut, too: its bytes are among the tokens, and its text comes with the rest.
            steps[-1] = replace(steps[-1], partial=True, text=steps[-1].text.rstrip("\ufffd"))
        stop: Stop = "done" if drawn.ended else "open"
        if stop == "open" and (until == "end" or (until == "step" and not whole)):
            stop = "length"
        return replace(prefix, steps=(*prefix.steps, *steps), stop=stop)

    def _cut(self, begun: Sample, drawn: Sample) -> list[Step]:
        """What was begun and what was drawn, as steps; a boundary between steps is one between tokens."""
        tokens, steps, start = begun.tokens + drawn.tokens, [], 0
        # Where only the text of the beginning is known, its step has no log-probabilities.
        unknown = len(begun.tokens) - len(begun.logprobs)
        logprobs = [None] * unknown + begun.logprobs + drawn.logprobs
        for end in range(max(1, len(begun.tokens)), len(tokens) + 1):
            piece = tokens[start:end]
            if end == len(tokens) or self._step_is_over(piece):
                known = tuple(p for p in logprobs[start:end] if p is not None)
                steps.append(
                    Step(
                        self.coder.decode(piece),
                        tokens=tuple(piece),
                        logprobs=known if len(known) == len(piece) else (),
                        tokenizer=self.coder.name,
                    )
                )
                start = end
        return steps


def _never(prompt: int, tokens: list[int]) -> bool:
    return False
