import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.text import steps

SEGMENTS = {**steps.SEGMENTS, "marks": steps.by_separator("ки"), "stops": steps.by_separator(".")}
prose = st.lists(
    st.sampled_from(
        ["\n", "\n\n", " ", ".", "! ", "Step 1: ", "step 22", "**Step 3**", "3. ", "ки", "a", "É", "\r", "\t"]
    )
).map("".join)


@pytest.mark.parametrize("name", SEGMENTS)
@given(text=st.one_of(prose, st.text()))
def test_the_steps_joined_are_the_text(name, text):
    found = SEGMENTS[name](text)
    assert "".join(found) == text
    assert all(found)


@pytest.mark.parametrize("name", SEGMENTS)
@given(text=prose.filter(str.strip))
def test_whitespace_alone_is_never_a_step(name, text):
    assert all(step.strip() for step in SEGMENTS[name](text))


@pytest.mark.parametrize("name", SEGMENTS)
def test_no_text_has_no_steps_and_blank_text_is_kept(name):
    assert SEGMENTS[name]("") == []
    assert SEGMENTS[name](" \n\n\t") == [" \n\n\t"]


def test_a_separator_stays_with_the_step_it_closes():
    assert steps.by_separator("ки")("add 2 ки\ntake 1 ки\n") == ["add 2 ки", "\ntake 1 ки\n"]


def test_leading_blank_lines_open_the_first_step_and_others_close_the_one_before():
    assert steps.lines("\n\na\n\nb\n") == ["\n\na\n\n", "b\n"]


def test_paragraphs_keep_single_line_breaks():
    assert steps.paragraphs("a\nb\n\nc\n\n\n\nd") == ["a\nb\n\n", "c\n\n\n\n", "d"]


def test_sentences_do_not_end_in_numbers_lists_or_abbreviations():
    assert steps.sentences("1. Pi is 3.14, cf. above. So 2 > 1. Done?! (Yes.) Good") == [
        "1. Pi is 3.14, cf. above. ",
        "So 2 > 1. ",
        "Done?! ",
        "(Yes.) ",
        "Good",
    ]


def test_sentences_end_with_their_line():
    assert steps.sentences("x = 2\ny = 3.\n2. z = 4") == ["x = 2\n", "y = 3.\n", "2. z = 4"]
    assert steps.sentences("One. \n  2. Two, i.e.  more.  \n\nthree") == [
        "One. \n",
        "  2. Two, i.e.  more.  \n\n",
        "three",
    ]


def test_numbered_steps_begin_at_their_headings():
    text = "Let us see.\nStep 1: add\nSee step 9 too.\n**Step 2** take\n## step 3: done"
    assert steps.numbered(text) == [
        "Let us see.\n",
        "Step 1: add\nSee step 9 too.\n",
        "**Step 2** take\n",
        "## step 3: done",
    ]


def test_a_separator_must_be_something():
    with pytest.raises(ValueError, match="empty separator"):
        steps.by_separator("")
