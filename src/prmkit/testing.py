"""The contracts of the effects, as functions to run on one's own, and two small fakes.

Each check raises an AssertionError with a sentence that says which clause is broken.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import get_args

from prmkit.types import Kind, Policy, Problem, Rater, Scorer, Scores, Step, Trajectory, Until, World


async def check_policy(policy: Policy, problems: Sequence[Problem], *, n: int = 2, tokens: int = 4) -> None:
    """A policy continues every prefix `n` times, each continuation as far as `until` says and no further.

    `tokens` is the limit tried for `until`, besides 1; what it cut is then gone on with.
    """
    starts = [Trajectory(problem) for problem in problems]
    _must(bool(starts), "a policy is checked on at least one problem")
    _must(await policy([], n) == [], "nothing in, nothing out")
    stepped = await _continued(policy, starts, n, "step")
    deeper = [*starts, *(row[0] for row in stepped)]
    ended = await _continued(policy, deeper, n, "end")
    pieces = await _continued(policy, starts, n, 1)
    longer = await _continued(policy, deeper, n, tokens)
    _check_cuts_are_marked([t for row in stepped for t in row], [t for row in pieces for t in row])
    cut = [t for row in (*pieces, *longer) for t in row if not t.closed]
    await _continued(policy, cut, n, "step")
    untils: tuple[Until, ...] = ("step", "end", tokens)
    for until in untils:
        await _continued(policy, [row[0] for row in ended], n, until)


async def _continued(
    policy: Policy, prefixes: Sequence[Trajectory], n: int, until: Until
) -> list[list[Trajectory]]:
    rows = await policy(prefixes, n, until=until)
    _must(len(rows) == len(prefixes), "one list per prefix", f"{len(rows)} for {len(prefixes)}")
    for prefix, row in zip(prefixes, rows, strict=True):
        _must(len(row) == n, "n continuations of each prefix", f"{len(row)} with n={n}")
        for whole in row:
            _check_continuation(prefix, whole, until)
    return rows


def _check_continuation(prefix: Trajectory, whole: Trajectory, until: Until) -> None:
    if prefix.closed:
        _must(whole == prefix, "a closed prefix comes back unchanged", whole)
        return
    kept = _kept(prefix, whole)
    added = Trajectory(whole.problem, whole.steps[kept:]).actions
    for step in added:
        both = bool(step.tokens and step.logprobs)
        _must(not both or len(step.tokens) == len(step.logprobs), "a logprob for every token", step)
    _must(whole != prefix, "a continuation adds something or closes", whole)
    if until == "end":
        _must(whole.closed, 'until="end" closes the trajectory', whole)
    elif until == "step":
        fits = len(added) == 1 or (not added and whole.closed)
        _must(fits, 'until="step" adds exactly one policy step, or closes', added)
        _must(whole.closed or not added[-1].partial, 'until="step" leaves no step half-written', added)
    elif all(step.tokens for step in added):
        gone_on_with = prefix.steps[kept:]
        before = sum(len(step.tokens) for step in gone_on_with)
        new = sum(len(step.tokens) for step in added) - before
        known = all(step.tokens for step in gone_on_with)
        _must(not known or new <= until, "until=<number> adds at most so many tokens", f"{new}, not {until}")


def _kept(prefix: Trajectory, whole: Trajectory) -> int:
    """How many steps of the prefix stand as they were: all, or all but a half-written last one."""
    _must(whole.problem == prefix.problem, "a continuation keeps its problem", whole.problem)
    length = len(prefix.steps)
    if whole.steps[:length] == prefix.steps:
        return length
    goes_on = (
        prefix.steps[-1].partial
        and len(whole.steps) >= length
        and whole.steps[: length - 1] == prefix.steps[:-1]
    )
    _must(goes_on, "a continuation begins with the steps of its prefix", whole.steps)
    half, step = prefix.steps[-1], whole.steps[length - 1]
    _must(step.text.startswith(half.text), "a half-written step is gone on with, not rewritten", step)
    comparable = bool(half.tokens and step.tokens) and half.tokenizer == step.tokenizer
    same = step.tokens[: len(half.tokens)] == half.tokens
    _must(same or not comparable, "a step that was gone on with keeps its first tokens", step)
    return length - 1


def _check_cuts_are_marked(stepped: list[Trajectory], pieces: list[Trajectory]) -> None:
    """No step shows that it was cut; but where steps are longer, single tokens are not all steps."""
    lengths = [len(step.tokens) for t in stepped for step in t.actions]
    long_steps = bool(lengths) and min(lengths) > 1
    unmarked = [t.actions[-1] for t in pieces if t.actions and not t.closed and not t.actions[-1].partial]
    all_unmarked = bool(unmarked) and len(unmarked) == sum(not t.closed for t in pieces)
    _must(not (long_steps and all_unmarked), "a step cut by a token limit is marked partial", unmarked)


async def check_world(world: World, trajectories: Sequence[Trajectory], *, repeatable: bool = True) -> None:
    """A world appends its answer to the last policy step and is a function of the trajectory alone."""
    _must(bool(trajectories), "a world is checked on at least one trajectory")
    _must(await world([]) == [], "nothing in, nothing out")
    answered = await world(trajectories)
    _must(len(answered) == len(trajectories), "one trajectory for each", len(answered))
    for before, after in zip(trajectories, answered, strict=True):
        _must(after.problem == before.problem, "a world keeps the problem", after.problem)
        kept = after.steps[: len(before.steps)] == before.steps
        _must(kept, "a world changes nothing that was there", after.steps)
        added = after.steps[len(before.steps) :]
        _must(all(step.by == "world" for step in added), "a world adds only steps of its own", added)
        _must(not before.closed or after == before, "a closed trajectory comes back unchanged", after)
        half_written = bool(before.steps) and before.steps[-1].partial
        _must(not (half_written and added), "a half-written step is not answered", added)
    answered_by_world = [t for t in answered if t.steps and t.steps[-1].by == "world"]
    if answered_by_world:
        again = await world(answered_by_world)
        _must(again == answered_by_world, "a world does not answer itself", again)
    if repeatable:
        alone = [(await world([t]))[0] for t in trajectories]
        _must(alone == answered, "an answer depends on its own trajectory only", alone)


async def check_scorer(
    scorer: Scorer, trajectories: Sequence[Trajectory], *, repeatable: bool = False
) -> None:
    """A scorer gives a finite number to every policy step, in [0, 1] unless it is a reward.

    `repeatable`: asked again, each trajectory alone, it says exactly the same.
    """
    _must(bool(trajectories), "a scorer is checked on at least one trajectory")
    _must(await scorer([]) == [], "nothing in, nothing out")
    together = await scorer(trajectories)
    _must(len(together) == len(trajectories), "scores for each trajectory", len(together))
    for trajectory, scores in zip(trajectories, together, strict=True):
        _check_scores(scores, len(trajectory.actions))
    if repeatable:
        alone = [(await scorer([t]))[0] for t in trajectories]
        _must(alone == together, "a score does not depend on its neighbours", alone)


def _check_scores(scores: Scores, steps: int) -> None:
    _must(len(scores.values) == steps, "one number per policy step", f"{len(scores.values)} for {steps}")
    _must(all(map(_finite, scores.values)), "finite numbers only", scores.values)
    _must(scores.kind in get_args(Kind), f"the kind is one of {', '.join(get_args(Kind))}", scores.kind)
    if scores.kind != "reward":
        _must(all(0 <= v <= 1 for v in scores.values), f"a {scores.kind} is a chance", scores.values)
    for name, part in scores.parts.items():
        _must(len(part) == steps, f"the part {name!r} has one number per policy step", part)
    _must(len(scores.tokens) in (0, steps), "token scores come for every policy step or none", scores.tokens)
    _must(len(scores.notes) in (0, steps), "notes come for every policy step or none", scores.notes)


async def check_rater(rater: Rater, trajectories: Sequence[Trajectory], *, repeatable: bool = False) -> None:
    """A rater gives one finite number to each trajectory; `repeatable` as for `check_scorer`."""
    _must(bool(trajectories), "a rater is checked on at least one trajectory")
    _must(await rater([]) == [], "nothing in, nothing out")
    together = await rater(trajectories)
    _must(len(together) == len(trajectories), "one number per trajectory", together)
    _must(all(map(_finite, together)), "finite numbers only", together)
    if repeatable:
        alone = [(await rater([t]))[0] for t in trajectories]
        _must(alone == together, "a rating does not depend on its neighbours", alone)


def _finite(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


def _must(holds: bool, clause: str, got: object = None) -> None:
    if not holds:  # not an assert statement: the contracts hold under python -O too
        raise AssertionError(clause if got is None else f"{clause}; got {got!r}")


@dataclass(frozen=True)
class ScriptedPolicy:
    """A policy that writes, for each problem, the steps its script says, and is done after the last.

    For `until` a token is a character; with `tokens` the steps carry them, at logprob 0.

    >>> import asyncio
    >>> policy = ScriptedPolicy(lambda problem: ["2+3=5. ", "5*4=20."])
    >>> [[solution]] = asyncio.run(policy([Trajectory(Problem("(2+3)*4?"))], until="end"))
    >>> solution.text, solution.stop
    ('2+3=5. 5*4=20.', 'done')
    """

    script: Callable[[Problem], Sequence[str]]
    tokens: bool = False

    async def __call__(
        self, prefixes: Sequence[Trajectory], n: int = 1, /, *, until: Until = "step"
    ) -> list[list[Trajectory]]:
        return [[self._go_on(prefix, until)] * n for prefix in prefixes]

    def _go_on(self, t: Trajectory, until: Until) -> Trajectory:
        script = self.script(t.problem)
        room = until if isinstance(until, int) else sys.maxsize
        while room > 0 and not t.closed:
            cut = bool(t.steps) and t.steps[-1].partial
            half, whole = (t.steps[-1].text, t.steps[:-1]) if cut else ("", t.steps)
            at = sum(step.by == "policy" for step in whole)
            if at >= len(script):
                return replace(t, stop="done")
            rest = script[at].removeprefix(half)
            step = self._step(half + rest[:room], partial=len(rest) > room)
            last = at == len(script) - 1 and not step.partial
            t = replace(t, steps=(*whole, step), stop="done" if last else "open")
            room = 0 if until == "step" else room - len(rest)
        return t

    def _step(self, text: str, *, partial: bool) -> Step:
        if not self.tokens:
            return Step(text, partial=partial)
        codes = tuple(map(ord, text))
        return Step(text, partial=partial, tokens=codes, logprobs=(0.0,) * len(codes), tokenizer="characters")


def constant_scorer(value: float, kind: Kind = "value") -> Scorer:
    """The same number for every policy step.

    >>> import asyncio
    >>> asyncio.run(constant_scorer(0.5)([Trajectory(Problem("1+1?"), (Step("2"),), "done")]))[0].values
    (0.5,)
    """

    async def score(trajectories: Sequence[Trajectory]) -> list[Scores]:
        return [Scores((value,) * len(t.actions), kind, source="constant") for t in trajectories]

    return score
