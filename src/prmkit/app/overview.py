"""A run folder at a glance, on the screen and as a page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from prmkit.app import report
from prmkit.app.plots import Point, Series, line_chart
from prmkit.app.show import interval_text, steps_view
from prmkit.data.runs import Run
from prmkit.errors import BadInput, UnknownName
from prmkit.maths.stats import bootstrap
from prmkit.types import Scores, Trajectory
from prmkit.verbs import OUTCOME

LABEL = "label"  # the scores shown first where a run has several
DULL = ("problems.sha256",)  # asked, but nothing a reader can use
TIMES = ("step", "update")  # what a row of metrics may be counted by


@dataclass(frozen=True)
class Seen:
    """All that a run holds, with one of its score sets."""

    run: Run
    trajectories: Mapping[str, Trajectory]
    outcomes: Mapping[str, float]
    scores: Mapping[str, Scores]
    shown: str = ""  # the name of these scores
    metrics: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)  # (time, number)


def look(folder: Path, scores: str | None = None) -> Seen:
    """Read a run folder; `scores` names one of its score sets, by default the labels or the first."""
    if not (folder / "run.json").is_file() and (inside := _runs_inside(folder)):
        raise BadInput(f"{folder} is not a run folder, but holds some: {', '.join(inside)}")
    return read(Run.open(folder), scores)


def read(run: Run, scores: str | None = None) -> Seen:
    names = run.score_names()
    if scores is not None and scores not in names:
        raise UnknownName("scores", scores, names)
    shown = scores or (LABEL if LABEL in names else next(iter(names), ""))
    return Seen(
        run,
        dict(run.trajectories()),
        dict(run.ratings(OUTCOME)) if OUTCOME in run.rating_names() else {},
        dict(run.scores(shown)) if shown else {},
        shown,
        _curves(list(run.metrics())),
    )


def facts(seen: Seen) -> dict[str, str]:
    """What there is to say of a run in a few lines, and nothing of what it has not."""
    told: dict[str, str] = {}
    by_problem: dict[str, list[float]] = defaultdict(list)
    for key, outcome in seen.outcomes.items():
        if key in seen.trajectories:
            by_problem[seen.trajectories[key].problem.id].append(outcome)
    if seen.trajectories:
        problems = {(t.problem.id, t.problem.prompt) for t in seen.trajectories.values()}
        told["problems"] = f"{len(problems):,}"
        told["solutions"] = f"{len(seen.trajectories):,}"
    if by_problem:
        share = bootstrap([fmean(outcomes) for outcomes in by_problem.values()])
        told["solved"] = interval_text(share, n=True)
    if seen.scores:
        steps = [v for s in seen.scores.values() for v in s.values]
        sources = sorted({s.source for s in seen.scores.values() if s.source})
        told["scored steps"] = f"{len(steps):,}" + (f" by {', '.join(sources)}" if sources else "")
    for name, curve in seen.metrics.items():
        told[name] = f"{curve[0][1]:.4g} → {curve[-1][1]:.4g}" if len(curve) > 1 else f"{curve[0][1]:.4g}"
    if bad := sum(1 for _ in seen.run.bad()):
        told["bad records"] = f"{bad:,}, in bad.jsonl"
    if cost := _cost(seen.run.about.cost):
        told["cost"] = cost
    return told


def screen(seen: Seen, solutions: int = 3) -> RenderableType:
    """The run in a terminal: what was asked, the facts, a few solutions."""
    about = seen.run.about
    head = Text(str(seen.run.path), "bold")
    head.append(f"   {_when(seen)}", "not bold dim")
    asked = Text("  ".join(f"{k}={v}" for k, v in _asked(seen).items()), "dim")
    parts: list[RenderableType] = [head, asked, Text(), summary(seen)]
    for key in examples(seen, solutions):
        parts += [Text(), *_solution(seen, key)]
    if about.finished is None:
        parts += [
            Text(),
            Text("The run is not finished: give the same command again to go on.", "dark_orange3"),
        ]
    return Group(*parts)


def summary(seen: Seen) -> RenderableType:
    grid = Grid.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in facts(seen).items():
        grid.add_row(name, Text(value))
    return grid


def page(seen: Seen, solutions: int = 3) -> report.ReportData:
    """The same as a page that stands alone."""
    about = seen.run.about
    told = facts(seen)
    cost = {"cost": told.pop("cost")} if "cost" in told else {}
    figures = tuple(report.Figure(name, *_value_and_note(value)) for name, value in told.items())
    charts = tuple(
        report.Chart(line_chart([_series(name, curve)], title=name, x_label="update", y_label=name))
        for name, curve in seen.metrics.items()
        if len(curve) > 1
    )
    shown = tuple(_report_solution(seen, key) for key in examples(seen, solutions))
    sections = [report.Section("At a glance", blocks=(report.Figures(figures),) if figures else ())]
    if charts:
        sections.append(report.Section("Along the way", blocks=charts))
    if shown:
        sections.append(report.Section("Solutions", blocks=shown))
    settings = {**_asked(seen), **cost, **{f"version of {k}": v for k, v in about.versions.items()}}
    return report.ReportData(f"Run {seen.run.path.name}", tuple(sections), _when(seen), settings)


def examples(seen: Seen, count: int) -> list[str]:
    """Solutions to show: right and wrong ones in turn, in the run's order, scored ones first.

    A reader learns most from the two side by side.
    """
    keys = [key for key in seen.trajectories if key in seen.scores] or list(seen.trajectories)
    right = [key for key in keys if seen.outcomes.get(key, 0.0) > 0.5]
    wrong = [key for key in keys if key not in set(right)]
    turns = [key for i in range(len(keys)) for row in (right, wrong) for key in row[i : i + 1]]
    return turns[:count]


def _solution(seen: Seen, key: str) -> list[RenderableType]:
    trajectory = seen.trajectories[key]
    title = Text(key, "bold").append(f"   {_outcome(seen, key)}", "not bold")
    problem = Text(trajectory.problem.prompt.strip(), "dim")
    if key in seen.scores:
        return [title, problem, steps_view(trajectory, seen.scores[key])]
    steps = [Text(step.text.strip()) for step in trajectory.steps]
    return [title, problem, Padding(Group(*steps), (0, 0, 0, 2))]


def _report_solution(seen: Seen, key: str) -> report.Solution:
    trajectory, scores = seen.trajectories[key], seen.scores.get(key)
    values = iter(scores.values if scores else ())
    bounded = scores is not None and scores.kind != "reward"
    steps = []
    for step in trajectory.steps:
        value = next(values, None) if step.by == "policy" else None
        said = "" if value is None or bounded else f"{value:+.2f}"
        steps.append(report.ScoredStep(step.text, value if bounded else None, verdict=said))
    return report.Solution(trajectory.problem.prompt, tuple(steps), key, _outcome(seen, key))


def _outcome(seen: Seen, key: str) -> str:
    if key not in seen.outcomes:
        return ""
    return {1.0: "✓ right", 0.0: "✗ wrong"}.get(seen.outcomes[key], f"outcome {seen.outcomes[key]:.2f}")


def _asked(seen: Seen) -> dict[str, str]:
    about = seen.run.about
    flat = _flat({**about.asked, "seed": about.seed})
    return {name: str(value) for name, value in flat.items() if value is not None and name not in DULL}


def _flat(values: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """One level of names; the settings of a config stand among the rest."""
    out: dict[str, Any] = {}
    for name, value in values.items():
        inside = "" if name == "config" else f"{at}{name}."
        out |= _flat(value, inside) if isinstance(value, Mapping) else {at + name: value}
    return out


def _when(seen: Seen) -> str:
    about = seen.run.about
    ended = f"finished {_minute(about.finished)}" if about.finished else "not finished"
    return f"begun {_minute(about.created)}, {ended}" if about.created else ended


def _minute(time: str) -> str:
    """
    >>> _minute("2026-11-15T03:29:44+00:00")
    '2026-11-15 03:29'
    """
    return time[:16].replace("T", " ")


def _cost(cost: Mapping[str, float]) -> str:
    """What a meter counted, in words.

    >>> _cost({"calls": 3, "items": 96, "generated_tokens": 1200, "seconds": 1.25})
    '3 calls, 96 continuations, 1,200 generated tokens, 1.2 seconds'
    """
    words = {"items": "continuations"}
    return ", ".join(
        f"{value:,.1f} {name}"
        if name == "seconds"
        else f"{value:,.0f} {words.get(name, name).replace('_', ' ')}"
        for name, value in cost.items()
        if value
    )


def _value_and_note(value: str) -> tuple[str, str]:
    """The number for the eye, and what belongs to it in small.

    >>> _value_and_note("0.62 [0.58, 0.66], n = 300")
    ('0.62', '[0.58, 0.66], n = 300')
    """
    number, _, note = value.partition(" ")
    return (value, "") if note.startswith("→") else (number.rstrip(","), note)


def _curves(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[tuple[float, float]]]:
    """Each number that metrics follow, over steps or updates, or over the rows where neither is written."""
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for i, row in enumerate(rows):
        time = next((float(row[name]) for name in TIMES if name in row), float(i))
        for name, value in row.items():
            if name not in TIMES and isinstance(value, int | float) and not isinstance(value, bool):
                curves[name].append((time, float(value)))
    return dict(curves)


def _series(name: str, curve: Sequence[tuple[float, float]]) -> Series:
    return Series(name, tuple(Point(x, y) for x, y in curve))


def _runs_inside(folder: Path) -> list[str]:
    return sorted(str(file.parent) for file in folder.glob("*/run.json"))
