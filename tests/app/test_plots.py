import itertools
import math
import re
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.app.plots import Bar, Point, Series, bar_chart, line_chart, reliability_chart, wilson
from prmkit.errors import BadInput
from prmkit.maths.calibrate import Bin
from prmkit.maths.stats import Interval


def lines(*series, log_x=False, y_range=None):
    return line_chart(series, title="t", x_label="tokens", y_label="solved", log_x=log_x, y_range=y_range)


def drawings(markup):
    """The wide and the narrow drawing; parsing fails where the markup is not well formed."""
    return list(ElementTree.fromstring(f"<both>{markup}</both>"))


def marks(drawing):
    return [m for m in drawing.iter("path") if m.get("class") == "mark" and m.find("title") is not None]


def place(mark):
    return tuple(float(n) for n in re.match(r"M([\d.]+) ([\d.]+)", mark.get("d")).groups())


PRM = Series("PRM", (Point(100, 0.5, 0.45, 0.55), Point(1000, 0.7, 0.65, 0.75)))


def test_a_chart_is_drawn_for_a_wide_and_for_a_narrow_page_with_a_title_and_a_description():
    for drawing, width in zip(drawings(lines(PRM)), (760, 360), strict=True):
        assert drawing.get("viewBox").startswith(f"0 0 {width} ")
        assert drawing.find("title").text == "t"
        assert "PRM: 0.70 at 1k" in drawing.find("desc").text
        assert drawing.get("aria-labelledby") == drawing.find("title").get("id")


def test_two_charts_of_one_page_share_no_id():
    ids = re.findall(r' id="([^"]+)"', lines(PRM) + lines(Series("other", PRM.points)))
    assert len(ids) == len(set(ids)) == 8


def test_every_point_says_its_numbers_and_higher_is_further_up():
    wide, _ = drawings(lines(PRM))
    first, last = marks(wide)
    assert first.find("title").text == "PRM: 0.50 [0.45, 0.55] at 100"
    assert place(first)[0] < place(last)[0]
    assert place(first)[1] > place(last)[1]


def test_on_a_logarithmic_axis_equal_factors_are_equal_distances():
    series = Series("a", (Point(10, 0.1), Point(100, 0.2), Point(1000, 0.3)))
    wide, _ = drawings(lines(series, log_x=True))
    a, b, c = (place(m)[0] for m in marks(wide))
    assert b - a == pytest.approx(c - b, abs=0.11)


def test_a_few_lines_have_bands_and_many_have_whiskers():
    many = [Series(str(i), PRM.points) for i in range(5)]
    assert 'class="band"' in lines(PRM)
    assert "whisker" not in lines(PRM)
    assert 'class="band"' not in lines(*many)
    assert lines(*many).count('class="whisker"') == 10


def test_names_at_the_ends_of_lines_that_meet_do_not_overlap():
    wide, _ = drawings(lines(*(Series(f"line {i}", PRM.points) for i in range(11))))
    heights = sorted(float(t.get("y")) for t in wide.iter("text") if t.get("class") == "label")
    assert len(heights) == 11
    assert min(b - a for a, b in itertools.pairwise(heights)) >= 16.9


def test_a_dashed_series_is_a_reference_and_a_chosen_tone_is_kept():
    assert "series reference" in lines(Series("ceiling", PRM.points, dashed=True))
    assert "series tone-3" in lines(Series("PRM", PRM.points, tone=3))
    assert "series tone-3" in lines(Series("PRM", PRM.points, tone=13))


def test_names_are_escaped():
    markup = lines(Series("<b>&", PRM.points))
    assert "<b>" not in markup
    assert "&lt;b&gt;&amp;" in markup


def test_one_point_alone_can_be_drawn():
    assert len(drawings(lines(Series("one", (Point(5, 0.5),)), log_x=True))) == 2
    assert len(drawings(lines(Series("one", (Point(5, 0.5),))))) == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_number_that_is_not_finite_is_refused_by_the_name_of_the_chart(bad):
    with pytest.raises(BadInput, match=r"'t'.*not finite"):
        lines(Series("a", (Point(1, bad),)))


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(BadInput, match="nothing to draw"):
        lines()
    with pytest.raises(BadInput, match="no points"):
        lines(PRM, Series("empty", ()))
    with pytest.raises(BadInput, match="above 0"):
        lines(Series("a", (Point(0, 0.5),)), log_x=True)
    with pytest.raises(BadInput, match="no bins"):
        reliability_chart({"a": [Bin(0, 1, 0.5, 0.5, 1)], "b": []}, title="t")


def test_bars_grow_from_zero_to_both_sides():
    rows = [Bar("up", Interval(0.2, 0.1, 0.3, 50)), Bar("down", Interval(-0.2, -0.3, -0.1, 50))]
    wide, _ = drawings(bar_chart(rows, title="t", x_label="difference"))
    up, down = (b for b in wide.iter("rect") if b.get("class") == "bar")
    assert float(up.get("width")) == pytest.approx(float(down.get("width")), abs=0.11)
    assert float(down.get("x")) + float(down.get("width")) == pytest.approx(float(up.get("x")), abs=0.11)


def test_a_bar_prints_its_interval_and_says_how_many():
    markup = bar_chart([Bar("PRM", Interval(0.7, 0.65, 0.75, 300))], title="t", x_label="solved")
    assert ">0.70 [0.65, 0.75]<" in markup
    assert "PRM: 0.70 [0.65, 0.75], n = 300" in markup


def test_a_reliability_diagram_has_a_panel_per_scorer_the_diagonal_and_the_counts():
    bins = [Bin(0.0, 0.5, 0.2, 0.1, 40), Bin(0.5, 1.0, 0.8, 0.9, 60)]
    wide, narrow = drawings(reliability_chart({"PRM": bins, "outcome": bins}, title="t"))
    for drawing in (wide, narrow):
        assert sum(p.get("class") == "diagonal" for p in drawing.iter("path")) == 2
        assert [t.text for t in drawing.iter("text") if t.text in ("40", "60")] == ["40", "60"] * 2
        assert {"PRM", "outcome"} <= {t.text for t in drawing.iter("text")}


def test_what_keeps_its_word_lies_on_the_diagonal():
    bins = [Bin(0.0, 0.5, 0.25, 0.25, 40), Bin(0.5, 1.0, 0.75, 0.75, 60)]
    wide, _ = drawings(reliability_chart({"PRM": bins}, title="t"))
    (x1, y1), (x2, y2) = (place(m) for m in marks(wide))
    assert x2 - x1 == pytest.approx(y1 - y2, abs=0.11)


def test_the_interval_of_a_share_by_hand():
    # p = 0.5, n = 4, z² = 3.84: (0.98 ± 0.685) / 1.96
    assert wilson(0.5, 4) == pytest.approx((0.150, 0.850), abs=0.001)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_the_interval_of_a_share_holds_it_and_stays_a_share(share, n):
    low, high = wilson(share, n)
    assert -1e-9 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1 + 1e-9
