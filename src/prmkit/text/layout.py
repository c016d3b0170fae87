"""Where each step sits in the token sequence.

The only place that knows. Training puts a label at the end of a span, a scorer
reads a score there, and credit is laid over the span.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from prmkit.types import Step, Trajectory


class Tokenizer(Protocol):
    @property
    def name(self) -> str:
        """Whose tokens these are; a step's own tokens are taken over only under the same name."""
        ...

    def encode(self, text: str) -> list[int]:
        """The tokens of a piece of text, with nothing added before or after it."""
        ...


@dataclass(frozen=True, slots=True)
class Layout:
    ids: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]  # [start, end) of each policy step, its marker included
    prompt_length: int  # the first so many ids are the prompt

    @property
    def read_at(self) -> tuple[int, ...]:
        """The position after which a step's score is known: its last token."""
        return tuple(end - 1 for _, end in self.spans)


def lay_out(
    trajectory: Trajectory, tokenizer: Tokenizer, *, prompt: str | None = None, marker: str = ""
) -> Layout:
    """Encode piece by piece, so that a step boundary is always a token boundary.

    A step sampled with this tokenizer keeps its own tokens. `prompt` is the prompt as the model is to see
    it (through a chat template, say), the problem's own when None; `marker` is the text a scorer was
    trained to answer at, added after each policy step.
    """
    ids = list(tokenizer.encode(trajectory.problem.prompt if prompt is None else prompt))
    prompt_length = len(ids)
    mark = tokenizer.encode(marker) if marker else []
    spans: list[tuple[int, int]] = []
    for step in trajectory.steps:
        start = len(ids)
        ids += _tokens(step, tokenizer)
        if step.by == "policy":
            ids += mark
            if len(ids) == start:  # its score would be read at the end of whatever stands before it
                raise ValueError(f"policy step {len(spans)} has no tokens under {tokenizer.name!r}: {step!r}")
            spans.append((start, len(ids)))
    return Layout(tuple(ids), tuple(spans), prompt_length)


def _tokens(step: Step, tokenizer: Tokenizer) -> list[int]:
    if step.tokens and step.tokenizer == tokenizer.name:
        return list(step.tokens)
    return tokenizer.encode(step.text)
