"""`prm solve`: one problem, by search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prmkit.app.commands import options, terminal

if TYPE_CHECKING:
    from prmkit.types import Candidate, Scores, Search


def solve(
    problem: Annotated[str, typer.Argument(metavar="PROBLEM", help="Its text; - is the standard input.")],
    policy: options.Policy = options.POLICY,
    scorer: options.Scorer = options.SCORER,
    search: Annotated[
        str, typer.Option(metavar="NAME", help="best-of-n, beam, mcts, particles or diverse-trees.")
    ] = "best-of-n",
    n: Annotated[int, typer.Option("-n", min=1, help="Candidates of a round, or simulations of mcts.")] = 16,
    aggregate: Annotated[
        str, typer.Option(metavar="NAME", help="Step scores to one number: last, mean, min or product.")
    ] = "min",
    seed: options.Seed = 0,
    json: options.AsJson = False,
) -> None:
    """Solve a problem by search, steered by step scores."""
    import prmkit
    from prmkit import verbs
    from prmkit.effects import metered
    from prmkit.errors import BadInput
    from prmkit.maths.aggregate import AGGREGATES
    from prmkit.names import pick
    from prmkit.policies import open_policy
    from prmkit.scorers import open_scorer
    from prmkit.scorers.combine import by_steps
    from prmkit.types import Problem

    text = typer.get_text_stream("stdin").read() if problem == "-" else problem
    if not text.strip():
        raise BadInput("the problem is empty: give its text, or - to read it from the standard input")
    strategy = pick("search", search, searches())(n)
    together = pick("aggregate", aggregate, AGGREGATES)
    with terminal.opening(f"{policy} and {scorer}"):
        writer, meter = metered(open_policy(policy, seed=seed))
        judge = open_scorer(scorer)

    async def work() -> tuple[Candidate, Scores]:
        rate = by_steps(judge, together)
        chosen = await verbs.solve(Problem(text.strip()), writer, rate, search=strategy)
        (scores,) = await judge([chosen.trajectory])
        return chosen, scores

    with terminal.err.status("searching"):
        chosen, scores = prmkit.run(work())
    if json:
        cost = asdict(meter)
        typer.echo(_as_json({"search": search, "n": n, "aggregate": aggregate}, chosen, scores, cost))
    else:
        _show(chosen, scores, aggregate)


def searches() -> dict[str, Callable[[int], Search]]:
    """Each search at a size: so many candidates in a round, or simulations of a tree."""
    from math import isqrt

    from prmkit.search.frontier import beam, best_of_n, diverse_trees, particles
    from prmkit.search.tree import mcts

    return {
        "best-of-n": best_of_n,
        "beam": lambda n: beam(n // isqrt(n), isqrt(n)),
        "mcts": mcts,
        "particles": particles,
        "diverse-trees": lambda n: diverse_trees(n // isqrt(n), isqrt(n)),
    }


def _as_json(asked: dict[str, Any], chosen: Candidate, scores: Scores, cost: dict[str, Any]) -> str:
    from json import dumps

    from prmkit.text.answers import final_answer

    solution = {
        "problem": chosen.trajectory.problem.prompt,
        "answer": final_answer(chosen.trajectory.text),
        "value": chosen.value,
        "steps": [s.text for s in chosen.trajectory.steps],
        "scores": list(scores.values),
        "kind": scores.kind,
        "source": scores.source,
        "stop": chosen.trajectory.stop,
    }
    return dumps(solution | asked | {"cost": cost}, ensure_ascii=False)


def _show(chosen: Candidate, scores: Scores, aggregate: str) -> None:
    from rich.text import Text

    from prmkit.app.show import steps_view
    from prmkit.text.answers import final_answer

    terminal.out.print(steps_view(chosen.trajectory, scores))
    answer = final_answer(chosen.trajectory.text)
    ends = {"done": "", "length": " (cut: too long)", "open": " (unfinished)", "error": " (failed)"}
    shown = Text(f"\nanswer  {answer or 'none'}", "bold")
    shown.append(f"   {aggregate} of steps {chosen.value:.2f}{ends[chosen.trajectory.stop]}", "not bold dim")
    terminal.out.print(shown)
