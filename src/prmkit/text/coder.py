"""A Hugging Face tokenizer as the toolkit sees it: a name, exact pieces, and the prompt as the model knows it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from prmkit.types import Problem


class Coder:
    """Wraps a loaded tokenizer; importing this loads no model library."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer

    @cached_property
    def name(self) -> str:
        """The same for tokenizers that give the same ids, whatever folder they were loaded from."""
        vocabulary = json.dumps(sorted(self.tokenizer.get_vocab().items()))
        return hashlib.sha256(vocabulary.encode()).hexdigest()[:16]

    @property
    def end(self) -> int:
        """The token that closes a completion."""
        if self.tokenizer.eos_token_id is None:
            raise ValueError("the tokenizer has no end token, so no completion could ever be finished")
        return int(self.tokenizer.eos_token_id)

    @property
    def padding(self) -> int:
        """What fills the unused places of a batch; they are masked, so any token will do."""
        chosen = self.tokenizer.pad_token_id
        return self.end if chosen is None else int(chosen)

    def encode(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text that these ids spell, end and padding tokens left out."""
        return str(
            self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        )

    def render(self, problem: Problem) -> str:
        """The problem as a user's turn where the model has a chat template, as it stands where it has none."""
        if not self.tokenizer.chat_template:
            bos = self.tokenizer.bos_token or ""
            return f"{bos}{problem.prompt}\n"
        return str(
            self.tokenizer.apply_chat_template(
                [{"role": "user", "content": problem.prompt}], add_generation_prompt=True, tokenize=False
            )
        )
