import asyncio
import json
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from prmkit.types import Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil, Slips


@pytest.fixture
def run() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return asyncio.run


@pytest.fixture
def real_data() -> Path:
    """The folder of real data sets, which is not part of the repository."""
    here = Path(__file__).resolve().parents[1]
    folder = Path(os.environ.get("PRMKIT_DATA", here.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("the real data sets are not here: set PRMKIT_DATA to their folder")
    return folder


@pytest.fixture(scope="session")
def homework() -> list[Trajectory]:
    """Solutions of twelve problems by a pupil who slips and mends; it does not change from test to test."""
    starts = [Trajectory(p) for p in arith.problems(12, seed=3)]
    return [row[0] for row in asyncio.run(Pupil(Slips(), mend=0.3, seed=1)(starts, until="end"))]


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, homework) -> Path:
    """The folder of a Llama that has learnt nothing, with a tokenizer of its own and no chat template."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    special = ["<pad>", "<end>"]
    trainer = trainers.BpeTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    core.train_from_iterator([text for t in homework for text in (t.problem.prompt, t.text)], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<end>")

    torch.manual_seed(0)
    shape = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=512,
        num_key_value_heads=2,
        initializer_range=0.3,  # wide, so that an untrained model has clear preferences
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        **shape,
    )
    folder = tmp_path_factory.mktemp("tiny")
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_prm(tmp_path_factory, tiny) -> Path:
    """The folder of a PRM on the trunk of `tiny` that has learnt nothing either; its scores are anywhere in [0, 1]."""
    import torch
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("tiny-prm")
    model = AutoModelForTokenClassification.from_pretrained(tiny, num_labels=2, dtype=torch.float32)
    torch.nn.init.normal_(model.score.weight, std=0.3)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    (folder / "prm.json").write_text(json.dumps({"kind": "correctness", "marker": "", "objective": "bce"}))
    return folder
