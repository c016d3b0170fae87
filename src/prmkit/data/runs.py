"""The run folder: what was asked, and all that came of it, on disk.

    run.json              what was asked, seed, versions, schema number, when, cost
    trajectories.jsonl    {"id": …, "problem": …, "steps": …}
    scores.<name>.jsonl   {"id": …, "values": …}
    ratings.<name>.jsonl  {"id": …, "value": 1.0}
    metrics.jsonl         {"step": 10, "loss": 0.31}
    bad.jsonl             the input records that could not be used

It is the interface between running and looking: verbs append to it, everyone reads it.
One process writes; it may be killed at any moment, and the next one goes on by id.
Where an id stands twice, the first record counts.
"""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from prmkit.data import records
from prmkit.data.fields import by_name, have, integer, mapping, maybe, need, number, rest, text
from prmkit.data.jsonl import PathLike, append_jsonl, dump, read_jsonl, repair, write_bad, write_whole
from prmkit.errors import BadInput, BadRecord, PrmkitError, UnknownName
from prmkit.types import Scores, Trajectory

T = TypeVar("T")

_PACKAGES = ("prmkit", "numpy", "scipy", "torch", "transformers")
_SECRET = re.compile(
    r"(^|[_-])(api[_-]?key|secret([_-]key)?|password|authorization|(access|auth|bearer|hf)[_-]token)$|^token$",
    re.IGNORECASE,
)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")  # the user:password@ of an address
_HIDDEN = "(not written down)"


@dataclass(frozen=True, slots=True)
class About:
    """What `run.json` says. `cost` is what all finished sittings of the run took together."""

    asked: Mapping[str, Any]
    seed: int = 0
    versions: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    finished: str | None = None
    cost: Mapping[str, float] = field(default_factory=dict)
    schema: int = records.SCHEMA


@dataclass(slots=True)
class Run:
    """A run folder. Make one with `create`, `open` or `create_or_resume`."""

    path: Path
    about: About
    _whole: set[Path] = field(default_factory=set, repr=False)  # files that surely end in a whole line

    @classmethod
    def create(cls, path: PathLike, *, asked: Mapping[str, Any], seed: int = 0) -> Run:
        folder = Path(path)
        if folder.exists() and not folder.is_dir():
            raise BadInput(f"{folder} is a file: a run needs a folder")
        if (folder / "run.json").exists() or any(folder.glob("*.jsonl")):
            raise BadInput(f"{folder} already holds records of a run: resume it, or give another folder")
        folder.mkdir(parents=True, exist_ok=True)
        run = cls(folder, About(_as_json(asked), seed, _versions(), _now()))
        run._save()
        return run

    @classmethod
    def open(cls, path: PathLike) -> Run:
        """A run to look at or to go on with; opening changes nothing."""
        file = Path(path) / "run.json"
        if not file.is_file():
            raise BadInput(f"{path} is not a run folder: it has no run.json")
        try:
            return cls(Path(path), _about(json.loads(file.read_text("utf-8"))))
        except (ValueError, PrmkitError) as error:
            raise BadInput(f"{file}: {error}") from error

    @classmethod
    def create_or_resume(cls, path: PathLike, *, asked: Mapping[str, Any], seed: int = 0) -> Run:
        """The run in this folder, begun if need be; a folder in which something else was asked is refused."""
        if not (Path(path) / "run.json").exists():
            return cls.create(path, asked=asked, seed=seed)
        run = cls.open(path)
        then = {**run.about.asked, "seed": run.about.seed}
        if differs := _differences(then, {**_as_json(asked), "seed": seed}):
            raise BadInput(f"{path} holds a run that was asked for something else: {'; '.join(differs)}")
        return run

    def append_trajectories(self, rows: Iterable[tuple[str, Trajectory]]) -> None:
        self._append("trajectories", (_named(i, records.trajectory_to_record(t)) for i, t in rows))

    def append_scores(self, name: str, rows: Iterable[tuple[str, Scores]] | Mapping[str, Scores]) -> None:
        """What the scorer `name` said of the trajectories with these ids."""
        pairs = rows.items() if isinstance(rows, Mapping) else rows
        self._append(f"scores.{_file_name(name)}", (_named(i, records.scores_to_record(s)) for i, s in pairs))

    def append_ratings(self, name: str, rows: Iterable[tuple[str, float]] | Mapping[str, float]) -> None:
        """What the rater `name` said of the trajectories with these ids."""
        pairs = rows.items() if isinstance(rows, Mapping) else rows
        self._append(f"ratings.{_file_name(name)}", (_named(i, {"value": float(v)}) for i, v in pairs))

    def append_metric(self, **numbers: float | str) -> None:
        self._append("metrics", [numbers])

    def write_bad(self, bad: Iterable[BadRecord]) -> int:
        """Set the input records that could not be used beside the output; says how many.

        The input is read anew at each sitting, so the new list replaces the old one.
        """
        return write_bad(self.path / "bad.jsonl", bad)

    def done_ids(self, scores: str | None = None, *, ratings: str | None = None) -> set[str]:
        """The ids that have a trajectory, or scores or a rating of this name: what need not be redone."""
        named = f"scores.{scores}" if scores else f"ratings.{ratings}" if ratings else "trajectories"
        file = self._file(named)
        return {_id(row, line, file) for line, row in self._read(file, ids_only=True)}

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        return self._by_id(self._file("trajectories"), records.trajectory_from_record)

    def scores(self, name: str) -> Iterator[tuple[str, Scores]]:
        if name not in self.score_names():
            raise UnknownName("scores", name, self.score_names())
        return self._by_id(self._file(f"scores.{name}"), records.scores_from_record)

    def ratings(self, name: str) -> Iterator[tuple[str, float]]:
        if name not in self.rating_names():
            raise UnknownName("ratings", name, self.rating_names())
        return self._by_id(self._file(f"ratings.{name}"), _rating)

    def score_names(self) -> list[str]:
        return self._names("scores")

    def rating_names(self) -> list[str]:
        return self._names("ratings")

    def metrics(self) -> Iterator[dict[str, Any]]:
        return (row for _, row in self._read(self._file("metrics")))

    def bad(self) -> Iterator[dict[str, Any]]:
        return (row for _, row in self._read(self._file("bad")))

    def add_cost(self, cost: Mapping[str, float]) -> None:
        """Add what was just spent, also when the run is not finished (a Ctrl-C costs, too)."""
        before = self.about.cost
        total = {name: before.get(name, 0) + cost.get(name, 0) for name in {**before, **cost}}
        self.about = replace(self.about, cost=total)
        self._save()

    def finish(self, *, cost: Mapping[str, float] | None = None) -> None:
        """Write down that all is done, and what it cost beyond what was already written down."""
        self.about = replace(self.about, finished=_now())
        self.add_cost(cost or {})

    def _save(self) -> None:
        content = json.dumps(asdict(self.about), indent=2, ensure_ascii=False, allow_nan=False)
        write_whole(self.path / "run.json", content.encode() + b"\n")

    def _names(self, what: str) -> list[str]:
        return sorted(f.name[len(what) + 1 : -len(".jsonl")] for f in self.path.glob(f"{what}.*.jsonl"))

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.jsonl"

    def _append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        file = self._file(name)
        if file not in self._whole and file.exists():
            repair(file)
        self._whole.discard(file)  # until this call is through: a full disk or a Ctrl-C can tear a line, too
        append_jsonl(file, rows)
        self._whole.add(file)

    def _read(self, file: Path, *, ids_only: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
        return read_jsonl(file, torn="skip", ids_only=ids_only) if file.exists() else iter(())

    def _by_id(self, file: Path, parse: Callable[[Any], T]) -> Iterator[tuple[str, T]]:
        seen = set()
        for line, row in self._read(file):
            key = _id(row, line, file)
            if key in seen:
                continue
            seen.add(key)
            try:
                value = parse(rest(row, "id"))
            except BadRecord as error:
                raise BadRecord(error.problem, field=error.field, file=str(file), line=line) from error
            yield key, value


def _named(key: str, record: dict[str, Any]) -> dict[str, Any]:
    if not key:
        raise BadInput("a record of a run needs an id: without one it could not be resumed")
    return {"id": key, **record}


def _file_name(name: str) -> str:
    if not re.fullmatch(r"[^\s/\\.][^\s/\\]*", name):
        raise BadInput(f"{name!r} cannot name a file of a run: no spaces, slashes or leading dot")
    return name


def _rating(row: Mapping[str, Any]) -> float:
    return need(row, "value", number)


def _id(row: Mapping[str, Any], line: int, file: Path) -> str:
    key = row.get("id")
    if not isinstance(key, str):
        raise BadRecord("every record of a run has a text here", field="id", file=str(file), line=line)
    return key


def _about(row: Any) -> About:
    about = mapping(row, "")
    schema = need(about, "schema", integer)
    if schema > records.SCHEMA:
        raise BadInput(
            f"written by a newer prmkit (schema {schema}, this one reads up to {records.SCHEMA}): "
            "upgrade prmkit to read it"
        )
    return About(
        asked=need(about, "asked", mapping),
        seed=need(about, "seed", integer),
        versions=have(about, "versions", by_name(text), {}),
        created=have(about, "created", text, ""),
        finished=have(about, "finished", maybe(text), None),
        cost=have(about, "cost", by_name(number), {}),
        schema=schema,
    )


def _as_json(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked, as it will read back, with keys and passwords left out."""
    shown: dict[str, Any] = json.loads(dump(_without_secrets(asked)))
    return shown


def _without_secrets(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _HIDDEN if _SECRET.search(str(k)) else _without_secrets(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(v) for v in value]
    return _LOGIN.sub("", value) if isinstance(value, str) else value


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    old, new = _flat(then), _flat(now)
    names = [name for name in {**old, **new} if old.get(name, ...) != new.get(name, ...)]
    return [f"{name}: {_shown(old, name)} then, {_shown(new, name)} now" for name in names]


def _shown(values: Mapping[str, Any], name: str) -> str:
    return json.dumps(values[name], ensure_ascii=False) if name in values else "absent"


def _flat(values: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in values.items():
        out |= _flat(value, f"{at}{name}.") if isinstance(value, dict) and value else {at + name: value}
    return out


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
