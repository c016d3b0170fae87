"""How the policy that ships as `builtin:arith` was made: a small Llama trained on a slipping pupil's work.

    python tools/train_builtin_arith.py OUT [--demonstrations 600000] [--steps 6000]

The pupil's slips put the trained policy between 40 and 70 % solved at one sample, and its
habit of sometimes noticing an error makes the trunk tell right steps from wrong ones.
Runs on one GPU in a few minutes; on a CPU it takes hours, which is why the result ships.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from prmkit.types import Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil, Slips

PUPIL = Pupil(Slips(), mend=0.2)
USER, ASSISTANT, END, PAD = "<|user|>", "<|assistant|>", "<|end|>", "<|pad|>"
CHAT = (
    "{% for m in messages %}{{ '<|' + m['role'] + '|>' + m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
LONGEST = 208  # tokens; a pupil that goes round in circles is no example
FIRST_SEED = 10_000_000  # far from the seeds that evaluations use: no problem list is ever shared


def demonstrations(job: tuple[int, int]) -> list[tuple[str, str]]:
    """(problem, solution) pairs by one seeded pupil."""
    seed, count = job
    pupil = Pupil(PUPIL.slips, PUPIL.mend, seed)
    starts = [Trajectory(p) for p in arith.problems(count, seed=FIRST_SEED + seed, operations=(2, 7))]
    rows = asyncio.run(pupil(starts, 1, until="end"))
    return [(t.problem.prompt, t.text) for (t,) in rows]


def make_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """Byte-level BPE that never merges digits, so that arithmetic is done digit by digit."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=448,
        special_tokens=[PAD, END, USER, ASSISTANT],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    wrapped = PreTrainedTokenizerFast(tokenizer_object=core, eos_token=END, pad_token=PAD)
    wrapped.chat_template = CHAT
    return wrapped


def encode(
    tokenizer: PreTrainedTokenizerFast, pairs: list[tuple[str, str]]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Right-padded ids, and the same with -100 where there is nothing to learn."""
    prompts = tokenizer([f"{USER}{p}{ASSISTANT}" for p, _ in pairs], add_special_tokens=False)["input_ids"]
    answers = tokenizer([f"{s}{END}" for _, s in pairs], add_special_tokens=False)["input_ids"]
    kept = [(p, a) for p, a in zip(prompts, answers, strict=True) if len(p) + len(a) <= LONGEST]
    ids = torch.full((len(kept), LONGEST), tokenizer.pad_token_id, dtype=torch.int16)
    labels = torch.full((len(kept), LONGEST), -100, dtype=torch.int16)
    for row, (p, a) in enumerate(kept):
        ids[row, : len(p) + len(a)] = torch.tensor(p + a, dtype=torch.int16)
        labels[row, len(p) : len(p) + len(a)] = torch.tensor(a, dtype=torch.int16)
    return ids, labels


def train(
    model: LlamaForCausalLM, ids: torch.Tensor, labels: torch.Tensor, *, steps: int, batch: int, rate: float
) -> None:
    device = model.device
    ids, labels = ids.to(device), labels.to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.98), weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.05)
    generator = torch.Generator().manual_seed(0)
    started = time.time()
    for step in range(steps):
        rows = torch.randint(len(ids), (batch,), generator=generator).to(device)
        width = int((labels[rows] != -100).nonzero()[:, 1].max()) + 1
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            loss = model(input_ids=ids[rows, :width].long(), labels=labels[rows, :width].long()).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad(set_to_none=True)
        if step % 50 == 0 or step == steps - 1:
            print(f"step {step} loss {loss.item():.4f} {time.time() - started:.0f}s", flush=True)


def new_model(asked: argparse.Namespace, tokenizer: PreTrainedTokenizerFast) -> LlamaForCausalLM:
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=asked.hidden,
            intermediate_size=3 * asked.hidden,
            num_hidden_layers=asked.layers,
            num_attention_heads=asked.hidden // 32,
            num_key_value_heads=asked.hidden // 32,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--demonstrations", type=int, default=600_000)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--start", type=Path, help="go on from this checkpoint and its tokenizer")
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--workers", type=int, default=16)
    asked = parser.parse_args()

    share = asked.demonstrations // asked.workers
    with ProcessPoolExecutor(asked.workers) as pool:
        jobs = [(seed, share) for seed in range(asked.workers)]
        pairs = [pair for part in pool.map(demonstrations, jobs) for pair in part]
    random.Random(0).shuffle(pairs)
    tokenizer = (
        PreTrainedTokenizerFast.from_pretrained(asked.start)
        if asked.start
        else make_tokenizer([text for pair in pairs[:5000] for text in pair])
    )
    ids, labels = encode(tokenizer, pairs)
    print(f"{len(ids)} of {len(pairs)} demonstrations, {len(tokenizer)} tokens", flush=True)

    torch.manual_seed(0)
    model = LlamaForCausalLM.from_pretrained(asked.start) if asked.start else new_model(asked, tokenizer)
    model = model.to("cuda" if torch.cuda.is_available() else "cpu", torch.float32)
    print(f"{sum(p.numel() for p in model.parameters())} parameters", flush=True)
    train(model, ids, labels, steps=asked.steps, batch=asked.batch, rate=asked.rate)
    model.to("cpu", torch.float16).save_pretrained(asked.out)  # half the bytes; opened in float32
    tokenizer.save_pretrained(asked.out)


if __name__ == "__main__":
    main()
