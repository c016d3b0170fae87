"""The shape of a published method: which slots it fills, and with what."""

from __future__ import annotations

from dataclasses import dataclass

from prmkit.maths import aggregate as agg
from prmkit.types import Aggregate, Credit, Curate, Pair, Scorer, Search


@dataclass(frozen=True, slots=True)
class Recipe:
    """Parts for the verbs to take. It runs nothing; an empty slot is the caller's choice."""

    paper: int | str  # the card's number in papers.toml, or the arXiv id of a classic
    label: Scorer | None = None
    objective: str = ""  # a name in train/objectives, so that this layer stays light
    aggregate: Aggregate = agg.minimum
    search: Search | None = None
    credit: Credit | None = None
    curate: Curate | None = None
    pair: Pair | None = None
