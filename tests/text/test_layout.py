from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.text.layout import lay_out
from prmkit.types import Problem, Step, Trajectory


class Letters:
    name = "letters"

    def encode(self, text):
        return [ord(c) for c in text]


SAMPLED = Step("c", tokens=(7, 8, 9), tokenizer="letters")
T = Trajectory(Problem("q:"), (Step("ab"), Step("OUT", by="world"), SAMPLED), "done")

a_step = st.builds(
    Step,
    text=st.text(min_size=1, max_size=5),
    by=st.sampled_from(["policy", "world"]),
    tokens=st.lists(st.integers(0, 99), max_size=4).map(tuple),
    tokenizer=st.sampled_from(["letters", "another", ""]),
)
trajectories = st.builds(
    Trajectory, st.builds(Problem, st.text(max_size=5)), st.lists(a_step, max_size=6).map(tuple)
)
markers = st.sampled_from(["", "#", "ки"])


def test_one_span_per_policy_step_and_none_for_the_world():
    layout = lay_out(T, Letters())
    assert layout.ids == (*map(ord, "q:abOUT"), 7, 8, 9)
    assert layout.prompt_length == 2
    assert layout.spans == ((2, 4), (7, 10))
    assert layout.read_at == (3, 9)


def test_a_marker_closes_policy_steps_only_and_is_where_the_score_is_read():
    layout = lay_out(T, Letters(), marker="#")
    assert layout.ids == (*map(ord, "q:ab#OUT"), 7, 8, 9, ord("#"))
    assert [layout.ids[i] for i in layout.read_at] == [ord("#"), ord("#")]


@pytest.mark.parametrize("whose", ["another", ""])
def test_tokens_of_another_tokenizer_are_not_taken_over(whose):
    t = replace(T, steps=(replace(SAMPLED, tokenizer=whose),))
    assert lay_out(t, Letters()).ids == tuple(map(ord, "q:c"))


def test_a_rendered_prompt_replaces_the_problems_own():
    layout = lay_out(T, Letters(), prompt="<user>q:</user>")
    assert layout.ids[: layout.prompt_length] == tuple(map(ord, "<user>q:</user>"))
    assert lay_out(T, Letters(), prompt="").prompt_length == 0


def test_a_step_without_tokens_is_refused_unless_a_marker_stands_for_it():
    t = Trajectory(Problem("q:"), (Step("ab"), Step("")))
    with pytest.raises(ValueError, match=r"policy step 1 has no tokens.*Step\(text=''"):
        lay_out(t, Letters())
    assert lay_out(t, Letters(), marker="#").spans == ((2, 5), (5, 6))


def test_a_silent_world_is_nothing_wrong():
    t = Trajectory(Problem("q:"), (Step("ab"), Step("", by="world"), Step("c")))
    assert lay_out(t, Letters()).spans == ((2, 4), (4, 5))


@given(trajectories, markers)
def test_a_prefix_has_a_prefix_of_the_layout(trajectory, marker):
    whole = lay_out(trajectory, Letters(), marker=marker)
    for prefix in trajectory.prefixes():
        part = lay_out(prefix, Letters(), marker=marker)
        assert whole.ids[: len(part.ids)] == part.ids
        assert whole.spans[: len(part.spans)] == part.spans
        assert part.read_at[-1] == len(part.ids) - 1


@given(trajectories, markers)
def test_spans_are_as_many_as_policy_steps_in_order_and_apart(trajectory, marker):
    layout = lay_out(trajectory, Letters(), marker=marker)
    assert len(layout.spans) == len(trajectory.actions)
    edges = [layout.prompt_length, *(edge for span in layout.spans for edge in span), len(layout.ids)]
    assert edges == sorted(edges)
    assert all(start < end for start, end in layout.spans)
