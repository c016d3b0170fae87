import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.data.jsonl import read_jsonl
from prmkit.data.sources import FORMATS, detect, read_examples, write_examples
from prmkit.data.sources.math_shepherd import FORMAT as SHEPHERD
from prmkit.errors import BadRecord, UnknownName
from prmkit.types import Example, Problem, Step, Trajectory

PROCESSBENCH = {
    "id": "gsm8k-0",
    "generator": "some-model",
    "problem": "1 + 1 + 1 + 1?",
    "steps": ["1 + 1 = 2", "2 + 1 = 4", "4 + 1 = 5"],
    "final_answer_correct": False,
    "label": 1,
}
TRL = {"prompt": "1 + 1 + 1?", "completions": ["1 + 1 = 2", "2 + 1 = 4"], "labels": [True, False]}
SHEPHERD_ROW = {
    "input": "1 + 1 + 1? Step 1: 1 + 1 = 2 ки\nStep 2: 2 + 1 = 4 ки",
    "label": "1 + 1 + 1? Step 1: 1 + 1 = 2 +\nStep 2: 2 + 1 = 4 -",
    "task": "GSM8K",
}
STEPS = {
    "id": "x-1",
    "source": "mr_ben",
    "domain": "math",
    "problem": "1 + 1 + 1?",
    "steps": ["1 + 1 = 2", "2 + 1 = 4"],
    "first_error": 1,
    "labels": None,
    "final_correct": False,
    "meta": {"level": 2},
}
PRM800K = {
    "labeler": "l-1",
    "timestamp": "2022-07-28T21:14:58",
    "generation": None,
    "question": {"problem": "1 + 1?", "ground_truth_answer": "2"},
    "label": {
        "steps": [
            {
                "completions": [{"text": "It is 2.", "rating": 1, "flagged": False}],
                "human_completion": None,
                "chosen_completion": 0,
            }
        ],
        "total_time": 7,
        "finish_reason": "solution",
    },
}
OWN = {
    "trajectory": {"problem": {"prompt": "1 + 1?"}, "steps": [{"text": "2"}]},
    "labels": [0.75],
    "source": "monte_carlo:4",
}
ROWS = {
    "prmkit": OWN,
    "processbench": PROCESSBENCH,
    "prm800k": PRM800K,
    "trl": TRL,
    "math_shepherd": SHEPHERD_ROW,
    "steps": STEPS,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_known_by_its_fields_and_written_back_as_it_was(name, exactly, write_lines, tmp_path):
    assert detect(ROWS[name]) == name
    examples = list(read_examples(write_lines(ROWS[name])))
    assert write_examples(tmp_path / "out.jsonl", examples, name) == 1
    assert [exactly(row) for _, row in read_jsonl(tmp_path / "out.jsonl")] == [exactly(ROWS[name])]


@pytest.mark.parametrize("name", [n for n in FORMATS if n != "prmkit"])
def test_every_format_travels_through_our_own_without_loss(name, exactly, write_lines, tmp_path):
    write_examples(tmp_path / "ours.jsonl", read_examples(write_lines(ROWS[name])), "prmkit")
    write_examples(tmp_path / "back.jsonl", read_examples(tmp_path / "ours.jsonl"), name)
    assert [exactly(row) for _, row in read_jsonl(tmp_path / "back.jsonl")] == [exactly(ROWS[name])]


@given(st.data())
def test_unknown_fields_travel_in_data_and_come_back(json_values, exactly, data):
    name = data.draw(st.sampled_from([n for n in FORMATS if n != "prmkit"]))
    row = ROWS[name]
    names = st.text(min_size=1, max_size=6).filter(lambda n: n not in row)
    extra = data.draw(
        st.dictionaries(names | st.just("id").filter(lambda n: n not in row), json_values, max_size=3)
    )
    example = FORMATS[name].read({**row, **extra})
    assert {k: example.data[k] for k in extra if k != "id"} == {k: v for k, v in extra.items() if k != "id"}
    assert exactly(FORMATS[name].write(example)) == exactly({**row, **extra})


TEXTS = st.text(alphabet="ab 1+-=к.\n", max_size=12)


@given(st.lists(TEXTS, max_size=5), st.data())
def test_any_processbench_row_comes_back(exactly, steps, data):
    label = data.draw(st.integers(-1, len(steps) - 1))
    row = {**PROCESSBENCH, "steps": steps, "label": label, "final_answer_correct": data.draw(st.booleans())}
    assert exactly(FORMATS["processbench"].write(FORMATS["processbench"].read(row))) == exactly(row)


@given(st.lists(st.tuples(TEXTS, st.booleans() | st.floats(0, 1) | st.integers(0, 1)), max_size=5))
def test_any_trl_row_comes_back_with_its_booleans_and_floats(exactly, steps):
    row = {"prompt": "?", "completions": [t for t, _ in steps], "labels": [label for _, label in steps]}
    example = FORMATS["trl"].read(row)
    assert all(type(label) is float for label in example.labels)
    assert exactly(FORMATS["trl"].write(example)) == exactly(row)


@given(st.data())
def test_any_row_of_the_steps_shape_comes_back(exactly, data):
    steps = data.draw(st.lists(TEXTS, max_size=4))
    n = len(steps)
    row = {"problem": "?", "steps": steps}
    label = st.sampled_from([0, 1, 0.5, True, None])
    for field, values in {
        "first_error": st.none() | st.integers(-1, n - 1),
        "labels": st.none() | st.lists(label, min_size=n, max_size=n),
        "final_correct": st.none() | st.booleans(),
        "source": st.none() | st.sampled_from(["", "mr_ben", "math-shepherd"]),
        "id": st.none() | st.sampled_from(["", "a"]),
    }.items():
        if data.draw(st.booleans()):
            row[field] = data.draw(values)
    assert exactly(FORMATS["steps"].write(FORMATS["steps"].read(row))) == exactly(row)


def test_processbench_knows_nothing_after_the_error():
    example = FORMATS["processbench"].read(PROCESSBENCH)
    assert example.labels == (1.0, 0.0, None)
    assert (example.kind, example.outcome, example.id) == ("correctness", 0.0, "gsm8k-0")
    assert example.trajectory.stop == "done"
    assert example.data == {"generator": "some-model"}
    right = FORMATS["processbench"].read({**PROCESSBENCH, "label": -1, "final_answer_correct": True})
    assert (right.labels, right.outcome) == ((1.0, 1.0, 1.0), 1.0)


def test_trl_labels_that_were_changed_are_written_as_they_are_now():
    example = FORMATS["trl"].read(TRL)
    assert example.labels == (1.0, 0.0)
    assert FORMATS["trl"].write(replace(example, labels=(0.25, 0.0)))["labels"] == [0.25, 0.0]


def test_math_shepherd_gives_steps_with_hard_values():
    example = SHEPHERD.read(SHEPHERD_ROW)
    assert example.trajectory.problem.prompt == "1 + 1 + 1?"
    assert [s.text for s in example.trajectory.steps] == ["Step 1: 1 + 1 = 2", "Step 2: 2 + 1 = 4"]
    assert (example.labels, example.kind) == ((1.0, 0.0), "value")
    assert example.data == {"task": "GSM8K"}


ODD_SHEPHERDS = {
    "the mark as a word of the question": (
        "What is ки + 1? Step 1: 2 ки",
        "What is ки + 1? Step 1: 2 +",
        ("What is ки + 1?", ["Step 1: 2"], (1.0,)),
    ),
    "the question's mark replaced as well": (
        "What is ки + 1? Step 1: 2 ки",
        "What is - + 1? Step 1: 2 +",
        ("What is ки + 1?", ["Step 1: 2"], (1.0,)),
    ),
    "the mark as a word of a step": (
        "? Step 1: ки is odd ки\nStep 2: so ки",
        "? Step 1: ки is odd +\nStep 2: so -",
        ("?", ["Step 1: ки is odd", "Step 2: so"], (1.0, 0.0)),
    ),
    "a question that has steps": (
        "Do Step 1: mix. How long? Step 1: 5 ки",
        "Do Step 1: mix. How long? Step 1: 5 +",
        ("Do Step 1: mix. How long?", ["Step 1: 5"], (1.0,)),
    ),
    "an empty step at the end": (
        "? Step 1: 5 ки\nStep 2: ки\n",
        "? Step 1: 5 -\nStep 2: -\n",
        ("?", ["Step 1: 5"], (0.0,)),
    ),
    "a last step without a mark": (
        "? Step 1: 5 ки\nStep 2: and",
        "? Step 1: 5 +\nStep 2: and",
        ("?", ["Step 1: 5", "Step 2: and"], (1.0, None)),
    ),
    "other white space": (
        " ?\n\nStep 1: 5ки\n\nStep 2: 6  ки ",
        " ?\n\nStep 1: 5+\n\nStep 2: 6  - ",
        ("?", ["Step 1: 5", "Step 2: 6"], (1.0, 0.0)),
    ),
}


@pytest.mark.parametrize("case", ODD_SHEPHERDS)
def test_math_shepherd_is_not_confused_by(case):
    marked, signed, (prompt, texts, labels) = ODD_SHEPHERDS[case]
    example = SHEPHERD.read({"input": marked, "label": signed})
    assert example.trajectory.problem.prompt == prompt
    assert [s.text for s in example.trajectory.steps] == texts
    assert example.labels == labels
    assert SHEPHERD.write(example) == {"input": marked, "label": signed}


@given(TEXTS, st.lists(st.tuples(TEXTS, st.sampled_from("+-")), min_size=1, max_size=4))
def test_any_math_shepherd_row_comes_back(question, steps):
    def row(marks):
        return question + " " + "\n".join(f"Step {k}: {t} {m}" for k, ((t, _), m) in enumerate(marks, 1))

    both = {
        "input": row([(s, "ки") for s in steps]),
        "label": row([(s, s[1]) for s in steps]),
    }
    assert SHEPHERD.write(SHEPHERD.read(both)) == both


def test_math_shepherd_gives_other_steps_their_numbers():
    example = Example(Trajectory(Problem("? "), (Step("one\n"), Step("Step 2: two"))), (1.0, 0.0))
    assert SHEPHERD.write(example)["label"] == "? Step 1: one +\nStep 2: two -"


def test_the_steps_shape_prefers_labels_and_else_uses_the_first_error():
    read = FORMATS["steps"].read
    assert read(STEPS).labels == (1.0, 0.0)
    assert read({**STEPS, "labels": [0, 1], "first_error": None}).labels == (0.0, 1.0)
    assert read({**STEPS, "first_error": None}).labels == (None, None)
    assert read({"problem": "?", "steps": ["a"]}).labels == (None,)
    assert read({**STEPS, "labels": [1, 1], "meta": {"out_of_range_label": True}}).labels == (None, None)


@pytest.mark.parametrize(("neutral", "label"), [("correct", 1.0), ("wrong", 0.0), ("unknown", None)])
def test_in_the_steps_shape_ratings_of_prm800k_are_ratings(neutral, label, write_lines, exactly):
    row = {**STEPS, "source": "prm800k", "labels": [0, -1], "first_error": 1}
    (example,) = read_examples(write_lines(row), neutral=neutral)
    assert example.labels == (label, 0.0)
    assert exactly(FORMATS["steps"].write(example)) == exactly(row)
    changed = FORMATS["steps"].write(replace(example, labels=(0.0, 1.0)))
    assert (changed["labels"], changed["first_error"]) == ([-1, 1], 0)


BAD_ROWS = [
    ("processbench", {**PROCESSBENCH, "label": 3}, "label", "3 is not a step: there are 3, counted from 0"),
    ("processbench", {**PROCESSBENCH, "label": -2}, "label", "-2 is not a step"),
    ("processbench", {**PROCESSBENCH, "label": "1"}, "label", "whole number"),
    ("processbench", {**PROCESSBENCH, "steps": "one"}, "steps", "a list"),
    ("processbench", {**PROCESSBENCH, "steps": ["one", None, "three"]}, "steps[1]", "a text"),
    (
        "processbench",
        {"problem": "?", "steps": [], "label": -1, "id": "a"},
        "final_answer_correct",
        "missing",
    ),
    ("processbench", {**PROCESSBENCH, "id": 7}, "id", "a text"),
    ("trl", {**TRL, "labels": [True]}, "labels", "1 labels for 2 completions"),
    ("trl", {**TRL, "labels": [True, 1.5]}, "labels[1]", "1.5 is not a chance"),
    ("trl", {**TRL, "labels": [True, None]}, "labels[1]", "null"),
    ("trl", {**TRL, "prompt": [{"role": "user", "content": "?"}]}, "prompt", "a text"),
    ("math_shepherd", {**SHEPHERD_ROW, "label": "1 + 1 + 1? Step 1: 1 + 1 = 3 +"}, "label", "differs"),
    ("math_shepherd", {**SHEPHERD_ROW, "label": SHEPHERD_ROW["label"][:-1] + "?"}, "label", "should"),
    ("math_shepherd", {**SHEPHERD_ROW, "label": SHEPHERD_ROW["label"] + " +"}, "label", "goes on"),
    ("math_shepherd", {"input": "no steps ки", "label": "no steps +"}, "input", "no 'Step 1:'"),
    ("steps", {**STEPS, "labels": [1]}, "labels", "1 labels for 2 steps"),
    ("steps", {**STEPS, "first_error": 2}, "first_error", "not a step"),
    ("steps", {**STEPS, "labels": [1, -1]}, "labels[1]", "-1 is not a chance"),
    ("steps", {**STEPS, "source": "prm800k", "labels": [1, 2]}, "labels[1]", "not a rating"),
    ("prmkit", {**OWN, "labels": [1, 0]}, "labels", "2 labels for 1"),
]


@pytest.mark.parametrize(("name", "row", "field", "problem"), BAD_ROWS)
def test_a_malformed_row_names_file_line_and_field_and_the_others_go_on(
    name, row, field, problem, write_lines
):
    path = write_lines(row, ROWS[name], "{", ROWS[name])
    bad = []
    assert len(list(read_examples(path, bad=bad))) == 2
    assert {(b.file, b.line) for b in bad} == {(str(path), 1), (str(path), 3)}
    malformed = next(b for b in bad if b.line == 1)
    assert malformed.field == field
    assert problem in malformed.problem
    assert json.loads(malformed.raw) == row


def test_a_first_row_that_shows_no_format_is_one_bad_row_not_a_bad_file(write_lines):
    path = write_lines({"prompt": "?"}, TRL)
    bad = []
    assert len(list(read_examples(path, bad=bad))) == 1
    assert (bad[0].line, bad[0].field) == (1, "completions")


def test_an_unknown_format_lists_the_known_ones(write_lines):
    path = write_lines({"question": "?", "answer": "!"})
    with pytest.raises(UnknownName, match=r"fields question, answer.*math_shepherd, prm800k.*trl"):
        list(read_examples(path))
    with pytest.raises(UnknownName, match="nearest: 'processbench'"):
        read_examples(path, "procesbench")
    with pytest.raises(UnknownName, match="unknown format 'csv'"):
        write_examples(path, [], "csv")


def test_an_empty_file_has_no_examples(write_lines):
    assert list(read_examples(write_lines())) == []


def test_between_formats_what_the_target_can_say_is_kept():
    example = replace(FORMATS["math_shepherd"].read(SHEPHERD_ROW), id="m-1", outcome=0.0)
    assert FORMATS["processbench"].write(example) == {
        "id": "m-1",
        "problem": "1 + 1 + 1?",
        "steps": ["Step 1: 1 + 1 = 2", "Step 2: 2 + 1 = 4"],
        "final_answer_correct": False,
        "label": 1,
        "task": "GSM8K",
    }
    assert FORMATS["trl"].write(example)["labels"] == [1.0, 0.0]
    assert FORMATS["steps"].write(example)["first_error"] == 1
    assert FORMATS["prm800k"].write(example)["label"]["finish_reason"] == "found_error"


ONE = Trajectory(Problem("?"), (Step("a"), Step("b")))
CANNOT_SAY = [
    ("processbench", Example(ONE, (0.5, 0.0)), "labels"),
    ("processbench", Example(ONE, (1.0, None)), "labels"),
    ("processbench", Example(ONE, (1.0, 1.0), outcome=0.5), "outcome"),
    ("trl", Example(ONE, (1.0, None)), "labels[1]"),
    ("trl", Example(ONE, (1.0, -3.0), "reward"), "labels[1]"),
    ("math_shepherd", Example(ONE, (None, 1.0)), "labels[0]"),
    ("math_shepherd", Example(ONE, (1.0, 0.3)), "labels[1]"),
    ("prm800k", Example(ONE, (1.0, 0.3)), "labels[1]"),
    ("trl", Example(ONE, (1.0,)), "labels"),
    (
        "trl",
        Example(Trajectory(Problem("?"), (Step("a"), Step("42", "world"))), (1.0,)),
        "trajectory.steps[1]",
    ),
    ("trl", Example(ONE, (1.0, 0.0), data={"prompt": "another"}), "data.prompt"),
    (
        "math_shepherd",
        Example(Trajectory(Problem("?"), (Step("Step 1: Step 1: x"),)), (1.0,)),
        "trajectory.steps",
    ),
]


@pytest.mark.parametrize(("name", "example", "field"), CANNOT_SAY)
def test_what_a_format_cannot_say_is_refused_not_bent(name, example, field, tmp_path):
    with pytest.raises(BadRecord) as caught:
        write_examples(tmp_path / "out.jsonl", [example], name)
    assert caught.value.field == field
    assert not (tmp_path / "out.jsonl").exists()
