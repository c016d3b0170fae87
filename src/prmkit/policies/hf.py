"""A transformers causal language model in this process, as a `Policy`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from prmkit.effects import spend
from prmkit.policies.sampling import Sample, Shape, sample
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
        self._generator = torch.Generator(model.device).manual_seed(sampling.seed)
        self._one_at_a_time = threading.Lock()
        last = sampling.separator[-1]
        self._may_end = {i for t, i in tokenizer.get_vocab().items() if last in self.coder.decode([i])}

    async def __call__(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        return await asyncio.to_thread(self._sample, list(prefixes), n, until)

    def _sample(self, prefixes: list[Trajectory], n: int, until: Until) -> list[list[Trajectory]]:
        out = [[t] * n for t in prefixes]
        ids = {i: self._ids(t) for i, t in enumerate(prefixes) if not t.closed}
        order = sorted(ids, key=lambda i: len(ids[i]))  # like lengths together: less padding
        at_once = max(1, self.sampling.rows // n)
        with self._one_at_a_time:
            for start in range(0, len(order), at_once):
                batch = order[start : start + at_once]
                rows = sample(
                    self.model,
                    [ids[i] for i in batch],
                    n,
                    end=self.coder.end,
                    padding=self.coder.padding,
                    max_tokens=self.sampling.max_tokens if isinstance(until, str) else until,
                    shape=self.sampling.shape,
                    generator=self._generator,
                    enough=self._step_is_over if until != "end" else _never,
                )
                spend(
                    prompt_tokens=sum(len(ids[i]) for i in batch),
                    generated_tokens=sum(len(s.tokens) + s.ended for row in rows for s in row),
                )
                for i, row in zip(batch, rows, strict=True):
                    out[i] = [self._extend(prefixes[i], s, until) for s in row]
        return out

    def _ids(self, trajectory: Trajectory) -> tuple[int, ...]:
        return lay_out(trajectory, self.coder, prompt=self.coder.render(trajectory.problem)).ids

    def _step_is_over(self, token: int, tokens: list[int]) -> bool:
        """True where the text since the last boundary holds something and ends a step."""
        if token not in self._may_end:
            return False
        text = self.coder.decode(tokens)
        return self.sampling.separator in text and bool(text.strip())

    def _extend(self, prefix: Trajectory, drawn: Sample, until: Until) -> Trajectory:
        steps = self._cut(drawn)
        whole = drawn.ended or (bool(steps) and self._ends_step(steps[-1].text))
        if not whole and steps:
            steps[-1] = replace(steps[-1], partial=True)
        if prefix.steps and prefix.steps[-1].partial and steps:  # go on with the half-written step
            steps[0] = _joined(prefix.steps[-1], steps[0])
            prefix = replace(prefix, steps=prefix.steps[:-1])
        stop: Stop = "done" if drawn.ended else "open"
        if stop == "open" and (until == "end" or not steps or (until == "step" and not whole)):
            stop = "length"
        return replace(prefix, steps=(*prefix.steps, *steps), stop=stop)

    def _ends_step(self, text: str) -> bool:
        return self.sampling.separator in text and bool(text.strip())

    def _cut(self, drawn: Sample) -> list[Step]:
        """The sampled tokens as steps; a boundary between steps is always a boundary between tokens."""
        steps, start = [], 0
        for end in range(1, len(drawn.tokens) + 1):
            piece = drawn.tokens[start:end]
            if end == len(drawn.tokens) or self._step_is_over(piece[-1], piece):
                steps.append(
                    Step(
                        self.coder.decode(piece),
                        tokens=tuple(piece),
                        logprobs=tuple(drawn.logprobs[start:end]),
                        tokenizer=self.coder.name,
                    )
                )
                start = end
        return steps


def _joined(begun: Step, rest: Step) -> Step:
    return replace(
        rest,
        text=begun.text + rest.text,
        tokens=begun.tokens + rest.tokens,
        logprobs=begun.logprobs + rest.logprobs,
    )


def _never(token: int, tokens: list[int]) -> bool:
    return False
