import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.testing import check_scorer
from prmkit.text.answers import exact_answer
from prmkit.types import Problem, Step, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil, Slips


def made(start, *operations):
    """A problem by its numbers, as the generator would write it down."""
    sentences = [arith.STORY[sign][0].format(who="She", n=operand) for sign, operand in operations]
    data = {"start": start, "operations": list(operations), "sentences": sentences}
    answer = start
    for sign, operand in operations:
        answer = arith.apply(answer, sign, operand)
    return Problem(" ".join(sentences), str(answer), "made", data)


PROBLEM = made(12, ("+", 7), ("-", 4), ("*", 2))  # 12 + 7 = 19, 19 - 4 = 15, 15 * 2 = 30
RIGHT = ["12+7=19\n", "19-4=15\n", "15*2=30\n", "The answer is 30."]


def solution(*steps, problem=PROBLEM):
    return Trajectory(problem, tuple(map(Step, steps)), "done")


def errors(*steps, problem=PROBLEM):
    return [verdict.error for verdict in arith.judge(solution(*steps, problem=problem))]


def track(*steps, problem=PROBLEM):
    return [verdict.on_track for verdict in arith.judge(solution(*steps, problem=problem))]


# --- verdicts -----------------------------------------------------------------------------------------


def test_every_step_of_a_right_solution_is_right():
    verdicts = arith.judge(solution(*RIGHT))
    assert verdicts == [arith.Verdict(follows=True, faithful=True, error=None, on_track=True)] * 4
    assert arith.first_error(solution(*RIGHT)) is None


@pytest.mark.parametrize(
    ("wrong", "error", "follows", "faithful", "on_track"),
    [
        ("19-4=14\n", "calculation", False, True, False),
        ("19-5=14\n", "wrong operand", True, False, False),
        ("18-4=14\n", "wrong operand", False, True, False),
        ("19+4=23\n", "wrong operand", True, False, False),
        ("19*2=38\n", "skipped operation", True, False, False),
        ("19+0=19\n", "redundant", True, False, True),
        ("12+7=19\n", "redundant", True, False, True),
        ("Let me think.\n", "filler", True, False, True),
        ("The answer is 19.", "skipped operation", True, False, False),
        ("The answer is 20.", "wrong operand", False, False, False),
    ],
)
def test_each_type_of_error_is_told_from_the_others(wrong, error, follows, faithful, on_track):
    first, second = arith.judge(solution("12+7=19\n", wrong))
    assert first.right
    assert (second.error, second.follows, second.faithful, second.on_track) == (
        error,
        follows,
        faithful,
        on_track,
    )
    assert arith.first_error(solution("12+7=19\n", wrong)) == 1


def test_the_errors_that_cost_nothing_are_the_ones_that_leave_the_solution_on_track():
    for wrong in ("19-4=14\n", "19-5=14\n", "19*2=38\n", "19+0=19\n", "Hm.\n"):
        verdict = arith.judge(solution("12+7=19\n", wrong))[1]
        assert verdict.on_track == (verdict.error in arith.HARMLESS)


def test_what_follows_from_an_error_is_no_new_error():
    assert errors("12+7=18\n", "18-4=14\n", "14*2=28\n", "The answer is 28.") == [
        "calculation",
        None,
        None,
        None,
    ]
    assert track("12+7=18\n", "18-4=14\n", "14*2=28\n", "The answer is 28.") == [False] * 4


def test_an_error_may_take_the_value_below_zero_and_the_rest_still_follows():
    steps = ["12+7=2\n", "2-4=-2\n", "-2*2=-4\n", "The answer is -4."]
    assert errors(*steps) == ["calculation", None, None, None]


def test_after_a_skipped_operation_the_next_one_is_expected():
    assert errors("12-4=8\n", "8*2=16\n", "The answer is 16.") == ["skipped operation", None, None]


def test_an_operation_that_comes_twice_in_the_story_is_not_redundant_the_second_time():
    problem = made(12, ("+", 7), ("-", 7), ("+", 7))
    steps = ["12+7=19\n", "19-7=12\n", "12+7=19\n", "The answer is 19."]
    assert errors(*steps, problem=problem) == [None] * 4
    assert track(*steps, problem=problem) == [True] * 4


# --- mends ---------------------------------------------------------------------------------------------


def test_taking_up_the_wrong_step_again_brings_the_solution_back():
    steps = ["12+7=19\n", "19-4=14\n", "14*2=28\n", "19-4=15\n", "15*2=30\n", "The answer is 30."]
    assert errors(*steps) == [None, "calculation", None, None, None, None]
    assert track(*steps) == [True, False, False, True, True, True]


def test_a_mend_that_is_itself_miscalculated_mends_nothing():
    again = ["12+7=18\n", "12+7=17\n", "17-4=13\n", "12+7=19\n"]
    assert errors(*again) == ["calculation", "calculation", None, None]
    assert track(*again) == [False, False, False, True]


def test_the_same_wrong_line_again_is_no_new_error():
    assert errors("12+7=18\n", "12+7=18\n", "18-4=14\n") == ["calculation", "redundant", None]


def test_a_skipped_operation_is_mended_by_going_back_to_it():
    assert track("12+7=19\n", "19*2=38\n", "19-4=15\n", "15*2=30\n") == [True, False, True, True]


def test_an_answer_given_too_early_is_mended_by_going_on():
    assert track("12+7=19\n", "The answer is 19.\n", "19-4=15\n", "15*2=30\n", "The answer is 30.") == [
        True,
        False,
        True,
        True,
        True,
    ]


def test_the_state_remembers_where_a_solution_broke_until_it_is_mended():
    assert arith.state_of(solution(*RIGHT[:2])).broke_at is None
    assert arith.state_of(solution("12+7=19\n", "19-4=14\n", "14*2=28\n")).broke_at == 1
    assert arith.state_of(solution("12+7=19\n", "19-4=14\n", "19-4=15\n")).broke_at is None
    assert arith.state_of(solution()) == arith.State(12, 0)


# --- any text, any policy -------------------------------------------------------------------------------


PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from([*RIGHT, "The answer is 19.", "19-4=14\n", "19*2=38", " 12 + 7 = 19 . ", "-3*2=-6"]),
    st.from_regex(arith.EQUATION, fullmatch=True),
    st.from_regex(arith.ANSWER, fullmatch=True),
)


@given(st.lists(PIECES, max_size=8))
def test_any_text_is_judged(steps):
    verdicts = arith.judge(solution(*steps))
    assert len(verdicts) == len(steps)
    assert all(v.error is None or v.error in arith.ERROR_TYPES for v in verdicts)


@given(st.lists(PIECES, max_size=6), st.lists(PIECES, max_size=3))
def test_a_verdict_does_not_depend_on_what_comes_after(steps, more):
    assert arith.judge(solution(*steps, *more))[: len(steps)] == arith.judge(solution(*steps))


@given(st.lists(PIECES, max_size=8))
def test_as_long_as_nothing_harmful_happens_the_solution_is_on_track(steps):
    verdicts = arith.judge(solution(*steps))
    for at, verdict in enumerate(verdicts):
        if all(v.error is None or v.error in arith.HARMLESS for v in verdicts[: at + 1]):
            assert verdict.on_track


def test_a_policy_run_wild_has_written_no_number():
    digits = "1" * 5000  # more than Python turns into an integer
    assert errors(f"{digits}+7=19\n", f"12+7={digits}\n", f"The answer is {digits}.") == ["filler"] * 3


def test_tool_output_is_not_judged():
    t = Trajectory(PROBLEM, (Step(RIGHT[0]), Step("nonsense", by="world"), Step(RIGHT[1])))
    assert [v.error for v in arith.judge(t)] == [None, None]


def pupils_work(run, *, mend, seed=0, count=400):
    pupil = Pupil(Slips(), mend=mend, seed=seed)
    return [row[0] for row in run(pupil([Trajectory(p) for p in arith.problems(count, seed=8)], until="end"))]


@pytest.mark.parametrize("mend", [0.0, 0.3])
def test_the_oracles_last_word_is_whether_the_answer_is_right(run, mend):
    done = [t for t in pupils_work(run, mend=mend) if t.stop == "done"]
    assert len(done) > 300
    assert [s.values[-1] for s in run(arith.oracle(done))] == run(exact_answer(done))


def test_errors_that_cancel_out_give_a_right_answer(run):
    lucky = solution("12+7=19\n", "19-5=14\n", "14*2=30\n", "The answer is 30.")
    assert run(arith.oracle([lucky]))[0].values == (1.0, 0.0, 1.0, 1.0)
    assert errors(*(s.text for s in lucky.steps)) == [None, "wrong operand", "calculation", None]


def test_the_oracle_keeps_the_contract(run):
    odd = [Trajectory(PROBLEM), solution("", "\n"), solution(*RIGHT[:1])]
    run(check_scorer(arith.oracle, [*pupils_work(run, mend=0.3, count=5), *odd], repeatable=True))


# --- problems -------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_problems_for_ever():
    assert arith.problems(5, seed=4) == arith.problems(5, seed=4)
    assert arith.problems(9, seed=4)[:5] == arith.problems(5, seed=4)
    assert not {p.prompt for p in arith.problems(50, seed=4)} & {p.prompt for p in arith.problems(50, seed=5)}
    assert arith.problems(1, seed=4)[0].prompt == (
        "Mia has 78 stones. She finds 15 more. She loses 64. Now the number grows 5 times. She loses 49. "
        "She buys 14 more. How many stones does Mia have now?"
    )


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(2, 99))
def test_problems_stay_small_and_their_answer_is_what_the_story_comes_to(seed, length, largest):
    (problem,) = arith.problems(1, seed=seed, operations=(length, length), largest=largest)
    story = arith.story(problem)
    assert len(story.operations) == length
    assert all(1 <= value <= 999 for value in story.running)
    assert problem.answer == str(story.running[-1])


def test_the_english_shows_every_number_in_order_and_nothing_else():
    for problem in arith.problems(100, seed=1):
        story = arith.story(problem)
        shown = [int(n) for n in re.findall(r"\d+", problem.prompt)]
        assert shown == [story.start, *(operand for _, operand in story.operations)]
        assert problem.prompt.endswith("?")


def test_each_operation_has_words_of_its_own():
    words = {sign: {s.format(who="She", n=3) for s in sentences} for sign, sentences in arith.STORY.items()}
    for problem in arith.problems(50, seed=2):
        sentences = problem.prompt.replace(" He ", " She ").split(". ")[1:-1]
        for sentence, (sign, operand) in zip(sentences, arith.story(problem).operations, strict=True):
            assert re.sub(rf"\b{operand}\b", "3", sentence) + "." in words[sign]


def test_a_solution_written_from_the_story_is_right():
    for problem in arith.problems(20, seed=6):
        story = arith.story(problem)
        steps = [story.equation(at) for at in range(len(story.operations))]
        whole = solution(*steps, arith.answer_line(int(problem.answer)), problem=problem)
        assert arith.first_error(whole) is None
