import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.app.report import (
    Chart,
    Figure,
    Figures,
    ReportData,
    ScoredStep,
    Section,
    Solution,
    Table,
    Verdict,
    Verdicts,
    compare,
    interval_text,
    level,
    render,
)
from prmkit.errors import BadInput
from prmkit.maths.stats import Interval

EMPTY = {"meta"}


class Nesting(HTMLParser):
    """Fails on a tag that closes another one than the last that was opened."""

    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page(*blocks, **fields):
    return render(ReportData("Title", (Section("Part", "", blocks),), **fields))


def everything(word):
    return ReportData(
        word,
        (
            Section(
                word,
                f"{word}\n\n{word}",
                (
                    Figures((Figure(word, word, word),)),
                    Chart("<svg></svg>", word),
                    Table((word, word), ((word, word),), word),
                    Solution(word, (ScoredStep(word, 0.5, word, True, word), ScoredStep(word)), word, word),
                    Verdicts((Verdict(word, "win"),)),
                ),
            ),
        ),
        lead=word,
        settings={word: word},
    )


def test_the_page_stands_alone():
    html = render(everything("word"))
    assert html.startswith("<!doctype html>")
    assert not re.search(r"https?:|<script|<link|@import|url\(|src=", html)


def test_the_page_is_well_nested():
    parser = Nesting()
    parser.feed(render(everything("word")))
    assert parser.open == []
    assert {"nav", "main", "figure", "table", "article", "ul", "dl"} <= set(parser.seen)


def test_every_word_of_the_caller_is_escaped():
    html = render(everything('<i class="x">&'))
    assert '<i class="x">' not in html
    assert html.count("&lt;i class=&quot;x&quot;&gt;&amp;") > 18


def test_the_contents_lead_to_the_sections():
    html = render(ReportData("t", (Section("One"), Section("Two"))))
    assert re.findall(r'href="#([^"]+)"', html) == re.findall(r'<section id="([^"]+)"', html)
    assert html.index("One") < html.index("Two")


def test_prose_is_cut_into_paragraphs_at_empty_lines():
    html = render(ReportData("t", (Section("s", "first\nstill first\n\n second "),)))
    assert "<p>first\nstill first</p><p>second</p>" in html


def test_columns_of_numbers_are_set_to_the_right():
    table = Table(
        ("method", "solved", "n"), (("1 vote", "0.62 [0.58, 0.66]", "300"), ("16 beams", "–", "300"))
    )
    assert table.numeric == (False, True, True)
    assert '<td class="number">0.62 [0.58, 0.66]</td>' in page(table)
    assert '<th scope="row">1 vote</th>' in page(table)


def test_a_row_with_a_cell_too_few_is_refused():
    with pytest.raises(BadInput, match=r"'scores'.*2 cells"):
        Table(("a", "b"), (("1",),), "scores")


def test_a_step_shows_its_score_its_shade_its_verdict_and_its_error():
    html = page(Solution("p", (ScoredStep("2 + 2 = 5\n", 0.22, "first error", False, "calculation"),)))
    assert '<li class="level-1">' in html
    assert "<b>0.22</b>" in html
    assert "width:22%" in html
    assert ">2 + 2 = 5<" in html
    assert "✗ first error" in html
    assert '<span class="error">calculation</span>' in html


def test_a_step_without_a_score_says_so_and_is_not_shown_as_zero():
    html = page(Solution("p", (ScoredStep("tool: 4"),)))
    assert "not scored" in html
    assert "0.00" not in html


def test_a_score_outside_its_range_is_refused():
    with pytest.raises(BadInput, match=r"1\.2"):
        page(Solution("p", (ScoredStep("s", 1.2),)))


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_better_score_never_has_a_worse_shade(a, b):
    assert 0 <= level(min(a, b)) <= level(max(a, b)) <= 4


def test_a_difference_above_zero_is_a_win_for_the_first():
    verdict = compare("PRM best-of-16 (min)", "one sample", Interval(0.18, 0.14, 0.22, 300))
    assert verdict == Verdict("PRM best-of-16 (min) beats one sample by 0.18 [0.14, 0.22].", "win")


def test_a_difference_below_zero_is_told_from_the_side_of_the_winner():
    verdict = compare("PRM best-of-16", "majority vote", Interval(-0.05, -0.09, -0.01, 300))
    assert verdict == Verdict("Majority vote beats PRM best-of-16 by 0.05 [0.01, 0.09].", "loss")


@pytest.mark.parametrize(("low", "high"), [(-0.02, 0.03), (0.0, 0.03), (-0.03, 0.0)])
def test_a_difference_whose_interval_touches_zero_tells_nothing(low, high):
    verdict = compare("a", "b", Interval((low + high) / 2, low, high, 300))
    assert verdict.outcome == "undecided"
    assert verdict.sentence.startswith("No difference can be told between a and b: ")


def test_an_interval_as_text_has_no_negative_zero():
    assert interval_text(Interval(-0.001, -0.02, 0.013, 300)) == "0.00 [-0.02, 0.01]"
    assert interval_text(Interval(0.5, 0.4, 0.6, 20), digits=1, n=True) == "0.5 [0.4, 0.6], n = 20"


def test_verdicts_say_in_words_what_their_colours_say():
    html = page(Verdicts((Verdict("a", "win"), Verdict("b", "loss"), Verdict("c", "undecided"))))
    assert re.findall(r"<b>(\w+)</b>", html) == ["won", "lost", "open"]


def test_settings_stand_at_the_end_only_if_there_are_some():
    assert "<h2>Settings</h2>" not in page()
    assert "<dt>seed</dt><dd>0</dd>" in page(settings={"seed": "0"})
