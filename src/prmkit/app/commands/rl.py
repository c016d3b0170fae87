"""`prm rl`: a better policy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from prmkit.errors import BadRecord
    from prmkit.types import Credit, Curate, Rater, Trajectory

NEEDS_NO_SCORER = "outcome"


def rl(
    problems: options.Problems,
    out: options.Out,
    policy: options.Policy = options.POLICY,
    scorer: Annotated[
        str | None,
        typer.Option(metavar="SPEC", help="Who scores steps.", show_default="builtin:arith"),
    ] = None,
    credit: Annotated[
        str, typer.Option(metavar="NAME", help="What a step deserves: min, sum, progress, outcome, a recipe.")
    ] = "min",
    updates: Annotated[int, typer.Option(min=1, help="Of the policy.")] = 24,
    batch: Annotated[int, typer.Option(min=1, help="Problems in an update.")] = 16,
    samples: Annotated[int, typer.Option(min=1, help="Solutions of each problem.")] = 8,
    learning_rate: Annotated[
        float, typer.Option(help="3e-4 suits the builtin model, 1e-6 one of billions.")
    ] = 3e-4,
    kl: Annotated[float, typer.Option(min=0.0, help="Weight of staying near the start.")] = 0.0,
    seed: options.Seed = 0,
) -> None:
    """Improve a policy by reinforcement learning from step scores."""
    import prmkit
    from prmkit.app.commands.inputs import read_problems
    from prmkit.app.overview import look, summary
    from prmkit.names import load, pick
    from prmkit.scorers import open_scorer
    from prmkit.text.answers import exact_answer

    bad: list[BadRecord] = []
    rule, curate = pick("credit", credit, credits())
    usable = read_problems(problems, bad, seed=seed)
    if not usable and not bad:
        terminal.complain(f"{problems} is empty: there is nothing to learn from")
        raise typer.Exit(1)
    if usable:
        wanted = scorer or (None if credit == NEEDS_NO_SCORER else options.SCORER)
        with terminal.opening(policy):
            train = load("prmkit.train.rl:train_policy", extra="hf", what="prm rl")
            config = load("prmkit.train.rl:RLConfig", extra="hf")(
                updates=updates,
                problems=batch,
                samples=samples,
                learning_rate=learning_rate,
                kl=kl,
                seed=seed,
            )
            judge = open_scorer(wanted) if wanted else None
        with terminal.progress("training") as watch:
            check = _told(exact_answer, lambda done: watch(done, updates))
            parts = {"check": check, "credit": rule, "curate": curate, "scorer": judge}
            improved = prmkit.run(train(usable, policy=policy, out=out, config=config, **parts))
        terminal.err.print(summary(look(out)))
        terminal.done(f"the improved policy is in {improved}")
    some_bad = terminal.set_aside(bad, out / "bad.jsonl")
    typer.echo(out)
    if some_bad:
        raise typer.Exit(1)


def credits() -> dict[str, tuple[Credit, Curate | None]]:
    """The rules of credit, and the recipes that bring one and need nothing else."""
    from inspect import Parameter, signature

    from prmkit.maths.credit import CREDITS
    from prmkit.recipes import RECIPES

    plain: dict[str, tuple[Credit, Curate | None]] = {name: (rule, None) for name, rule in CREDITS.items()}
    for name, build in RECIPES.items():
        if all(p.default is not Parameter.empty for p in signature(build).parameters.values()):
            recipe = build()
            if recipe.credit is not None:
                plain[name] = (recipe.credit, recipe.curate)
    return plain


def _told(check: Rater, hear: Callable[[int], object]) -> Rater:
    """The same check; as every update asks it once, its calls tell how far a training has come."""
    calls = 0

    @functools.wraps(check)
    async def counted(trajectories: Sequence[Trajectory], /) -> list[float]:
        nonlocal calls
        outcomes = await check(trajectories)
        calls += 1
        hear(calls)
        return outcomes

    return counted
