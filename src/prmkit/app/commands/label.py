"""`prm label`: process data from problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from prmkit.data.runs import Run
    from prmkit.errors import BadRecord
    from prmkit.types import Policy, Problem, Rater, Scorer

    Method = Callable[[Policy, Rater, int], Scorer]


def label(
    problems: options.Problems,
    out: options.Out,
    policy: options.Policy = options.POLICY,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="monte-carlo, bisect, or a recipe that labels by rollouts.")
    ] = "monte-carlo",
    rollouts: Annotated[int, typer.Option(min=1, help="Continuations from each step that is probed.")] = 8,
    samples: Annotated[int, typer.Option(min=1, help="Solutions of each problem.")] = 4,
    seed: options.Seed = 0,
) -> None:
    """Sample solutions and label their steps by playing on from them."""
    from prmkit.app.commands.inputs import read_problems
    from prmkit.app.overview import read, summary
    from prmkit.data.runs import Run
    from prmkit.names import pick

    bad: list[BadRecord] = []
    chosen = pick("method", method, methods())
    usable = read_problems(problems, bad, seed=seed)
    if not usable and not bad:
        terminal.complain(f"{problems} is empty: there is nothing to label")
        raise typer.Exit(1)
    asked = {"verb": "label", "problems": problems, "policy": policy, "method": method}
    run = Run.create_or_resume(out, asked={**asked, "rollouts": rollouts, "samples": samples}, seed=seed)
    if usable:
        _work(usable, run, policy, lambda p, check: chosen(p, check, rollouts), samples, seed)
        terminal.err.print(summary(read(run)))
    some_bad = terminal.set_aside(bad, run.path / "bad.jsonl")
    typer.echo(run.path)
    if some_bad:
        raise typer.Exit(1)


def methods() -> dict[str, Method]:
    """The ways of labelling that need a policy and a check and nothing else; among them such recipes."""
    from inspect import signature

    from prmkit.recipes import RECIPES
    from prmkit.scorers.monte_carlo import bisect, monte_carlo

    def recipe(name: str) -> Method:
        def build(policy: Policy, verify: Rater, rollouts: int) -> Scorer:
            scorer = RECIPES[name](policy, verify, rollouts=rollouts).label
            assert scorer is not None, f"the recipe {name} labels nothing"
            return scorer

        return build

    plain: dict[str, Method] = {
        "monte-carlo": lambda policy, verify, k: monte_carlo(policy, verify, rollouts=k),
        "bisect": lambda policy, verify, k: bisect(policy, verify, rollouts=k),
    }
    fitting = (
        n for n, f in RECIPES.items() if list(signature(f).parameters) == ["policy", "verify", "rollouts"]
    )
    return plain | {name: recipe(name) for name in fitting}


def _work(
    problems: Sequence[Problem],
    run: Run,
    spec: str,
    label: Callable[[Policy, Rater], Scorer],
    samples: int,
    seed: int,
) -> None:
    from dataclasses import asdict

    import prmkit
    from prmkit.effects import batched, metered
    from prmkit.policies import open_policy
    from prmkit.text.answers import exact_answer
    from prmkit.verbs import make_data

    with terminal.opening(spec):
        # A sitting that goes on must not throw the dice of the first one again.
        engine, meter = metered(open_policy(spec, seed=seed + len(run.done_ids())))
    policy = batched(engine)
    try:
        with terminal.progress("labelling") as watch:
            watch(0, len(problems))
            data = make_data(
                problems,
                policy=policy,
                label=label(policy, exact_answer),
                check=exact_answer,
                run=run,
                samples=samples,
                watch=watch,
            )
            prmkit.run(data)
    except BaseException:
        run.add_cost(asdict(meter))  # what was spent is spent, also when it was stopped
        raise
    run.finish(cost=asdict(meter))
