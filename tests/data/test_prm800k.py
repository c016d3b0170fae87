from dataclasses import replace

import pytest

from prmkit.data.sources.prm800k import FORMAT, alternatives, read, write
from prmkit.errors import BadRecord


def branch(text, rating):
    return {"text": text, "rating": rating, "flagged": False}


def fork(*branches, chosen=None, human=None):
    return {
        "completions": [branch(*b) for b in branches],
        "human_completion": human and {**branch(human, None), "source": "human"},
        "chosen_completion": chosen,
    }


def row(*forks, end="solution", **question):
    return {
        "id": "p-1",
        "labeler": "l-1",
        "question": {"problem": "1 + 1 + 1?", "ground_truth_answer": "3", **question},
        "label": {"steps": list(forks), "total_time": 9, "finish_reason": end},
    }


TREE = row(
    fork(("Hm.", 0), ("1 + 1 = 2", 1), ("1 + 1 = 3", -1), ("1 + 1", None), chosen=0),
    fork(("It is 7.", -1), human="1 + 1 + 1 = 3"),
    fork(("The answer is 3.", 1), chosen=0),
)


def texts(example):
    return [step.text for step in example.trajectory.steps]


def test_a_row_is_the_path_that_was_taken():
    example = read(TREE)
    assert texts(example) == ["Hm.", "1 + 1 + 1 = 3", "The answer is 3."]
    assert example.labels == (1.0, 1.0, 1.0)
    assert (example.kind, example.outcome, example.trajectory.stop) == ("correctness", 1.0, "done")
    assert (example.trajectory.problem.answer, example.id, example.data["labeler"]) == ("3", "p-1", "l-1")


@pytest.mark.parametrize(("neutral", "label"), [("correct", 1.0), ("wrong", 0.0), ("unknown", None)])
def test_what_neutral_means_is_a_choice(neutral, label):
    example = read(TREE, neutral=neutral)
    assert example.labels == (label, 1.0, 1.0)
    assert write(example) == TREE


def test_alternatives_are_the_rated_branches_each_with_one_label():
    found = alternatives(read(TREE))
    assert [texts(e) for e in found] == [["1 + 1 = 2"], ["1 + 1 = 3"], ["Hm.", "It is 7."]]
    assert [e.labels for e in found] == [(1.0,), (0.0,), (None, 0.0)]
    assert [e.id for e in found] == ["p-1/0.1", "p-1/0.2", "p-1/1.0"]
    assert all(e.trajectory.stop == "open" and e.outcome is None for e in found)


def test_path_and_alternatives_together_count_every_rating_once():
    example = read(TREE)
    known = [x for e in [example, *alternatives(example)] for x in e.labels if x is not None]
    assert len(known) == 5 + 1  # five ratings of completions and the step written by hand


def test_alternatives_take_their_own_meaning_of_neutral():
    tree = row(fork(("Hm.", 0), ("2", 1), chosen=1))
    assert [alternatives(read(tree), neutral=n)[0].labels[0] for n in ("correct", "wrong", "unknown")] == [
        1,
        0,
        None,
    ]


def test_in_phase_two_the_solution_goes_on_to_its_own_error():
    tree = row(
        fork(("1 + 1 = 2", 1), chosen=0),
        fork(("2 + 1 = 4", -1), ("2 + 1 = 3", 1)),
        end="found_error",
        pre_generated_steps=["1 + 1 = 2", "2 + 1 = 4", "The answer is 4."],
    )
    example = read(tree)
    assert texts(example) == ["1 + 1 = 2", "2 + 1 = 4"]
    assert (example.labels, example.outcome, example.trajectory.stop) == ((1.0, 0.0), None, "open")
    assert [(texts(e), e.labels) for e in alternatives(example)] == [
        (["1 + 1 = 2", "2 + 1 = 3"], (None, 1.0))
    ]
    assert write(example) == tree


def test_where_nothing_was_chosen_the_path_ends_and_its_branches_are_alternatives():
    tree = row(fork(("a", 1), chosen=0), fork(("b", -1), ("c", -1)), end="give_up")
    example = read(tree)
    assert texts(example) == ["a"]
    assert [texts(e) for e in alternatives(example)] == [["a", "b"], ["a", "c"]]


def test_a_step_without_completions_ends_the_path():
    tree = row(fork(("a", 1), chosen=0), {**fork(), "completions": None}, end="give_up")
    assert texts(read(tree)) == ["a"]
    assert write(read(tree)) == tree


def test_a_choice_stands_above_a_step_written_by_hand():
    assert texts(read(row(fork(("a", 1), chosen=0, human="b")))) == ["a"]


def test_an_example_whose_labels_were_changed_is_not_written_over_its_old_ratings():
    changed = replace(read(TREE), labels=(1.0, 0.0, 1.0))
    with pytest.raises(BadRecord, match="no longer those of its tree"):
        write(changed)
    path_alone = write(replace(changed, data={}))
    assert [s["completions"][0]["rating"] for s in path_alone["label"]["steps"]] == [1, -1, 1]
    assert read(path_alone).labels == (1.0, 0.0, 1.0)


def test_an_example_of_another_format_has_no_alternatives():
    assert alternatives(replace(read(TREE), data={})) == []


@pytest.mark.parametrize(
    ("tree", "field", "problem"),
    [
        ({"label": {"steps": []}}, "question", "missing"),
        ({"question": {}, "label": {"steps": []}}, "question.problem", "missing"),
        ({"question": {"problem": "?"}, "label": {}}, "label.steps", "missing"),
        (
            row(fork(("a", 1), chosen=1)),
            "label.steps[0].chosen_completion",
            "1 is not one of the 1 completions",
        ),
        (row(fork(("a", 2), chosen=0)), "label.steps[0].completions[0].rating", "2 is not a rating"),
        (row(fork((None, 1), chosen=0)), "label.steps[0].completions[0].text", "a text"),
        (row(fork(("a", 1), chosen=0), {}), "label.steps[1].completions", "missing"),
    ],
)
def test_a_malformed_tree_names_the_place(tree, field, problem):
    with pytest.raises(BadRecord) as caught:
        FORMAT.read(tree)
    assert caught.value.field == field
    assert problem in caught.value.problem
