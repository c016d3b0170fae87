"""The loop: sample → label by rollouts → train → measure → search → improve the policy → report.

Every stage keeps what it made under the output folder. Started again, the demo takes up what is
there and does the rest. The oracle of the world only ever measures; it never labels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from statistics import fmean

from prmkit.app.commands import terminal
from prmkit.app.demo.compare import Choose, Pool, Spent, kept, over_budgets, searched
from prmkit.app.demo.improve import improve
from prmkit.app.demo.page import page
from prmkit.app.demo.screen import Screen
from prmkit.app.demo.settings import ORACLE, ORM, PRM, Settings
from prmkit.app.demo.truth import accuracy
from prmkit.app.report import interval_text, render
from prmkit.data.jsonl import write_whole
from prmkit.data.runs import Run
from prmkit.effects import batched, metered
from prmkit.maths import aggregate as agg
from prmkit.policies import open_policy, policy_folder
from prmkit.scorers import open_scorer
from prmkit.scorers.combine import by_steps
from prmkit.scorers.monte_carlo import monte_carlo
from prmkit.search import frontier, tree
from prmkit.text.answers import exact_answer
from prmkit.train.fit import fit
from prmkit.types import Scorer
from prmkit.verbs import OUTCOME, examples_from, make_data
from prmkit.worlds import arith

LABELS = "monte-carlo"


def demo(out: Path, seed: int = 0, settings: Settings | None = None) -> Path:
    """Run the loop, or the rest of it, and write `report.html`; the path of the report is returned."""
    settings = settings or Settings(seed=seed)
    terminal.quiet()
    with Screen(terminal.err) as screen:
        report = asyncio.run(_loop(out, settings, screen))
    terminal.done(f"the report: {report}")
    return report


async def _loop(out: Path, settings: Settings, screen: Screen) -> Path:
    run = Run.create_or_resume(out, asked={"verb": "demo", **asdict(settings)}, seed=settings.seed)
    data = await _label(out / "data", settings, screen)
    scorers = _train(data, out, settings, screen)
    pools = await _sample_tests(out / "test", scorers, settings, screen)
    truths = {name: accuracy(pools, name) for name in (PRM, ORM)}
    for name, truth in truths.items():
        screen.figure(f"{name}: first-error F1", interval_text(truth.f1))
    compared = _choose(pools, settings)
    compared |= await _search(out, pools, scorers[PRM], settings, screen)
    for method, spent in compared.items():
        screen.figure(method, interval_text(spent[max(spent)].interval))
    learnt = await improve(out, scorers[PRM], [pool.problem for pool in pools], settings, screen)
    for name, result in learnt.items():
        screen.figure(f"one sample after RL, {name}", interval_text(result.after.interval))
    report = out / "report.html"
    shown = page(settings, pools, truths, compared, learnt, seconds=screen.seconds)
    write_whole(report, render(shown).encode("utf-8"))
    run.finish()
    return report


async def _label(folder: Path, settings: Settings, screen: Screen) -> Run:
    """Sampled solutions with Monte-Carlo labels: the share of continuations of each prefix that end well."""
    problems = arith.problems(settings.train_problems, seed=settings.problem_seed(1))
    run = Run.create_or_resume(folder, asked={"verb": "label", **asdict(settings)}, seed=settings.seed)
    with screen.stage("sample solutions, label their steps by rollouts") as tick:
        engine, meter = metered(open_policy(settings.policy, seed=settings.seed))
        policy = batched(engine, limit=512)
        await make_data(
            problems,
            policy=policy,
            label=monte_carlo(policy, exact_answer, rollouts=settings.rollouts),
            check=exact_answer,
            run=run,
            samples=1,
            name=LABELS,
            at_once=300,
            watch=tick,
        )
        run.finish(cost=asdict(meter))
    return run


def _train(data: Run, out: Path, settings: Settings, screen: Screen) -> dict[str, Scorer]:
    """A PRM on the step labels, and an outcome model on the final answers of the same samples."""
    examples = examples_from(data, LABELS)
    scorers: dict[str, Scorer] = {ORACLE: arith.oracle}
    for name, objective in ((PRM, "bce"), (ORM, "outcome")):
        folder = out / name
        with screen.stage(f"train the {name} on {len(examples)} solutions") as tick:
            if not (folder / "prm.json").exists():
                fit(
                    examples,
                    model=policy_folder(settings.policy),
                    out=folder,
                    objective=objective,
                    config=settings.fit,
                    progress=lambda step, steps, loss, tick=tick: tick(step, steps),  # type: ignore[misc]
                )
        scorers[name] = open_scorer(folder)
    return scorers


async def _sample_tests(
    folder: Path, scorers: Mapping[str, Scorer], settings: Settings, screen: Screen
) -> list[Pool]:
    """Held-out problems, sampled once; all methods that pick among samples pick among these."""
    problems = arith.problems(settings.test_problems, seed=settings.problem_seed(2))
    run = Run.create_or_resume(folder, asked={"verb": "test", **asdict(settings)}, seed=settings.seed)
    with screen.stage("sample the test problems, score the samples") as tick:
        policy = batched(open_policy(settings.policy, seed=settings.seed + 1), limit=512)
        for name, scorer in scorers.items():
            await make_data(
                problems,
                policy=policy,
                label=batched(scorer, limit=4096),
                check=exact_answer,
                run=run,
                samples=settings.samples,
                name=name,
                at_once=settings.test_problems,
                watch=tick,
            )
        run.finish()
    samples, right = dict(run.trajectories()), dict(run.ratings(OUTCOME))
    scores = {name: dict(run.scores(name)) for name in scorers}
    pools = []
    for problem in problems:
        keys = [f"{problem.id}/{k}" for k in range(settings.samples)]
        pools.append(
            Pool(
                problem,
                tuple(samples[key] for key in keys),
                tuple(right[key] for key in keys),
                {name: tuple(scores[name][key] for key in keys) for name in scorers},
            )
        )
    return pools


def _choose(pools: list[Pool], settings: Settings) -> dict[str, dict[int, Spent]]:
    """Every way to pick one answer out of N samples."""
    methods: dict[str, Callable[[Pool], Choose]] = {
        "majority vote": lambda p: p.vote(),
        "outcome model, best of N": lambda p: p.best(ORM, agg.last),
        **{
            f"PRM best of N, {name}": partial(Pool.best, scorer=PRM, by=by)
            for name, by in agg.AGGREGATES.items()
        },
        "PRM-weighted vote": lambda p: p.vote(p.weights(PRM, agg.minimum)),
        "perfect scorer": lambda p: p.best(ORACLE, agg.last),
    }
    single = over_budgets(pools, lambda p: p.first, (1,))
    many = {name: over_budgets(pools, method, settings.budgets) for name, method in methods.items()}
    return {"one sample": single, **many}


async def _search(
    out: Path, pools: list[Pool], prm: Scorer, settings: Settings, screen: Screen
) -> dict[str, dict[int, Spent]]:
    """Searches guided by the PRM, sized to the tokens of `samples` whole solutions."""
    steps = settings.samples * fmean(len(t.actions) for pool in pools for t in pool.samples)
    searches = {
        "step beam search": frontier.beam(settings.beam_width, settings.samples // settings.beam_width),
        "MCTS": tree.mcts(max(1, round(steps / settings.branch)), settings.branch),
    }
    problems = [pool.problem for pool in pools[: settings.searched]]
    found = {}
    for name, search in searches.items():
        with screen.stage(f"{name}, {len(problems)} problems side by side") as tick:
            spent = await kept(
                out / f"search.{name.replace(' ', '-').lower()}.json",
                partial(
                    searched,
                    problems,
                    search,
                    policy=open_policy(settings.policy, seed=settings.seed + 2),
                    rate=by_steps(prm, agg.last),
                    tick=tick,
                ),
            )
            found[name] = {settings.samples: spent}
    return found
