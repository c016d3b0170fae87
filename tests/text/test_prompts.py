import pytest

from prmkit.text.prompts import plain
from prmkit.types import Problem


def test_the_plain_prompt_is_the_problem():
    assert plain()(Problem("1 + {x}?")) == "1 + {x}?"


def test_a_template_may_hold_other_braces():
    render = plain("Answer in \\boxed{}.\n{prompt}\n")
    assert render(Problem("f{0}")) == "Answer in \\boxed{}.\nf{0}\n"


def test_a_template_without_a_place_for_the_problem_is_refused():
    with pytest.raises(ValueError, match="no place"):
        plain("Solve it.")
