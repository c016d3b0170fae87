import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.text.answers import exact_answer, final_answer, same_answer
from prmkit.types import Problem, Step, Trajectory


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"first \boxed{1}, then \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
        (r"the set \boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\boxed{7} and then \boxed{8", "7"),
        (r"put it in \boxed{}. The answer is 7", "7"),
        (r"} a stray brace \boxed{7}", "7"),
        ("#### 1\nno, wait\n#### -2.50", "-2.50"),
        ("She has 48/2 = <<48/2=24>>24.\n#### 72", "72"),
        ("#### <<9*2=18>>18", "18"),
        ("The answer is 42.", "42"),
        ("The answer is: 3.5. I hope this helps.", "3.5"),
        ("the answer is 5. No, the answer is 6.", "6"),
        ("**Final Answer:** $1,234,567.", "1234567"),
        ("Answer:\n\n  -$12", "-12"),
        (r"The ANSWER is \(x + 1\).", "x + 1"),
        ("Answer: 5\nSo the answer is", "5"),
        ("the answer is (1,234)", "(1,234)"),
        (r"the answer is $\$5$", "5"),
    ],
)
def test_the_final_answer_is_found(text, answer):
    assert final_answer(text) == answer


def test_a_box_is_surer_than_hashes_and_hashes_than_a_phrase():
    assert final_answer("\\boxed{1}\n#### 2\nThe answer is 3.") == "1"
    assert final_answer("#### 2\nThe answer is 3.") == "2"


@pytest.mark.parametrize("text", ["", "no numbers here", "so we have 17", r"\boxed{", "#### ", r"\boxed{}"])
def test_no_answer_is_none(text):
    assert final_answer(text) is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("from 5-3 we get 2, so 1,250 dollars.", "1250"),
        ("x2 = <<1+1=2>> then -3/4", "-3/4"),
        ("it takes 5-3", "3"),
        ("costs $.50", ".50"),
        ("about 12%", "12%"),
        ("none", None),
        ("The answer is x, not 5", "x, not 5"),
    ],
)
def test_the_last_number_counts_only_when_asked(text, answer):
    assert final_answer(text, loose=True) == answer


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1,000", "1000"),
        ("$5", "5.00"),
        ("1/2", "0.5"),
        (r"\dfrac{3}{6}", "1/2"),
        (r"-\frac{1}{2}", "-.5"),
        ("50%", "0.5"),
        (r"50\%", "1/2"),
        (r"10{,}000", r"10,\!000"),
        (r"\left( 1, 2 \right)", "(1,2)"),
        (r"\text{Monday}", "monday"),
        ("−3", "-3"),
        ("x + 1", "x+1"),
    ],
)
def test_the_same_answer_in_two_dresses(a, b):
    assert same_answer(a, b)
    assert same_answer(b, a)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("50%", "50"),
        ("1/3", "0.333"),
        ("x", "X"),
        ("1/0", "2/0"),
        ("12", "1,2"),
        ("18 dollars", "18"),
        ("", "0"),
    ],
)
def test_other_answers_are_other(a, b):
    assert not same_answer(a, b)
    assert not same_answer(b, a)


@given(st.integers(-(10**9), 10**9), st.integers(1, 1000))
def test_a_fraction_is_the_same_however_it_is_scaled(above, below):
    assert same_answer(f"{above}/{below}", rf"\frac{{{3 * above}}}{{{3 * below}}}")
    assert same_answer(f"{above:,}", str(above))
    assert not same_answer(f"{above}/{below}", f"{above + 1}/{below}")


@given(st.text(alphabet="12.,/%$\\{}boxed#answer: \n<>=-"))
def test_any_text_has_an_answer_or_none_and_an_answer_is_itself(text):
    found = final_answer(text, loose=True)
    assert found is None or (found and same_answer(found, found))


def test_a_digit_repeated_for_ever_is_no_number():
    assert not same_answer("9" * 10_000, "9" * 9_999)
    assert same_answer("9" * 10_000, "9" * 10_000)


def solution(text, answer="18", stop="done"):
    return Trajectory(Problem("how many?", answer, id="p7"), (Step("think\n"), Step(text)), stop)


def test_an_exact_check_rates_one_or_zero(run):
    rated = run(
        exact_answer([solution("#### 18.0"), solution("#### 17"), solution("I give up"), solution("18")])
    )
    assert rated == [1.0, 0.0, 0.0, 0.0]


def test_an_open_solution_is_rated_by_what_it_says(run):
    assert run(exact_answer([solution(r"\boxed{18}", stop="open")])) == [1.0]


def test_a_reference_may_be_a_whole_solution(run):
    assert run(exact_answer([solution("#### 18", answer="9 * 2 = <<9*2=18>>18\n#### 18")])) == [1.0]


def test_a_problem_without_an_answer_cannot_be_checked(run):
    with pytest.raises(ValueError, match="p7"):
        run(exact_answer([solution("#### 18", answer=None)]))
