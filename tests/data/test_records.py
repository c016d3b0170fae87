import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.data import records as r
from prmkit.errors import BadRecord
from prmkit.types import Example, Problem, Scores, Step, Trajectory

FINITE = st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(max_size=12)
KINDS = st.sampled_from(["value", "correctness", "reward"])
NUMBERS = st.lists(FINITE, max_size=4).map(tuple)
DATA = st.dictionaries(
    TEXT, st.none() | st.booleans() | st.integers() | FINITE | TEXT | st.lists(TEXT), max_size=3
)

PROBLEMS = st.builds(Problem, TEXT, st.none() | TEXT, TEXT, DATA)
STEPS = st.builds(
    Step,
    TEXT,
    st.sampled_from(["policy", "world"]),
    st.booleans(),
    st.lists(st.integers(0, 2**40), max_size=4).map(tuple),
    NUMBERS,
    TEXT,
)
TRAJECTORIES = st.builds(
    Trajectory,
    PROBLEMS,
    st.lists(STEPS, max_size=4).map(tuple),
    st.sampled_from(["open", "done", "length", "error"]),
)
SCORES = st.builds(
    Scores,
    NUMBERS,
    KINDS,
    st.dictionaries(TEXT, NUMBERS, max_size=3),
    st.lists(NUMBERS, max_size=3).map(tuple),
    st.lists(TEXT, max_size=3).map(tuple),
    TEXT,
)


@st.composite
def examples(draw):
    trajectory = draw(TRAJECTORIES)
    n = len(trajectory.actions)
    labels = draw(st.lists(st.none() | FINITE, min_size=n, max_size=n))
    return Example(
        trajectory, tuple(labels), draw(KINDS), draw(st.none() | FINITE), draw(TEXT), draw(TEXT), draw(DATA)
    )


def over_the_wire(record):
    return json.loads(json.dumps(record))


@given(PROBLEMS)
def test_a_problem_comes_back_exactly(problem):
    assert r.problem_from_record(over_the_wire(r.problem_to_record(problem))) == problem


@given(TRAJECTORIES)
def test_a_trajectory_comes_back_exactly(trajectory):
    assert r.trajectory_from_record(over_the_wire(r.trajectory_to_record(trajectory))) == trajectory


@given(SCORES)
def test_scores_come_back_exactly(scores):
    assert r.scores_from_record(over_the_wire(r.scores_to_record(scores))) == scores


@given(examples())
def test_an_example_comes_back_exactly(example):
    assert r.example_from_record(over_the_wire(r.example_to_record(example))) == example


def test_defaults_are_left_out():
    trajectory = Trajectory(Problem("1+1?"), (Step("2"),))
    assert r.trajectory_to_record(trajectory) == {"problem": {"prompt": "1+1?"}, "steps": [{"text": "2"}]}
    assert r.scores_to_record(Scores((0.5,))) == {"values": [0.5]}


def test_an_outcome_of_zero_is_not_an_absent_outcome():
    example = Example(Trajectory(Problem("?")), (), outcome=0.0)
    assert r.example_to_record(example)["outcome"] == 0.0


def test_numbers_of_numpy_are_written_as_plain_numbers():
    record = r.scores_to_record(Scores(tuple(np.array([0.5, 0.25], dtype=np.float32))))
    assert json.dumps(record) == '{"values": [0.5, 0.25]}'


def test_unknown_fields_of_a_problem_and_an_example_are_kept_in_data():
    problem = r.problem_from_record({"prompt": "?", "level": 3, "data": {"a": 1}})
    assert problem.data == {"a": 1, "level": 3}
    record = {"trajectory": {"problem": {"prompt": "?"}, "steps": []}, "labels": [], "annotator": "x"}
    assert r.example_from_record(record).data == {"annotator": "x"}


BAD = [
    (r.trajectory_from_record, {"steps": []}, "problem", "missing"),
    (r.trajectory_from_record, {"problem": {}, "steps": []}, "problem.prompt", "missing"),
    (r.trajectory_from_record, {"problem": {"prompt": 3}, "steps": []}, "problem.prompt", "a text"),
    (r.trajectory_from_record, {"problem": {"prompt": ""}, "steps": "abc"}, "steps", "a list"),
    (
        r.trajectory_from_record,
        {"problem": {"prompt": ""}, "steps": [{"text": ""}, {"text": 1}]},
        "steps[1].text",
        "a text is wanted here, not a number",
    ),
    (
        r.trajectory_from_record,
        {"problem": {"prompt": ""}, "steps": [{"text": "", "tokens": [1, 2.5]}]},
        "steps[0].tokens[1]",
        "whole",
    ),
    (r.trajectory_from_record, {"problem": {"prompt": ""}, "steps": [], "stop": "ended"}, "stop", "'done'"),
    (
        r.trajectory_from_record,
        {"problem": {"prompt": ""}, "steps": [{"text": "", "txet": ""}]},
        "steps[0].txet",
        "unknown field",
    ),
    (r.scores_from_record, {"values": [0.1, "high"]}, "values[1]", "a number"),
    (r.scores_from_record, {"values": [True]}, "values[0]", "true or false"),
    (r.scores_from_record, {"values": [10**400]}, "values[0]", "finite"),
    (r.scores_from_record, {"values": [], "parts": {"std": [None]}}, "parts.std[0]", "null"),
    (
        r.example_from_record,
        {"trajectory": {"problem": {"prompt": ""}, "steps": [{"text": ""}]}, "labels": [1, 0]},
        "labels",
        "2 labels for 1 policy steps",
    ),
    (r.problem_from_record, {"prompt": "", "level": 1, "data": {"level": 2}}, "level", "both"),
]


@pytest.mark.parametrize(("read", "record", "field", "problem"), BAD)
def test_a_bad_record_names_its_field(read, record, field, problem):
    with pytest.raises(BadRecord) as caught:
        read(record)
    assert caught.value.field == field
    assert problem in caught.value.problem


def test_an_example_with_the_wrong_number_of_labels_is_not_written():
    with pytest.raises(BadRecord, match="1 labels for 0 policy steps"):
        r.example_to_record(Example(Trajectory(Problem("?"), (Step("42", "world"),)), (1.0,)))
