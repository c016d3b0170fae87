"""Training a policy on what its own steps deserve, in this process.

    sample → check and score → curate → credit → an advantage per token → a clipped step

An update depends on the weights, the seed and its own number, and on nothing that was drawn
before it. So a run that was killed goes on from its last checkpoint to the same end, and
watching a run does not change it.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

from prmkit.data.runs import Run
from prmkit.effects import metered
from prmkit.errors import BadInput
from prmkit.policies import open_policy
from prmkit.policies.hf import HFPolicy
from prmkit.policies.sampling import Shape
from prmkit.train import checkpoint
from prmkit.train.learner import Batch, Learner, RLConfig, Row, lay_credit
from prmkit.types import Credit, Curate, Group, Kind, Problem, Rater, Scorer, Scores, Step, Trajectory

__all__ = ["RLConfig", "Watch", "train_policy"]

Watch = Callable[[int, HFPolicy], Awaitable[Mapping[str, float]]]
USUAL = RLConfig()
WATCHED = "watch."


@dataclass(frozen=True, slots=True)
class Signal:
    """What makes advantages out of the samples of a problem."""

    check: Rater
    credit: Credit
    scorer: Scorer | None = None
    curate: Curate | None = None


async def train_policy(
    problems: Sequence[Problem],
    *,
    policy: str | Path,
    check: Rater,
    credit: Credit,
    out: Path,
    scorer: Scorer | None = None,
    curate: Curate | None = None,
    config: RLConfig = USUAL,
    watch: Watch | None = None,
) -> Path:
    """A better policy, as a folder that `open_policy` opens; `out` is its run folder.

    `watch(update, policy)` is asked for numbers before the first update, every `config.watch_every`
    updates and after the last one; the metrics show them as `watch.<name>`. Asked again for the same, a
    run that was cut off goes on from its last checkpoint, and a finished one is not repeated.
    """
    signal = Signal(check, credit, scorer, curate)
    _refuse(problems, signal, config)
    opened = _open(policy, config)
    run = Run.create_or_resume(out, asked=_asked(problems, policy, signal, config), seed=config.seed)
    if run.about.finished:
        return run.path / "policy"
    learner = Learner(opened.model, config, opened.sampling.shape.temperature)
    done, folder = checkpoint.last(run.path) or (0, None)
    if folder is not None:
        learner.load(folder)
    log = _Log(run)

    async def look(update: int) -> None:
        due = update % config.watch_every == 0 or update == config.updates
        if watch is not None and due and not log.has(update, watched=True):
            numbers = await watch(update, _reseeded(opened, config.seed, opened.sampling.shape))
            log.write(update, {WATCHED + name: number for name, number in numbers.items()}, watched=True)

    await look(done)
    for update in range(done + 1, config.updates + 1):
        chosen = _take(problems, config.problems, update, config.seed)
        log.write(update, await _update(update, chosen, opened, learner, signal, run))
        await look(update)
        if update % config.save_every == 0 and update < config.updates:
            checkpoint.save(run.path, update, learner.save)
    checkpoint.appear(run.path / "policy", lambda draft: _write(opened, draft))
    run.finish()
    checkpoint.clear(run.path)
    return run.path / "policy"


async def _update(
    update: int, problems: Sequence[Problem], policy: HFPolicy, learner: Learner, signal: Signal, run: Run
) -> dict[str, float]:
    config = learner.config
    # From the whole distribution, whatever top-k or top-p the model is used with: only then are the
    # log-probabilities of the loss those of the sampling.
    seed = random.Random(f"{config.seed}-sample-{update}").getrandbits(63)
    sampler, meter = metered(_reseeded(policy, seed, Shape(learner.temperature)))
    samples = await sampler([Trajectory(p) for p in problems], config.samples, until="end")
    run.add_cost(asdict(meter))
    groups = await _judged(samples, signal)
    lessons = [_lesson(signal.curate(g) if signal.curate else g, signal.credit, policy) for g in groups]
    numbers = {**_summary(groups), "taught": fmean(bool(rows) for rows in lessons)}
    if rows := list(chain.from_iterable(lessons)):
        batch = Batch.of(rows, padding=policy.coder.padding, device=policy.model.device)
        numbers |= await asyncio.to_thread(learner.learn, batch, seed=f"{config.seed}-learn-{update}")
    return numbers


async def _judged(samples: Sequence[Sequence[Trajectory]], signal: Signal) -> list[Group]:
    """A group per problem, with all that the checker and the scorer say of it."""
    flat = list(chain.from_iterable(samples))
    outcomes = await signal.check(flat)
    scores = await signal.scorer(flat) if signal.scorer else []
    if len(outcomes) != len(flat) or (signal.scorer and len(scores) != len(flat)):
        raise ValueError(f"{len(outcomes)} outcomes, {len(scores)} step scores for {len(flat)} trajectories")
    n = len(samples[0])
    parts = [slice(at, at + n) for at in range(0, len(flat), n)]
    return [Group(tuple(flat[part]), tuple(outcomes[part]), tuple(scores[part])) for part in parts]


def _lesson(group: Group, credit: Credit, policy: HFPolicy) -> list[Row]:
    """What a group teaches: nothing when no step of it did better or worse than was to be expected."""
    advantages = credit(group) if group.trajectories else []
    if not any(chain.from_iterable(advantages)):
        return []
    pairs = zip(group.trajectories, advantages, strict=True)
    return [lay_credit(trajectory, row, policy.coder) for trajectory, row in pairs if row]


def _summary(groups: Sequence[Group]) -> dict[str, float]:
    """What was sampled: a mean per name, over solutions or over steps.

    A policy that plays its scorer shows in jumps of `steps` and `tokens_per_step`, and in a `score` that
    rises while `reward` does not (card 023).
    """
    trajectories = [t for g in groups for t in g.trajectories]
    outcomes = [o for g in groups for o in g.outcomes]
    scores = [v for g in groups for s in g.scores for v in s.values]
    lengths = [len(s.tokens) for t in trajectories for s in t.actions]
    means: dict[str, Sequence[float]] = {
        "reward": outcomes,
        "solved": [o > 0.5 for o in outcomes],
        "score": scores,
        "steps": [len(t.actions) for t in trajectories],
        "tokens_per_step": lengths,
        "cut": [t.stop == "length" for t in trajectories],
    }
    return {name: fmean(numbers) for name, numbers in means.items() if numbers}


# --- what was asked ---------------------------------------------------------------------------------


def _refuse(problems: Sequence[Problem], signal: Signal, config: RLConfig) -> None:
    """Say before anything is sampled what could not work, by a rehearsal on a made-up group."""
    if not problems:
        raise BadInput("there are no problems to train on")
    for name in (
        "updates",
        "problems",
        "samples",
        "epochs",
        "minibatch",
        "rows",
        "watch_every",
        "save_every",
    ):
        if getattr(config, name) < 1:
            raise BadInput(f"{name} must be at least 1, not {getattr(config, name)}")
    n = config.samples
    bare = Group((Trajectory(problems[0], (Step("…"),), "done"),) * n, (0.0,) * n)
    scored = [replace(bare, scores=(Scores((0.5,), kind),) * n) for kind in get_args(Kind)]
    errors: list[ValueError] = []
    for group in scored if signal.scorer else [bare]:
        try:
            if signal.curate:
                signal.curate(group)
            signal.credit(group)
        except ValueError as error:
            errors.append(error)
        else:
            return  # scores of some kind will do
    raise BadInput(
        f"this credit cannot be given with {n} samples a problem and "
        f"{'a' if signal.scorer else 'no'} scorer: {errors[-1]}"
    ) from errors[-1]


def _open(spec: str | Path, config: RLConfig) -> HFPolicy:
    asked = {"temperature": config.temperature, "max_tokens": config.max_tokens}
    opened = open_policy(str(spec), **{name: value for name, value in asked.items() if value is not None})
    if not isinstance(opened, HFPolicy):
        raise BadInput(f"the policy {str(spec)!r} does not run in this process, so it is not trained here")
    if opened.sampling.shape.temperature == 0:
        raise BadInput("at temperature 0 all samples of a problem are alike and teach nothing")
    return opened


def _asked(
    problems: Sequence[Problem], policy: str | Path, signal: Signal, config: RLConfig
) -> dict[str, Any]:
    texts = "\0".join(f"{p.prompt}\0{p.answer}" for p in problems)
    parts = {"check": signal.check, "credit": signal.credit, "scorer": signal.scorer, "curate": signal.curate}
    return {
        "verb": "train_policy",
        "policy": str(policy),
        "problems": {"count": len(problems), "sha256": hashlib.sha256(texts.encode()).hexdigest()},
        "config": asdict(config),
        **{name: _called(part) for name, part in parts.items()},
    }


def _called(part: object) -> str | None:
    return None if part is None else str(getattr(part, "__qualname__", type(part).__qualname__))


# --- the course of a run ----------------------------------------------------------------------------


def _take(problems: Sequence[Problem], count: int, update: int, seed: int) -> list[Problem]:
    """The problems of an update, counted from 1: round after round through all, each in a new order."""
    first, line = divmod((update - 1) * count, len(problems))
    rounds: list[Problem] = []
    for lap in range(first, (update * count - 1) // len(problems) + 1):
        rounds += random.Random(f"{seed}-round-{lap}").sample(problems, len(problems))
    return rounds[line : line + count]


def _reseeded(policy: HFPolicy, seed: int, shape: Shape) -> HFPolicy:
    """The same weights; what it draws depends on the seed alone."""
    return HFPolicy(policy.model, policy.coder.tokenizer, replace(policy.sampling, seed=seed, shape=shape))


def _write(policy: HFPolicy, folder: Path) -> None:
    policy.model.save_pretrained(folder)
    policy.coder.tokenizer.save_pretrained(folder)


class _Log:
    """The run's metrics: each update's once, also where it had to be done again."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._seen = {(row["update"], any(name.startswith(WATCHED) for name in row)) for row in run.metrics()}

    def has(self, update: int, *, watched: bool = False) -> bool:
        return (update, watched) in self._seen

    def write(self, update: int, numbers: Mapping[str, float], *, watched: bool = False) -> None:
        if numbers and not self.has(update, watched=watched):
            self._run.append_metric(update=update, **numbers)
            self._seen.add((update, watched))
