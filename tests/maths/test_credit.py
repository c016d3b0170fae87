from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.maths import credit
from prmkit.types import Group, Scores

chances = st.lists(st.floats(0, 1), min_size=1, max_size=8)
rewards = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


def test_the_returns_worked_by_hand():
    assert credit.returns_to_go([1.0, 0.0, 2.0]) == [3.0, 2.0, 2.0]
    assert credit.returns_to_go([1.0, 0.0, 2.0], 0.5) == [1.5, 1.0, 2.0]
    assert credit.progress([0.6, 0.9, 0.1], 0.5) == pytest.approx([0.1, 0.3, -0.8])
    assert credit.to_tokens([1.0, -1.0], [2, 1]) == [1.0, 1.0, -1.0]
    assert credit.signed([0.25, 1.0]) == [-0.5, 1.0]


def test_no_steps_have_no_returns():
    assert credit.returns_to_go([]) == credit.min_form_returns([]) == credit.soft_min_returns([], 0.1) == []


@given(chances, st.floats(0, 1))
def test_progress_telescopes(values, start):
    assert sum(credit.progress(values, start)) == pytest.approx(values[-1] - start, abs=1e-9)


@given(rewards, st.floats(0.01, 10))
def test_soft_min_weights_sum_to_one_and_the_worst_step_has_the_most(values, temperature):
    weights = credit.soft_min_weights(values, temperature)
    assert sum(weights) == pytest.approx(1)
    assert weights[values.index(min(values))] == max(weights)


def test_soft_min_needs_a_temperature_above_zero():
    with pytest.raises(ValueError, match="above 0"):
        credit.soft_min_weights([0.1], 0.0)


def test_strict_min_form_pays_nothing_after_the_worst_step():
    assert credit.min_form_returns([0.9, -0.5, 0.4, 0.8]) == [-0.5, -0.5, 0.0, 0.0]


def test_strict_min_form_takes_the_first_of_two_worst_steps():
    assert credit.min_form_returns([0.2, 0.5, 0.2]) == [0.2, 0.0, 0.0]


@given(st.lists(st.integers(-20, 20), min_size=1, max_size=8, unique=True))
def test_the_soft_form_goes_to_the_strict_form_as_it_cools(tenths):
    values = [x / 20 for x in tenths]
    assert credit.soft_min_returns(values, 1e-3) == pytest.approx(credit.min_form_returns(values), abs=1e-9)


def test_soft_min_returns_worked_by_hand():
    # equal rewards weigh ½ each: ½·0.4 + ½·0.4, then ½·0.4
    assert credit.soft_min_returns([0.4, 0.4], 0.1) == pytest.approx([0.4, 0.2])


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=8))
def test_leave_one_out_sums_to_zero(numbers):
    assert sum(credit.leave_one_out(numbers)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("numbers", [[], [1.0]])
def test_one_alone_has_no_others_to_leave(numbers):
    with pytest.raises(ValueError, match="at least two"):
        credit.leave_one_out(numbers)


def test_group_normalised_has_mean_zero_and_unit_spread():
    assert credit.group_normalised([3.0, 1.0, 1.0, 3.0]) == [1.0, -1.0, -1.0, 1.0]


def test_a_group_all_alike_normalises_to_zero_despite_rounding():
    assert credit.group_normalised([0.1, 0.1, 0.1]) == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="empty group"):
        credit.group_normalised([])


def test_outcome_credit_is_the_same_for_every_step(group):
    g = group([1, 0, 0], [0.5], [0.5, 0.5], [0.5])
    assert credit.outcome(g) == [[1.0], [-0.5, -0.5], [-0.5]]
    assert credit.from_outcomes(credit.group_normalised)(group([1, 0], [0.5], [0.5])) == [[1.0], [-1.0]]


def test_outcome_credit_needs_no_scores(group):
    bare = replace(group([1, 0], [0.5], [0.5]), scores=())
    assert credit.outcome(bare) == [[1.0], [-1.0]]


def test_progress_credit_is_centred_over_the_steps_of_the_group(group):
    # progress: +0.25 and +0.25, then -0.5; their mean is 0
    rows = credit.by_progress(0.5)(group([1, 0], [0.75, 1.0], [0.0]))
    assert rows == [[0.25, 0.25], [-0.5]]


def test_sum_form_pays_for_filler_and_min_form_does_not(group):
    short, padded = [0.9, 0.9], [0.9, 0.6, 0.6, 0.6, 0.9]  # correctness; 0.6 is a mild +0.2
    g = group([1, 1], short, padded, kind="correctness")
    by_sum, by_min = credit.sum_form(g), credit.min_form(0.0)(g)
    assert by_sum[1][0] > by_sum[0][0]
    assert by_min[1][0] < by_min[0][0]


def test_sum_form_worked_by_hand(group):
    # returns 3 and 1, then 2; their mean is 2
    assert credit.sum_form(group([1, 0], [2.0, 1.0], [2.0], kind="reward")) == [[1.0, -1.0], [0.0]]


def test_strict_min_form_worked_by_hand(group):
    # 2p-1: (0.5, -0.5, 0.5) gives -0.5 -0.5 0; (1.0) gives 1.0; the mean is 0
    rows = credit.min_form(0.0)(group([1, 0], [0.75, 0.25, 0.75], [1.0], kind="correctness"))
    assert rows == [[-0.5, -0.5, 0.0], [1.0]]


def test_values_are_never_summed_and_only_values_make_progress(group):
    with pytest.raises(ValueError, match="pays for length"):
        credit.sum_form(group([1], [0.5]))
    with pytest.raises(ValueError, match="makes progress"):
        credit.by_progress()(group([1], [0.5], kind="correctness"))


@pytest.mark.parametrize("name", ["progress", "sum", "min"])
def test_a_rule_that_needs_scores_says_so(group, name):
    bare = replace(group([1, 0], [0.5], [0.5]), scores=())
    with pytest.raises(ValueError, match="needs step scores"):
        credit.CREDITS[name](bare)


def test_a_missing_score_is_an_error_and_never_a_zero(group):
    g = group([1], [0.5, 0.5])
    with pytest.raises(ValueError, match="1 scores for 2 policy steps"):
        credit.CREDITS["min"](replace(g, scores=(Scores((0.5,)),)))


def test_a_group_without_any_step_has_no_credit_to_give(group):
    assert credit.CREDITS["min"](group([1, 0], [], [])) == [[], []]


@given(st.lists(chances, min_size=2, max_size=5), st.sampled_from(["progress", "min"]))
def test_process_credit_is_zero_on_average(group, rows, name):
    given_credit = credit.CREDITS[name](group([0.0] * len(rows), *rows))
    assert [len(row) for row in given_credit] == [len(row) for row in rows]
    assert sum(x for row in given_credit for x in row) == pytest.approx(0, abs=1e-9)


def test_rules_add_up_step_by_step(group):
    g = group([1, 0], [0.75, 1.0], [0.0])
    both = credit.add(credit.by_progress(0.5), credit.outcome)
    assert both(g) == [[1.25, 1.25], [-1.5]]


def test_every_named_rule_is_ready_to_use(group):
    g = group([1, 0], [0.9], [0.2])
    assert set(credit.CREDITS) == {"outcome", "progress", "sum", "min"}
    for name, rule in credit.CREDITS.items():
        kind = "correctness" if name == "sum" else "value"
        (good,), (bad,) = rule(
            Group(g.trajectories, g.outcomes, tuple(replace(s, kind=kind) for s in g.scores))
        )
        assert good > 0 > bad, name
