from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.app.svg import Scale, digits, fit, log_ticks, nice_ticks, spread, tag, text


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_hold_the_data_and_are_evenly_spaced(low, span):
    ticks = nice_ticks(low, low + span)
    slack = 1e-6 * span
    assert ticks[0] <= low + slack
    assert ticks[-1] >= low + span - slack
    assert 2 <= len(ticks) <= 8
    gaps = [b - a for a, b in pairwise(ticks)]
    assert max(gaps) - min(gaps) <= 1e-6 * max(gaps)


def test_a_single_value_has_its_ticks_around_it():
    assert nice_ticks(10, 10) == [9, 9.5, 10, 10.5, 11]
    assert nice_ticks(0, 0) == [-0.6, -0.4, -0.2, 0, 0.2, 0.4, 0.6]


def test_logarithmic_ticks_thin_out_as_decades_are_added():
    assert log_ticks(1, 10) == [1, 2, 5, 10]
    assert log_ticks(1, 1e3) == [1, 3, 10, 30, 100, 300, 1000]
    assert log_ticks(1, 1e5) == [1, 10, 100, 1e3, 1e4, 1e5]
    assert log_ticks(61, 68) == [61, 68]


@given(st.lists(st.floats(0, 100), min_size=1, max_size=10))
def test_spread_labels_keep_their_order_their_distance_and_their_bounds(wanted):
    places = spread(wanted, gap=10, low=0, high=100)
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    ranked = [places[i] for i in order]
    assert all(b - a >= 10 - 1e-6 for a, b in pairwise(ranked))
    assert ranked[0] >= -1e-6
    assert ranked[-1] <= 100 + 1e-6


def test_labels_that_have_room_stay_where_they_want_to_be():
    assert spread([80.0, 20.0, 50.0], gap=10, low=0, high=100) == [80, 20, 50]


def test_a_scale_puts_its_ends_on_the_page_and_the_geometric_mean_in_the_middle():
    scale = Scale(10, 1000, 0, 200, log=True)
    assert (scale(10), scale(100), scale(1000)) == pytest.approx((0, 100, 200))


def test_ticks_of_one_axis_share_their_decimals():
    assert [digits(t, [0, 0.25, 0.5]) for t in (0, 0.25, 0.5)] == ["0.00", "0.25", "0.50"]
    assert digits(2000, [0, 2000]) == "2k"


def test_a_name_that_is_too_long_is_cut():
    assert fit("short", 100) == "short"
    assert fit("a name without an end", 67) == "a name wi…"


def test_an_element_escapes_its_attributes_and_keeps_its_children():
    assert tag("g", "<path/>", aria_label='"b"') == '<g aria-label="&quot;b&quot;"><path/></g>'
    assert tag("rect", class_="bar", x=1.26) == '<rect class="bar" x="1.3"></rect>'


def test_words_are_escaped():
    assert "&lt;b&gt;</text>" in text(1, 2, "<b>", "tick")
