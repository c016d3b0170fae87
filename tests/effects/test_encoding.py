import json
import math
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.effects.encoding import canonical, digest, grown, growth, read_scores
from prmkit.errors import BadInput
from prmkit.types import Problem, Scores, Step, Trajectory

floats = st.floats(allow_nan=False)
steps = st.builds(
    Step,
    st.text(),
    st.sampled_from(["policy", "world"]),
    st.booleans(),
    st.lists(st.integers()).map(tuple),
    st.lists(floats).map(tuple),
    st.text(),
)
trajectories = st.builds(
    Trajectory,
    st.just(Problem("x")),
    st.lists(steps, max_size=4).map(tuple),
    st.sampled_from(["open", "done", "length", "error"]),
)
scores = st.builds(
    Scores,
    st.lists(floats).map(tuple),
    st.sampled_from(["value", "correctness", "reward"]),
    st.dictionaries(st.text(), st.lists(floats).map(tuple)),
    st.lists(st.lists(floats).map(tuple)).map(tuple),
    st.lists(st.text()).map(tuple),
    st.text(),
)


@given(scores)
def test_scores_read_back_exactly(given_scores):
    assert read_scores(json.loads(canonical(given_scores))) == given_scores


@given(trajectories, trajectories)
def test_a_continuation_reads_back_exactly_from_what_it_adds(prefix, whole):
    assert grown(prefix, json.loads(canonical(growth(prefix, whole)))) == whole


def test_what_is_not_a_number_reads_back_as_such():
    values = read_scores(json.loads(canonical(Scores((math.nan, math.inf, -0.0), "reward")))).values
    assert math.isnan(values[0])
    assert values[1] == math.inf
    assert math.copysign(1, values[2]) == -1


def test_only_what_a_continuation_adds_is_written():
    prefix = Trajectory(Problem("x"), (Step("a"), Step("b", partial=True)))
    whole = Trajectory(Problem("x"), (Step("a"), Step("bc")), "done")
    assert canonical(growth(prefix, whole)) == '{"kept":1,"steps":[{"text":"bc"}],"stop":"done"}'


def test_a_continuation_of_another_problem_is_refused():
    with pytest.raises(BadInput, match="another problem"):
        growth(Trajectory(Problem("x")), Trajectory(Problem("y")))


def test_the_order_of_a_mapping_does_not_matter_but_every_field_does():
    same = [Problem("x", data={"a": 1, "b": 2}), Problem("x", data=MappingProxyType({"b": 2, "a": 1}))]
    others = [Problem("x"), Problem("x", answer="3"), Problem("x", id="3"), Problem("x", data={"a": b"\x01"})]
    assert len({digest(problem) for problem in same}) == 1
    assert len({digest(problem) for problem in [*same, *others]}) == 5


def test_the_numbers_of_numpy_are_numbers():
    assert canonical([np.float32(0.5), np.int64(3)]) == "[0.5,3]"


def test_what_json_cannot_hold_is_refused_by_name():
    with pytest.raises(BadInput, match="a set has no JSON form"):
        digest(Problem("x", data={"seen": {1}}))
