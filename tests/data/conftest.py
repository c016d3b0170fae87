import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st


@pytest.fixture
def write_lines(tmp_path):
    """A file with these rows, each an object or a line as it is."""

    def write(*rows: Any, name: str = "rows.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), "utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def exactly():
    """A value as JSON, so that 1, 1.0 and true are three things."""
    return lambda value: json.dumps(value, sort_keys=True)


@pytest.fixture(scope="session")
def json_values():
    finite = st.floats(allow_nan=False, allow_infinity=False)
    leaf = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | finite | st.text(max_size=8)
    return st.recursive(
        leaf,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=6,
    )
