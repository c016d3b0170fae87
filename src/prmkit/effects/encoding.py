"""The toolkit's values as JSON and back, exactly: floats round trip, and equal values have equal text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from numbers import Integral, Real
from typing import Any

from prmkit.errors import BadInput
from prmkit.types import Problem, Scores, Step, Trajectory


def canonical(value: object) -> str:
    """The one JSON text of a value: sorted keys, no spaces, our types as objects without their defaults.

    Because defaults are left out, a field that is added to a type later does not change the text.

    >>> canonical(Step("2+3=5"))
    '{"text":"2+3=5"}'
    """
    return _encode(value)


def digest(value: object) -> bytes:
    return hashlib.sha256(canonical(value).encode()).digest()


def read_scores(plain: dict[str, Any]) -> Scores:
    return Scores(
        **{
            **plain,
            "values": tuple(plain["values"]),
            "parts": {name: tuple(part) for name, part in plain.get("parts", {}).items()},
            "tokens": tuple(tuple(step) for step in plain.get("tokens", ())),
            "notes": tuple(plain.get("notes", ())),
        }
    )


def growth(prefix: Trajectory, whole: Trajectory) -> dict[str, object]:
    """What a continuation adds to its prefix: how many steps it keeps, those that follow, and its stop."""
    if whole.problem != prefix.problem:
        raise BadInput(f"the policy went on with another problem: {whole.problem!r}, not {prefix.problem!r}")
    kept = 0
    while kept < min(len(prefix.steps), len(whole.steps)) and prefix.steps[kept] == whole.steps[kept]:
        kept += 1
    return {"kept": kept, "steps": whole.steps[kept:], "stop": whole.stop}


def grown(prefix: Trajectory, plain: dict[str, Any]) -> Trajectory:
    """The continuation that `growth` described."""
    added = (_read_step(step) for step in plain["steps"])
    return Trajectory(prefix.problem, (*prefix.steps[: plain["kept"]], *added), plain["stop"])


def _read_step(plain: dict[str, Any]) -> Step:
    tokens, logprobs = plain.get("tokens", ()), plain.get("logprobs", ())
    return Step(**{**plain, "tokens": tuple(tokens), "logprobs": tuple(logprobs)})


def _plain(value: Any) -> object:
    """What JSON does not know, in terms of what it knows."""
    if defaults := _DEFAULTS.get(type(value)):
        return {name: told for name, default in defaults if (told := getattr(value, name)) != default}
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, Integral):  # numpy's numbers
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise BadInput(f"a {type(value).__name__} has no JSON form, so it cannot be cached: {value!r}")


def _default(field: Field[Any]) -> object:
    return field.default if field.default_factory is MISSING else field.default_factory()


_DEFAULTS = {
    kind: tuple((field.name, _default(field)) for field in fields(kind))
    for kind in (Problem, Step, Trajectory, Scores)
}
_encode = json.JSONEncoder(default=_plain, sort_keys=True, separators=(",", ":")).encode
