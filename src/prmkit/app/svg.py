"""Paper and pencil for charts: scales, round ticks, room for labels, and SVG elements as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

CHARACTER = 6.7  # the mean width of a label's character, in pixels


@dataclass(frozen=True, slots=True)
class Scale:
    """From a number to a place on the page, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, value = (
            (math.log(self.low), math.log(self.high), math.log(value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (value - low) / (high - low) * (self.end - self.start)


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers, some `about` of them, from at or below `low` to at or above `high`.

    >>> nice_ticks(0.42, 0.79)
    [0.4, 0.5, 0.6, 0.7, 0.8]
    """
    if low == high:  # a flat line runs through the middle
        half = abs(low) / 10 or 0.5
        low, high = low - half, high + half
    rough = (high - low) / about
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def log_ticks(low: float, high: float, about: int = 7) -> list[float]:
    """Ones, twos and fives of every decade inside [low, high]; only ones where those are too many.

    >>> log_ticks(60, 1100)
    [100.0, 200.0, 500.0, 1000.0]
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for digits in ((1, 2, 5), (1, 3), (1,)):
        ticks = [d * 10.0**k for k in decades for d in digits if low <= d * 10.0**k <= high]
        if len(ticks) <= about:
            break
    return ticks if len(ticks) > 1 else [low, high]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Places at least `gap` apart inside [low, high], each as near to the wanted one as its neighbours allow.

    Neighbours that would touch share one block, centred where its members want to be on average.

    >>> spread([50.0, 10.0, 12.0], gap=10, low=0, high=100)
    [50.0, 6.0, 16.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    room = max(low, high - gap * (len(order) - 1))  # where the first label may be at most
    blocks: list[tuple[float, int]] = []  # (first label's place less the gaps before it, labels)
    for rank, i in enumerate(order):
        place, size = wanted[i] - rank * gap, 1
        while blocks and blocks[-1][0] >= place:
            other, labels = blocks.pop()
            place, size = (place * size + other * labels) / (size + labels), size + labels
        blocks.append((place, size))
    starts = [min(max(place, low), room) for place, size in blocks for _ in range(size)]
    places = {i: start + rank * gap for rank, (i, start) in enumerate(zip(order, starts, strict=True))}
    return [places[i] for i in range(len(wanted))]


def tag(name: str, *inside: str, **attributes: str | float) -> str:
    """An element; its children must be markup already, its attributes are escaped here."""
    pairs = (
        (key.rstrip("_").replace("_", "-"), f"{v:.1f}" if isinstance(v, float) else str(v))
        for key, v in attributes.items()
    )
    written = "".join(f' {key}="{escape(value)}"' for key, value in pairs)
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> str:
    return tag("text", escape(words), class_=kind, x=float(x), y=float(y), text_anchor=anchor)


def path(spots: Iterable[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in spots)


def fit(words: str, room: float) -> str:
    most = max(4, int(room / CHARACTER))
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def short(number: float) -> str:
    """A number of at most three digits and a letter for its size.

    >>> [short(n) for n in (0.25, 120, 1500, 2_000_000)]
    ['0.25', '120', '1.5k', '2M']
    """
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def digits(tick: float, ticks: Sequence[float]) -> str:
    """A tick with as many decimals as the finest of its neighbours needs."""
    places = max(len(f"{t:.6f}".rstrip("0").partition(".")[2]) for t in ticks)
    return f"{tick:.{places}f}" if max(map(abs, ticks)) < 1000 else short(tick)
