"""What scorers are measured on: solutions whose first error is known, in named subsets.

processbench  four sets of model-written solutions with the first wrong step marked by people (card 89)
arith         the toolkit's own world: solutions of the simulated pupil, every step judged exactly
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from prmkit.data.sources import FORMATS, read_examples
from prmkit.errors import BadInput, BadRecord
from prmkit.text.steps import with_ends
from prmkit.types import Example, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil

PROCESSBENCH = ("gsm8k", "math", "olympiadbench", "omnimath")
WHERE = (
    "it is the dataset Qwen/ProcessBench on huggingface.co: download its files gsm8k.json, math.json, "
    "olympiadbench.json and omnimath.json, and name their folder (prm bench … --data FOLDER), "
    "or set PRMKIT_DATA to a folder with steps/processbench_<subset>.jsonl.gz"
)
SEPARATOR = "\n"  # the files keep steps without what stood between them
ARITH = {"4–6 operations": (4, 6), "7–8 operations": (7, 8)}
ARITH_SIZE = 200  # problems a subset where no limit is given
ARITH_SEED = 500  # seeds 500… of the world's problems belong to this suite


@dataclass(frozen=True, slots=True)
class Case:
    """A solution and what is known of it."""

    trajectory: Trajectory
    first_error: int | None  # from 0; None where there is none
    labels: tuple[float | None, ...]  # 1 right, 0 wrong, None unknown, for every policy step
    id: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The subsets of a suite, and what was met on the way that cannot be used."""

    subsets: dict[str, list[Case]] = field(default_factory=dict)
    bad: list[BadRecord] = field(default_factory=list)  # records that could not be read
    unlabelled: int = 0  # solutions that do not say where their first error is, or have no step


@dataclass(frozen=True, slots=True)
class Suite:
    """`load(data, seed, limit)`: `limit` is the most solutions of a subset, the first ones."""

    about: str
    load: Callable[[Path | None, int, int | None], Awaitable[Loaded]]
    every_step: bool  # steps after the first error are labelled too, so that AUC and calibration make sense


async def load_processbench(data: Path | None, seed: int, limit: int | None) -> Loaded:
    """From a folder, a single file, or `$PRMKIT_DATA`; native files or the plain shape of `data.sources`."""
    bad: list[BadRecord] = []
    subsets: dict[str, list[Case]] = {}
    unlabelled = 0
    for path in _processbench_files(data):
        for example in (with_ends(e, SEPARATOR) for e in _examples(path, bad)):
            cases = subsets.setdefault(subset_of(example.id, path), [])
            if limit is not None and len(cases) >= limit:
                continue
            if (case := _case(example)) is None:
                unlabelled += 1
            else:
                cases.append(case)
    kept = {name: cases for name, cases in subsets.items() if cases}
    if not kept:
        raise BadInput(f"there is no usable ProcessBench solution in {data}; {WHERE}")
    order = sorted(kept, key=lambda s: PROCESSBENCH.index(s) if s in PROCESSBENCH else len(PROCESSBENCH))
    return Loaded({name: kept[name] for name in order}, bad, unlabelled)


def subset_of(id: str, path: Path) -> str:
    """By the id, such as "gsm8k-17", or else by the file's name."""
    named = id.partition("-")[0]
    return named if named in PROCESSBENCH else path.name.partition(".")[0].removeprefix("processbench_")


def _processbench_files(data: Path | None) -> list[Path]:
    if data is not None and not data.exists():
        raise BadInput(f"no such file or folder: {data}; of ProcessBench: {WHERE}")
    if data is not None and data.is_file():
        return [data]
    home = os.environ.get("PRMKIT_DATA")
    folder = data if data is not None else Path(home) / "steps" if home else None
    if folder is None:
        raise BadInput(f"ProcessBench does not come with prmkit; {WHERE}")
    names = [f"{head}{{}}.{tail}" for head in ("processbench_", "") for tail in ("jsonl.gz", "jsonl", "json")]
    found = [[p for n in names if (p := folder / n.format(s)).is_file()][:1] for s in PROCESSBENCH]
    if not any(found):
        raise BadInput(f"no file of ProcessBench in {folder}; {WHERE}")
    return [path for paths in found for path in paths]


def _examples(path: Path, bad: list[BadRecord]) -> Iterator[Example]:
    """The released files are one JSON array each, everything else is lines."""
    if path.suffix == ".json" and path.read_text("utf-8").lstrip().startswith("["):
        yield from _array(path, bad)
    else:
        yield from read_examples(path, bad=bad)


def _array(path: Path, bad: list[BadRecord]) -> Iterator[Example]:
    try:
        rows = json.loads(path.read_text("utf-8"))
    except json.JSONDecodeError as error:
        raise BadInput(f"{path}: not JSON: {error}") from error
    for i, row in enumerate(rows):
        try:
            if not isinstance(row, dict):
                raise BadRecord("a record is an object")
            yield FORMATS["processbench"].read(row)
        except BadRecord as error:
            at = f"[{i}]" + (f".{error.field}" if error.field else "")
            bad.append(BadRecord(error.problem, field=at, file=str(path)))


def _case(example: Example) -> Case | None:
    """None where the labels, up to the first wrong one, have a gap: then the first error is not known."""
    for i, label in enumerate(example.labels):
        if label is None:
            return None
        if label < 0.5:
            return Case(example.trajectory, i, example.labels, example.id)
    return Case(example.trajectory, None, example.labels, example.id) if example.labels else None


async def load_arith(data: Path | None, seed: int, limit: int | None) -> Loaded:
    """One solution of the pupil for each problem; a step is right while the solution is on track.

    Filler and repetitions waste a step and harm nothing: they are not errors here, as in `arith.oracle`.
    """
    if data is not None:
        raise BadInput(f"the suite 'arith' makes its own problems; it reads no file such as {data}")
    return Loaded({name: await _pupils_work(span, seed, limit) for name, span in ARITH.items()})


async def _pupils_work(operations: tuple[int, int], seed: int, limit: int | None) -> list[Case]:
    count = ARITH_SIZE if limit is None else min(limit, ARITH_SIZE)
    problems = arith.problems(count, seed=ARITH_SEED + seed, operations=operations)
    rows = await Pupil(seed=seed)([Trajectory(p) for p in problems], until="end")
    return [judged(trajectory) for (trajectory,) in rows]


def judged(trajectory: Trajectory) -> Case:
    """A solution of an `arith` problem with the truth about every step."""
    labels = tuple(float(verdict.on_track) for verdict in arith.judge(trajectory))
    wrong = next((i for i, label in enumerate(labels) if not label), None)
    return Case(trajectory, wrong, labels, trajectory.problem.id)


SUITES: dict[str, Suite] = {
    "processbench": Suite(
        "first errors in model-written mathematics, marked by people", load_processbench, False
    ),
    "arith": Suite(
        "first errors in the simulated pupil's arithmetic, known exactly", load_arith, every_step=True
    ),
}
