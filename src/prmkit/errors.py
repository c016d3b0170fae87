"""What can go wrong because of what was asked, not because of us.

PrmkitError
├── UnknownName      a model, recipe, suite or objective that does not exist
├── MissingExtra     a part that needs a package which is not installed
├── BadRecord        one record of a file that cannot be read: file, line, field
└── BadInput         anything else that was given and cannot be used
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PrmkitError(Exception):
    """The one class a caller needs to catch to show a message instead of a traceback."""


class BadInput(PrmkitError):
    pass


class UnknownName(PrmkitError):
    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        self.what, self.name, self.known = what, name, sorted(known)
        near = get_close_matches(name, self.known, n=1, cutoff=0.4)
        hint = f" (nearest: {near[0]!r})" if near else ""
        super().__init__(f"unknown {what} {name!r}{hint}; known: {', '.join(self.known) or 'none'}")


class MissingExtra(PrmkitError):
    def __init__(self, what: str, extra: str, package: str) -> None:
        self.extra = extra
        super().__init__(
            f"{what} needs the package {package!r}, which is not installed: pip install 'prmkit[{extra}]'"
        )


class BadRecord(PrmkitError):
    def __init__(self, problem: str, *, field: str = "", file: str = "", line: int = 0) -> None:
        self.problem, self.field, self.file, self.line = problem, field, file, line
        place = ":".join(p for p in (file, str(line) if line else "") if p)
        named = f"field {field!r}: " if field else ""
        super().__init__(f"{place}: {named}{problem}" if place else f"{named}{problem}")
