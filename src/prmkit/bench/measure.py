"""How good a scorer is on a suite: figures with a 95 % interval (bootstrap over solutions) and their number.

First errors are read off the scores: the first step whose score is below `threshold` (declared, 0.5 unless
said otherwise) is the predicted one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prmkit.bench.suites import SUITES, Case, subset_of
from prmkit.data.fields import by_name, integer, listed, maybe, need, number, text
from prmkit.data.jsonl import read_records
from prmkit.errors import BadInput, BadRecord, UnknownName
from prmkit.maths.labels import first_error
from prmkit.maths.metrics import auc, expected_calibration_error
from prmkit.maths.stats import Index, Interval, bootstrap_statistic
from prmkit.names import pick
from prmkit.types import Scorer

RESAMPLES = 1000
HEADER = ("subset", "metric", "value", "95 % interval", "n")
Statistic = Callable[[Index], float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure, in [0, 1]; `interval` is None where it is not defined, as an F1 without wrong solutions."""

    subset: str
    metric: str
    interval: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class Report:
    suite: str
    scorer: str
    threshold: float
    rows: tuple[Row, ...]
    unscored: int  # solutions for which there was no score, or no known first error: in no figure
    bad: tuple[BadRecord, ...]  # records that could not be read: in no figure either

    def as_json(self) -> dict[str, Any]:
        return {
            "suite": self.suite,
            "scorer": self.scorer,
            "threshold": self.threshold,
            "rows": [_row_as_json(row) for row in self.rows],
            "unscored": self.unscored,
            "bad": len(self.bad),
        }

    @property
    def header(self) -> tuple[str, ...]:
        return HEADER

    def table(self) -> list[tuple[str, ...]]:
        """The rows as text, one cell for each of `header`, percentages with one decimal."""
        return [_row_as_text(row) for row in self.rows]

    @property
    def left_out(self) -> str:
        """What is in no figure, in words; "" where nothing is.

        >>> Report("arith", "mine", 0.5, (), 2, ()).left_out
        '2 solutions without scores or labels'
        """
        parts = [
            f"{self.unscored} solutions without scores or labels" if self.unscored else "",
            f"{len(self.bad)} records that could not be read" if self.bad else "",
        ]
        return ", ".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Scored:
    """A solution's truth beside its step scores; the scores may stop at the first error."""

    first_error: int | None
    scores: tuple[float, ...]
    labels: tuple[float | None, ...] = ()


async def measure(
    scorer: Scorer,
    suite: str,
    *,
    data: Path | None = None,
    threshold: float = 0.5,
    seed: int = 0,
    limit: int | None = None,
    name: str = "",
) -> Report:
    """Run a scorer over a suite. `limit`: only the first solutions of every subset, so many at most."""
    chosen = pick("suite", suite, SUITES)
    if limit is not None and limit < 1:
        raise BadInput(f"at least one solution a subset is needed, not {limit}")
    loaded = await chosen.load(data, seed, limit)
    scored = {subset: await _score(scorer, cases) for subset, cases in loaded.subsets.items()}
    rows = figures(scored, threshold, every_step=chosen.every_step, seed=seed)
    return Report(suite, name, threshold, tuple(rows), loaded.unlabelled, tuple(loaded.bad))


async def _score(scorer: Scorer, cases: Sequence[Case]) -> list[Scored]:
    answers = await scorer([case.trajectory for case in cases])
    if any(scores.kind == "reward" for scores in answers):
        raise BadInput("this scorer gives rewards, which have no threshold: a suite needs chances in [0, 1]")
    for case, scores in zip(cases, answers, strict=True):
        if len(scores.values) != len(case.labels):
            counts = f"{len(scores.values)} scores for {len(case.labels)} steps"
            raise BadInput(f"solution {case.id!r}: {counts}")
        if not all(0 <= value <= 1 for value in scores.values):  # a NaN is not within either
            raise BadInput(f"solution {case.id!r}: the scorer gave a score outside [0, 1]")
    return [Scored(c.first_error, s.values, c.labels) for c, s in zip(cases, answers, strict=True)]


def measure_scores(
    path: Path, model: str, *, threshold: float = 0.5, seed: int = 0, limit: int | None = None
) -> Report:
    """The same figures from recorded scores: lines {"id", "label", "scores": {model: [p, …]}}.

    `label` is the first wrong step from 0, or -1. Scores are needed up to it only (all of them where there
    is none). A line without scores of `model` is counted as unscored.
    """
    bad: list[BadRecord] = []
    subsets: dict[str, list[Scored]] = {}
    models: set[str] = set()
    unscored = 0
    for id, label, scores in read_records(path, _recorded, bad):
        models |= set(scores)
        rows = subsets.setdefault(subset_of(id, path), [])
        if model not in scores:
            unscored += 1
        elif limit is None or len(rows) < limit:
            rows.append(Scored(None if label == -1 else label, scores[model]))
    if model not in models:
        raise UnknownName("model", model, models)
    scored = {name: rows for name, rows in subsets.items() if rows}
    figured = figures(scored, threshold, every_step=False, seed=seed)
    return Report("processbench", model, threshold, tuple(figured), unscored, tuple(bad))


def _recorded(row: dict[str, Any]) -> tuple[str, int, Mapping[str, tuple[float, ...]]]:
    label = need(row, "label", integer)
    given = need(row, "scores", by_name(maybe(listed(number))))
    scores = {model: each for model, each in given.items() if each}
    if label < -1 or any(len(each) <= label for each in scores.values()):
        raise BadRecord("the scores must reach the first error, or label is -1", field="label")
    return need(row, "id", text), label, scores


def figures(
    subsets: Mapping[str, Sequence[Scored]], threshold: float, *, every_step: bool, seed: int = 0
) -> list[Row]:
    """Every subset's F1 with its two accuracies, AUC and ECE where all steps are labelled; the average F1."""
    rows: list[Row] = []
    for name, scored in subsets.items():
        wrong = sum(s.first_error is not None for s in scored)
        counts = {"accuracy on wrong": wrong, "accuracy on right": len(scored) - wrong}
        statistics = _first_error(scored, threshold) | (_step_level(scored) if every_step else {})
        for metric, statistic in statistics.items():
            interval = _interval(statistic, len(scored), seed)
            rows.append(Row(name, metric, interval, counts.get(metric, len(scored))))
    if len(subsets) > 1:
        n = sum(map(len, subsets.values()))
        rows.append(Row("average", "F1", _interval(_average_f1(subsets, threshold), n, seed), n))
    return rows


def _interval(statistic: Statistic, n: int, seed: int) -> Interval | None:
    if statistic(np.arange(n)) is None:
        return None
    return bootstrap_statistic(range(n), statistic, resamples=RESAMPLES, seed=seed)


def _first_error(scored: Sequence[Scored], threshold: float) -> dict[str, Statistic]:
    wrong = np.array([s.first_error is not None for s in scored])
    hit = np.array([first_error(s.scores, threshold) == s.first_error for s in scored])

    def on_wrong(rows: Index) -> float | None:
        return _share(hit[rows][wrong[rows]])

    def on_right(rows: Index) -> float | None:
        return _share(hit[rows][~wrong[rows]])

    def f1(rows: Index) -> float | None:
        a, b = on_wrong(rows), on_right(rows)
        if a is None or b is None:
            return None
        return 2 * a * b / (a + b) if a + b else 0.0

    return {"F1": f1, "accuracy on wrong": on_wrong, "accuracy on right": on_right}


def _share(hits: NDArray[np.bool_]) -> float | None:
    return float(hits.mean()) if len(hits) else None


def _average_f1(subsets: Mapping[str, Sequence[Scored]], threshold: float) -> Statistic:
    """The plain mean of the subsets' F1, as ProcessBench has it; rows run through the subsets in order."""
    parts: list[tuple[int, int, Statistic]] = []
    for scored in subsets.values():
        start = parts[-1][1] if parts else 0
        parts.append((start, start + len(scored), _first_error(scored, threshold)["F1"]))

    def statistic(rows: Index) -> float | None:
        each = [f1(rows[(rows >= start) & (rows < end)] - start) for start, end, f1 in parts]
        known = [x for x in each if x is not None]
        return sum(known) / len(known) if len(known) == len(parts) else None

    return statistic


def _step_level(scored: Sequence[Scored]) -> dict[str, Statistic]:
    """Steps of the drawn solutions, all together: how well scores order them, and whether 0.8 means 80 %."""
    known = [[(p, y) for p, y in zip(s.scores, s.labels, strict=True) if y is not None] for s in scored]

    def of_steps(figure: Callable[[list[float], list[float]], float | None]) -> Statistic:
        def statistic(rows: Index) -> float | None:
            steps = [step for i in rows for step in known[i]]
            return figure([p for p, _ in steps], [y for _, y in steps]) if steps else None

        return statistic

    return {"step AUC": of_steps(auc), "step ECE": of_steps(expected_calibration_error)}


def _row_as_json(row: Row) -> dict[str, Any]:
    found = row.interval
    numbers = (None, None, None) if found is None else (found.mean, found.low, found.high)
    return {"subset": row.subset, "metric": row.metric, "n": row.n} | dict(
        zip(("value", "low", "high"), numbers, strict=True)
    )


def _row_as_text(row: Row) -> tuple[str, ...]:
    if row.interval is None:
        return row.subset, row.metric, "not defined", "", str(row.n)
    value, low, high = (f"{100 * x:.1f}" for x in (row.interval.mean, row.interval.low, row.interval.high))
    return row.subset, row.metric, value, f"{low} to {high}", str(row.n)
