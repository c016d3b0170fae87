"""Wrappers that fit any effect: an effect goes in, an effect of the same shape comes out.

The usual order, `metered` closest to what costs:

    engine, meter = metered(limited(retried(engine), 8))
    score = batched(cached_scorer(engine, "scores.db", name="my-prm"))

This is the only asyncio machinery of the toolkit.
"""

from prmkit.effects.batching import Batched, batched
from prmkit.effects.caching import cached, cached_policy, cached_rater, cached_scorer
from prmkit.effects.metering import metered
from prmkit.effects.pacing import limited, retried
from prmkit.effects.spending import Meter, spend

__all__ = [
    "Batched",
    "Meter",
    "batched",
    "cached",
    "cached_policy",
    "cached_rater",
    "cached_scorer",
    "limited",
    "metered",
    "retried",
    "spend",
]
