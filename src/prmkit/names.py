"""From a name to the thing: one lookup with one error, and heavy modules only when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar

from prmkit.errors import MissingExtra, UnknownName

T = TypeVar("T")


def pick(what: str, name: str, table: Mapping[str, T]) -> T:
    """`table[name]`, or an error that lists the known names and the nearest one."""
    if name not in table:
        raise UnknownName(what, name, table)
    return table[name]


def load(target: str, *, extra: str, what: str = "") -> Any:
    """The object behind `"module:attribute"`; a package that is missing becomes the extra that brings it."""
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing == "prmkit":  # our own mistake, not a missing install
            raise
        raise MissingExtra(what or target, extra, missing) from error
