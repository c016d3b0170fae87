"""Training a PRM: labelled steps in, a checkpoint out that `open_scorer` reads."""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    AutoTokenizer,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)

from prmkit.errors import BadInput, PrmkitError
from prmkit.names import pick
from prmkit.scorers.head import PROFILE, Profile, padded
from prmkit.text.coder import Coder
from prmkit.text.layout import Layout, lay_out
from prmkit.train.objectives import OBJECTIVES, Objective
from prmkit.types import Example

Progress = Callable[[int, int, float], None]  # (step, steps in all, loss)
REQUEST = "fit.json"  # what was asked for, in the folder of the PRM
UNFINISHED = "unfinished"  # the checkpoints of a training that is under way


@dataclass(frozen=True, slots=True)
class FitConfig:
    epochs: float = 3.0
    learning_rate: float = 1e-5
    head_factor: float = (
        100.0  # the head is new and learns so many times faster than the trunk, which knows much
    )
    batch: int = 32
    warmup: float = 0.05  # the share of steps in which the learning rate rises
    weight_decay: float = 0.01
    max_length: int = 4096  # a longer solution is an error: cutting it would lose labels in silence
    marker: str = ""
    save_every: float = 1.0  # epochs between the checkpoints that a killed run goes on from
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    layout: Layout
    labels: tuple[float | None, ...]


def fit(
    examples: Sequence[Example],
    *,
    model: str | Path,
    out: Path,
    objective: str = "bce",
    config: FitConfig = FitConfig(),
    progress: Progress | None = None,
) -> Path:
    """Train a two-label head and the whole trunk of `model`; `out` becomes a folder that `open_scorer` opens.

    Asked again for the same, a run that was killed goes on from its last checkpoint to the same weights, and
    a finished one is not repeated; a folder that holds anything else is refused.
    """
    loss = pick("objective", objective, OBJECTIVES)
    kind = _only_kind(examples)
    tokenizer = AutoTokenizer.from_pretrained(model)
    settings = AutoConfig.from_pretrained(model, num_labels=2, classifier_dropout=0.0)
    limit = min(config.max_length, getattr(settings, "max_position_embeddings", None) or config.max_length)
    rows = [_row(e, Coder(tokenizer), config.marker, limit) for e in examples]
    asked = {
        "model": str(model),
        "objective": objective,
        "kind": kind,
        **asdict(config),
        "data": _digest(rows),
    }
    work = out / UNFINISHED
    if not _begin(out, asked):
        return out
    torch.manual_seed(config.seed)  # the new head is drawn from it
    trunk: Any = AutoModelForTokenClassification.from_pretrained(model, config=settings, dtype=torch.float32)
    trainer = StepTrainer(
        model=trunk,
        args=_arguments(work, config, len(rows)),
        train_dataset=rows,
        data_collator=Collator(Coder(tokenizer).padding),
        callbacks=[Reporter(progress)],
    )
    trainer.remove_callback(PrinterCallback)  # the standard output belongs to the caller
    trainer.objective, trainer.head_factor = loss, config.head_factor
    trainer.train(resume_from_checkpoint=_last_whole(work))
    trunk.save_pretrained(out)
    tokenizer.save_pretrained(out)
    Profile(kind, config.marker, objective).save(out)
    shutil.rmtree(work)  # last, so that a kill before this line only costs saving again
    return out


def _only_kind(examples: Sequence[Example]) -> Any:
    kinds = sorted({e.kind for e in examples})
    if len(kinds) != 1:
        raise BadInput(
            f"one kind of label is needed to train on, and there are: {', '.join(kinds) or 'none'}"
        )
    if not any(label is not None for e in examples for label in e.labels):
        raise BadInput("no step of any example has a label")
    return kinds[0]


def _row(example: Example, coder: Coder, marker: str, limit: int) -> Row:
    trajectory = example.trajectory
    if len(example.labels) != len(trajectory.actions):
        raise BadInput(
            f"example {example.id!r}: {len(example.labels)} labels for {len(trajectory.actions)} policy steps"
        )
    if odd := [label for label in example.labels if label is not None and not 0 <= label <= 1]:
        raise BadInput(f"example {example.id!r}: label {odd[0]} is not in [0, 1]")
    try:
        layout = lay_out(trajectory, coder, prompt=coder.render(trajectory.problem), marker=marker)
    except ValueError as error:  # a step without a token has no place for its label
        raise BadInput(f"example {example.id!r}: {error}") from error
    if len(layout.ids) > limit:
        raise BadInput(
            f"example {example.id!r}: {len(layout.ids)} tokens, and with this model and max_length "
            f"{limit} are the most"
        )
    return Row(layout, tuple(None if label is None else float(label) for label in example.labels))


def _digest(rows: Sequence[Row]) -> str:
    parts = [(row.layout.ids, row.layout.spans, row.labels) for row in rows]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _begin(out: Path, asked: dict[str, Any]) -> bool:
    """Write the request down; False where it has been fulfilled before. A folder with anything else is refused."""
    note, work = out / REQUEST, out / UNFINISHED
    begun = json.loads(note.read_text("utf-8")) if note.exists() else None
    if begun is None and (out / PROFILE).exists():
        raise BadInput(f"{out} holds another PRM; remove it or name another folder")
    if begun is not None and begun != asked:
        different = sorted(name for name in {*begun, *asked} if begun.get(name) != asked.get(name))
        raise BadInput(
            f"{out} holds a training that was asked for something else ({', '.join(different)}); "
            "remove it or name another folder"
        )
    if begun is not None and not work.exists() and (out / PROFILE).exists():
        return False
    work.mkdir(parents=True, exist_ok=True)
    draft = note.with_suffix(".tmp")
    draft.write_text(json.dumps(asked, indent=2) + "\n", "utf-8")
    draft.replace(note)  # there whole or not at all
    return True


def _last_whole(work: Path) -> str | None:
    """The newest checkpoint that was written to its end, which is where the trainer's state is written."""
    found = {int(f.parent.name.rpartition("-")[2]): f for f in work.glob("checkpoint-*/trainer_state.json")}
    for _, state in sorted(found.items(), reverse=True):
        try:
            json.loads(state.read_text("utf-8"))
        except ValueError:  # killed while writing it
            continue
        return str(state.parent)
    return None


def _arguments(work: Path, config: FitConfig, rows: int) -> TrainingArguments:
    steps_in_epoch = -(-rows // config.batch)
    return TrainingArguments(
        output_dir=str(work),
        num_train_epochs=config.epochs,
        per_device_train_batch_size=config.batch,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.warmup,
        weight_decay=config.weight_decay,
        logging_steps=1,
        logging_nan_inf_filter=False,  # a loss that is not a number is to be seen
        save_steps=max(1, round(config.save_every * steps_in_epoch)),
        save_total_limit=1,
        seed=config.seed,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        bf16=torch.cuda.is_available(),
    )


@dataclass(frozen=True, slots=True)
class Collator:
    padding: int

    def __call__(self, rows: list[Row]) -> dict[str, torch.Tensor]:
        steps = max(len(row.labels) for row in rows)
        read_at = torch.zeros((len(rows), steps), dtype=torch.long)
        labels, mask = torch.zeros(read_at.shape), torch.zeros(read_at.shape, dtype=torch.bool)
        for i, row in enumerate(rows):
            read_at[i, : len(row.labels)] = torch.tensor(row.layout.read_at)
            for j, label in enumerate(row.labels):
                if label is not None:
                    labels[i, j], mask[i, j] = label, True
        return {
            **padded([row.layout.ids for row in rows], self.padding),
            "read_at": read_at,
            "labels": labels,
            "labelled": mask,
        }


class StepTrainer(Trainer):
    """The usual trainer; the loss is read at the ends of steps."""

    objective: Objective
    head_factor: float

    def create_optimizer(self, *args: Any, **kwargs: Any) -> Any:
        """AdamW in two groups. At one rate a fresh head would unsettle the trunk before it has learnt anything."""
        if self.optimizer is None:
            trunk: Any = self.model
            body = {id(p) for p in trunk.base_model.parameters()}
            groups = [
                {"params": [p for p in trunk.parameters() if id(p) in body], "lr": self.args.learning_rate},
                {
                    "params": [p for p in trunk.parameters() if id(p) not in body],
                    "lr": self.args.learning_rate * self.head_factor,
                },
            ]
            self.optimizer = torch.optim.AdamW(groups, weight_decay=self.args.weight_decay)
        return self.optimizer

    def compute_loss(self, model: Any, inputs: dict[str, torch.Tensor], *args: Any, **kwargs: Any) -> Any:
        logits = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).logits
        rows = torch.arange(len(logits), device=logits.device)[:, None]
        return self.objective(logits[rows, inputs["read_at"]].float(), inputs["labels"], inputs["labelled"])


class Reporter(TrainerCallback):
    """Tells how far the training is, and stops one whose loss has become no number."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        if logs and "loss" in logs:
            loss = float(logs["loss"])
            if not math.isfinite(loss):
                raise PrmkitError(
                    f"the loss is {loss} at step {state.global_step}: the learning rate is too high"
                )
            if self.progress:
                self.progress(state.global_step, state.max_steps, loss)
