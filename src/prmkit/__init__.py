"""prmkit: process rewards for reasoning models, from labels to credit."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

__version__ = "0.1.0"

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Wait for an async call from a plain script or notebook cell: `prmkit.run(scorer(trajectories))`."""
    return asyncio.run(work)
