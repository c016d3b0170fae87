"""Small readers for JSON values: each takes a value and its place, and returns it typed or names the place.

need(row, "steps", listed(text))      # BadRecord: field 'steps[3]': a text is wanted here, not a number
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from prmkit.errors import BadRecord

T = TypeVar("T")
Read = Callable[[Any, str], T]

_WORDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    list: "a list",
    tuple: "a list",
    dict: "an object",
    type(None): "null",
}


def in_words(value: Any) -> str:
    """What a JSON value is, for a message."""
    return _WORDS.get(type(value), type(value).__name__)


def _unless(fits: bool, wanted: str, value: Any, field: str) -> None:
    if not fits:
        raise BadRecord(f"{wanted} is wanted here, not {in_words(value)}", field=field)


def text(value: Any, field: str) -> str:
    _unless(isinstance(value, str), "a text", value, field)
    return str(value)


def flag(value: Any, field: str) -> bool:
    _unless(isinstance(value, bool), "true or false", value, field)
    return bool(value)


def integer(value: Any, field: str) -> int:
    _unless(isinstance(value, int) and not isinstance(value, bool), "a whole number", value, field)
    return int(value)


def number(value: Any, field: str) -> float:
    """A finite number; true and false are not numbers."""
    _unless(isinstance(value, int | float) and not isinstance(value, bool), "a number", value, field)
    try:
        finite = math.isfinite(value)
    except OverflowError:
        finite = False
    if not finite:
        raise BadRecord("a finite number is wanted here", field=field)
    return float(value)


def chance(value: Any, field: str) -> float:
    """A number in [0, 1]; true is 1 and false is 0."""
    p = float(value) if isinstance(value, bool) else number(value, field)
    if not 0 <= p <= 1:
        raise BadRecord(f"{p:g} is not a chance: it must lie in [0, 1]", field=field)
    return p


def mapping(value: Any, field: str) -> dict[str, Any]:
    _unless(isinstance(value, Mapping), "an object", value, field)
    return dict(value)


def listed(item: Read[T]) -> Read[tuple[T, ...]]:
    def read(value: Any, field: str) -> tuple[T, ...]:
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        _unless(is_list, "a list", value, field)
        return tuple(item(v, f"{field}[{i}]") for i, v in enumerate(value))

    return read


def maybe(item: Read[T]) -> Read[T | None]:
    def read(value: Any, field: str) -> T | None:
        return None if value is None else item(value, field)

    return read


def by_name(item: Read[T]) -> Read[dict[str, T]]:
    def read(value: Any, field: str) -> dict[str, T]:
        return {name: item(v, within(field, name)) for name, v in mapping(value, field).items()}

    return read


def within(at: str, name: str) -> str:
    return f"{at}.{name}" if at else name


def need(row: Mapping[str, Any], name: str, read: Read[T], at: str = "") -> T:
    """The field `name`, which must be there."""
    if name not in row:
        raise BadRecord("missing", field=within(at, name))
    return read(row[name], within(at, name))


def have(row: Mapping[str, Any], name: str, read: Read[T], default: T, at: str = "") -> T:
    """The field `name`, or `default` where it is absent."""
    return read(row[name], within(at, name)) if name in row else default


def rest(row: Mapping[str, Any], *taken: str) -> dict[str, Any]:
    """The fields that nobody took."""
    return {name: value for name, value in row.items() if name not in taken}
