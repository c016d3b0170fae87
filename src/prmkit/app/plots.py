"""Charts as inline SVG, drawn by hand: data in, markup out, nothing else.

Each chart is drawn twice, for a wide and for a narrow page; the style sheet shows the one that fits, so
that text keeps its size on a phone. Colours belong to the style sheet too (`tone-0` … `tone-9`, and
`reference` for dashed lines). No meaning hangs on colour alone: a series has a mark and its name beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from zlib import crc32

from prmkit.app.report import interval_text
from prmkit.app.svg import (
    CHARACTER,
    Scale,
    digits,
    fit,
    log_ticks,
    nice_ticks,
    path,
    short,
    spread,
    tag,
    text,
)
from prmkit.errors import BadInput
from prmkit.maths.calibrate import Bin
from prmkit.maths.stats import Interval

WIDE, NARROW = 760, 360
TONES = 10
OUTLINES = (  # circle, square, diamond, triangle up, triangle down
    "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "m-3.6-3.6h7.2v7.2h-7.2z",
    "m0-5.2l5.2 5.2l-5.2 5.2l-5.2-5.2z",
    "m0-4.8l4.8 8.4h-9.6z",
    "m0 4.8l4.8-8.4h-9.6z",
)
PANEL_MARGINS = 146  # above and below the square of a reliability diagram
FEW = 4  # up to so many lines have their bands filled; more would make one grey cloud


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float
    low: float | None = None  # the ends of the interval, where one is known
    high: float | None = None

    @classmethod
    def of(cls, x: float, interval: Interval) -> Point:
        return cls(x, interval.mean, interval.low, interval.high)

    @property
    def reach(self) -> tuple[float, float]:
        return (self.y if self.low is None else self.low, self.y if self.high is None else self.high)


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    points: tuple[Point, ...]
    dashed: bool = False  # a line to hold the others against: a ceiling, a start
    tone: int | None = None  # which colour and mark; None: by its place among the series


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: Interval
    dashed: bool = False  # as in a series
    tone: int | None = None


def line_chart(
    series: Sequence[Series],
    *,
    title: str,
    x_label: str,
    y_label: str,
    log_x: bool = False,
    y_range: tuple[float, float] | None = None,
) -> str:
    """One line per series with its 95 % interval: a band for a few lines, whiskers for many."""
    _demand([n for s in series for p in s.points for n in (p.x, p.y, *p.reach)], title)
    if not all(s.points for s in series):
        raise BadInput(f"chart {title!r}: a series has no points")
    if log_x and min(p.x for s in series for p in s.points) <= 0:
        raise BadInput(f"chart {title!r}: a logarithmic axis has only numbers above 0")
    ends = [f"{s.name}: {s.points[-1].y:.2f} at {short(s.points[-1].x)}" for s in series]
    about = f"{y_label} against {x_label}. Last point of each line: {'; '.join(ends)}."

    def draw(width: int) -> tuple[float, str]:
        wide = width == WIDE
        labels = min(230.0, max(len(s.name) for s in series) * CHARACTER + 34) if wide else 10
        xs = [p.x for s in series for p in s.points]
        low, high = y_range or _hull(n for s in series for p in s.points for n in p.reach)
        y_ticks = nice_ticks(low, high)
        x = _x_scale(min(xs), max(xs), 40, width - labels, log_x)
        y = Scale(y_ticks[0], y_ticks[-1], 380 if wide else 290, 34)
        x_ticks = (
            log_ticks(x.low, x.high, 7 if wide else 4)
            if log_x
            else [t for t in nice_ticks(x.low, x.high, 6 if wide else 4) if x.low <= t <= x.high]
        )
        lines = [_line(i, s, x, y, many=len(series) > FEW) for i, s in enumerate(series)]
        names, height = _end_labels(series, x, y) if wide else _legend(series, width, y.start + 62)
        drawn = "".join(
            tag("g", line, name, class_=f"series {_tone(s, i)}")
            for i, (s, line, name) in enumerate(zip(series, lines, names, strict=True))
        )
        return height, _axes(x, y, x_ticks, y_ticks, x_label, y_label) + drawn

    return _both(title, about, draw)


def bar_chart(rows: Sequence[Bar], *, title: str, x_label: str) -> str:
    """One horizontal bar from zero per row, its 95 % interval as a whisker, its numbers in print."""
    _demand([n for r in rows for n in (r.value.mean, r.value.low, r.value.high)], title)
    about = f"{x_label}. " + "; ".join(f"{r.name}: {interval_text(r.value)}" for r in rows) + "."

    def draw(width: int) -> tuple[float, str]:
        wide = width == WIDE
        names = min(240.0, max(len(r.name) for r in rows) * CHARACTER + 16) if wide else 8
        pitch, top = (30, 14) if wide else (46, 6)
        low, high = _hull([0.0, *(n for r in rows for n in (r.value.low, r.value.high))])
        ticks = nice_ticks(low, high, 5 if wide else 4)
        x = Scale(ticks[0], ticks[-1], names, width - (140 if wide else 12))
        bottom = top + pitch * len(rows)
        grid = "".join(
            tag("path", class_="zero" if t == 0 else "grid", d=f"M{x(t):.1f} {top}V{bottom}")
            + text(x(t), bottom + 18, digits(t, ticks), "tick", "middle")
            for t in ticks
        )
        axis = text((x.start + x.end) / 2, bottom + 40, x_label, "axis", "middle")
        drawn = (_bar(i, r, x, top + pitch * (i + (0.5 if wide else 0.72)), wide) for i, r in enumerate(rows))
        return bottom + 50, grid + axis + "".join(drawn)

    return _both(title, about, draw)


def reliability_chart(bins: Mapping[str, Sequence[Bin]], *, title: str) -> str:
    """What came true against what was said, a panel per scorer; on the diagonal, words and facts agree.

    Under each panel stands how many scores fell into each bin: a point made of few says little.
    """
    _demand([n for row in bins.values() for b in row for n in (b.mean_score, b.share_right)], title)
    if not all(bins.values()):
        raise BadInput(f"chart {title!r}: a scorer has no bins")
    about = "; ".join(
        f"{name}: " + ", ".join(f"said {b.mean_score:.2f}, came true {b.share_right:.2f}" for b in row)
        for name, row in bins.items()
    )

    def draw(width: int) -> tuple[float, str]:
        columns = min(len(bins), 2) if width == WIDE else 1
        side, room = width / columns, min(width / columns - 60, 290)
        pitch = room + PANEL_MARGINS + 18
        panels = "".join(
            tag(
                "g",
                _panel(name, row, room),
                class_=f"series tone-{i % TONES}",
                transform=f"translate({i % columns * side:.0f} {i // columns * pitch:.0f})",
            )
            for i, (name, row) in enumerate(bins.items())
        )
        return pitch * math.ceil(len(bins) / columns) - 18, panels

    return _both(title, about, draw)


def wilson(share: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a share p of n independent cases.

    (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n), with z = 1.96

    >>> [round(end, 2) for end in wilson(0.5, 4)]
    [0.15, 0.85]
    """
    z2 = 1.959964**2 / n
    middle, half = share + z2 / 2, math.sqrt(z2 * (share * (1 - share) + z2 / 4))
    return (middle - half) / (1 + z2), (middle + half) / (1 + z2)


def _panel(name: str, bins: Sequence[Bin], side: float) -> str:
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    x, y = Scale(0, 1, 42, 42 + side), Scale(0, 1, 38 + side, 38)
    foot, tallest = y.start + PANEL_MARGINS - 58, max(b.n for b in bins)
    counts = "".join(
        tag("rect", class_="count", x=x(b.low) + 1, y=foot - h, width=x(b.high) - x(b.low) - 2, height=h)
        + text(x((b.low + b.high) / 2), foot - h - 4, _count(b.n), "small", "middle")
        for b in bins
        for h in [max(1.0, 30 * b.n / tallest)]
    )
    points = tuple(Point(b.mean_score, b.share_right, *wilson(b.share_right, b.n)) for b in bins)
    return (
        _axes(x, y, ticks, ticks, "what the scorer said", "what came true")
        + tag("path", class_="diagonal", d=f"M{x(0):.1f} {y(0):.1f}L{x(1):.1f} {y(1):.1f}")
        + _line(0, Series(name, points), x, y, many=True)
        + counts
        + text(x.start, foot + 15, "scores in each bin", "small")
        + text(x.end, 16, fit(name, side * 0.6), "panel", "end")
    )


def _line(place: int, series: Series, x: Scale, y: Scale, *, many: bool) -> str:
    spots = [(x(p.x), y(p.y), y(p.reach[0]), y(p.reach[1]), p) for p in series.points]
    edge = [(a, top) for a, _, _, top, _ in spots] + [(a, low) for a, _, low, _, _ in reversed(spots)]
    whiskers = "".join(f"M{a:.1f} {low:.1f}V{top:.1f}" for a, _, low, top, _ in spots)
    return (
        tag("path", class_="band hidden" if many else "band", d=path(edge) + "Z")
        + (tag("path", class_="whisker", d=whiskers) if many else "")
        + tag("path", class_="line dashed" if series.dashed else "line", d=path([s[:2] for s in spots]))
        + "".join(
            tag("path", tag("title", _told(series.name, p)), class_="mark", d=_mark(series, place, a, b))
            for a, b, _, _, p in spots
        )
    )


def _end_labels(series: Sequence[Series], x: Scale, y: Scale) -> tuple[list[str], float]:
    """The name of each line beside its end, led there by a hairline where it had to move."""
    ends = [(x(s.points[-1].x), y(s.points[-1].y)) for s in series]
    bottom = y.start if len(series) * 17 <= y.start - y.end else y.end + len(series) * 17
    places = spread([b for _, b in ends], 17, y.end, bottom)
    labels = [
        tag("path", class_="leader", d=f"M{a + 6:.1f} {b:.1f}H{x.end + 4:.1f}L{x.end + 15:.1f} {at:.1f}")
        + tag("path", class_="mark", d=_mark(s, i, x.end + 21, at))
        + text(x.end + 30, at + 4, fit(s.name, WIDE - x.end - 30), "label")
        for i, (s, (a, b), at) in enumerate(zip(series, ends, places, strict=True))
    ]
    return labels, max(y.start, bottom) + 48


def _legend(series: Sequence[Series], width: int, top: float) -> tuple[list[str], float]:
    """The names below the chart, in the order in which the lines end, from the top down."""
    columns = 2 if max(len(s.name) for s in series) * CHARACTER < width / 2 - 26 else 1
    rows = math.ceil(len(series) / columns)
    order = sorted(range(len(series)), key=lambda i: -series[i].points[-1].y)
    names = [""] * len(series)
    for rank, i in enumerate(order):
        left, at = 8 + rank // rows * width / columns, top + rank % rows * 21
        names[i] = (
            tag("path", class_="line dashed" if series[i].dashed else "line", d=f"M{left} {at}h18")
            + tag("path", class_="mark", d=_mark(series[i], i, left + 9, at))
            + text(left + 25, at + 4, fit(series[i].name, width / columns - 30), "label")
        )
    return names, top + rows * 21 - 6


def _bar(place: int, row: Bar, x: Scale, middle: float, wide: bool) -> str:
    zero, value, low, high = x(0), x(row.value.mean), x(row.value.low), x(row.value.high)
    name_at = (x.start - 10, middle + 4, "end") if wide else (x.start, middle - 15, "start")
    value_at = (x.end + 14, middle + 4, "start") if wide else (x.end, middle - 15, "end")
    room = x.start - 16 if wide else x.end - x.start - 130
    return tag(
        "g",
        tag("title", escape(f"{row.name}: {interval_text(row.value, n=True)}")),
        tag("rect", class_="bar", x=min(zero, value), y=middle - 7, width=abs(value - zero), height=14),
        tag("path", class_="whisker strong", d=f"M{low:.1f} {middle}H{high:.1f}"),
        tag("path", class_="mark", d=_mark(row, place, value, middle)),
        text(name_at[0], name_at[1], fit(row.name, room), "label", name_at[2]),
        text(value_at[0], value_at[1], interval_text(row.value), "value", value_at[2]),
        class_=f"series {_tone(row, place)}",
    )


def _axes(
    x: Scale, y: Scale, x_ticks: Sequence[float], y_ticks: Sequence[float], x_label: str, y_label: str
) -> str:
    across = "".join(
        tag("path", class_="grid", d=f"M{x.start} {y(t):.1f}H{x.end:.1f}")
        + text(x.start - 8, y(t) + 4, digits(t, y_ticks), "tick", "end")
        for t in y_ticks
    )
    along = "".join(
        tag("path", class_="grid", d=f"M{x(t):.1f} {y.start}v5")
        + text(x(t), y.start + 19, short(t) if x.log else digits(t, x_ticks), "tick", "middle")
        for t in x_ticks
    )
    below = text((x.start + x.end) / 2, y.start + 40, x_label, "axis", "middle")
    return across + along + below + text(4, 16, y_label, "axis")


def _x_scale(low: float, high: float, start: float, end: float, log: bool) -> Scale:
    if log:
        return Scale(low / 1.12, high * 1.12, start, end, log=True)
    pad = (high - low) * 0.02 or 0.5
    return Scale(low - pad, high + pad, start, end)


def _mark(series: Series | Bar, place: int, x: float, y: float) -> str:
    shape = (place if series.tone is None else series.tone) % len(OUTLINES)
    return f"M{x:.1f} {y:.1f}{OUTLINES[shape]}"


def _both(title: str, about: str, draw: Callable[[int], tuple[float, str]]) -> str:
    return _svg("wide", WIDE, title, about, *draw(WIDE)) + _svg("narrow", NARROW, title, about, *draw(NARROW))


def _svg(kind: str, width: int, title: str, about: str, height: float, inside: str) -> str:
    name = f"{kind}-{crc32((title + about).encode()):08x}"
    head = tag("title", escape(title), id=name) + tag("desc", escape(about), id=f"{name}-d")
    return tag(
        "svg",
        head + inside,
        class_=f"chart {kind}",
        viewBox=f"0 0 {width} {height:.0f}",
        role="img",
        aria_labelledby=name,
        aria_describedby=f"{name}-d",
    )


def _tone(series: Series | Bar, place: int) -> str:
    if series.tone is None:
        return "reference" if series.dashed else f"tone-{place % TONES}"
    return f"tone-{series.tone % TONES}"


def _told(name: str, p: Point) -> str:
    interval = f" [{p.low:.2f}, {p.high:.2f}]" if p.low is not None and p.high is not None else ""
    return escape(f"{name}: {p.y:.2f}{interval} at {short(p.x)}")


def _count(n: int) -> str:
    return str(n) if n < 10_000 else short(n)


def _hull(numbers: Iterable[float]) -> tuple[float, float]:
    known = list(numbers)
    return min(known), max(known)


def _demand(numbers: Sequence[float], title: str) -> None:
    if not numbers:
        raise BadInput(f"chart {title!r}: there is nothing to draw")
    if not all(map(math.isfinite, numbers)):
        raise BadInput(f"chart {title!r}: a number is not finite")
