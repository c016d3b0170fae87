import io

import pytest
from rich.console import Console

from prmkit.app.report import Table, Verdict, Verdicts
from prmkit.app.show import steps_view, table_view, verdicts_view
from prmkit.errors import BadInput
from prmkit.types import Problem, Scores, Step, Trajectory

SOLUTION = Trajectory(
    Problem("p"),
    (Step("2 * 3 = 6\n"), Step("tool: 6\n", by="world"), Step("6 + [b]1 = 8\n"), Step("Answer: 8\n")),
    "done",
)


def printed(view, *, width=80, colour=False):
    out = io.StringIO()
    Console(file=out, width=width, force_terminal=colour, color_system="256" if colour else None).print(view)
    return out.getvalue()


def rows(view, **options):
    return [line.rstrip() for line in printed(view, **options).splitlines()]


def test_without_colour_a_step_still_shows_its_number_its_score_and_its_bar():
    assert rows(steps_view(SOLUTION, Scores((0.96, 0.2, 0.5)))) == [
        "1 0.96 ━━━━━━━━━━   2 * 3 = 6",
        "       not scored   tool: 6",
        "2 0.20 ━━╌╌╌╌╌╌╌╌ ◂ 6 + [b]1 = 8",
        "3 0.50 ━━━━━╌╌╌╌╌   Answer: 8",
    ]


def test_with_colour_a_good_and_a_bad_step_differ():
    good, _, bad, _ = printed(steps_view(SOLUTION, Scores((0.96, 0.05, 0.5))), colour=True).splitlines()
    assert "38;5;33m" in good
    assert "38;5;166m" in bad


def test_a_reward_has_a_sign_and_no_bar():
    assert rows(steps_view(SOLUTION, Scores((1.5, -0.2, 0.0), "reward")))[0].startswith("1 +1.50  ")


def test_no_step_is_the_lowest_where_all_are_the_same():
    assert "◂" not in printed(steps_view(SOLUTION, Scores((0.5, 0.5, 0.5))))


def test_the_critique_of_a_step_stands_below_it():
    lines = rows(steps_view(SOLUTION, Scores((0.9, 0.1, 0.5), notes=("", "6 + 1 = 7", ""))))
    assert lines[3].strip() == "6 + 1 = 7"


def test_a_long_step_is_wrapped_and_loses_nothing():
    words = [f"word{i}" for i in range(40)]
    long = Trajectory(Problem("p"), (Step(" ".join(words)),))
    lines = rows(steps_view(long, Scores((0.5,))))
    assert all(len(line) <= 80 for line in lines)
    assert all(word in " ".join(lines).split() for word in words)


def test_scores_that_do_not_match_the_steps_are_refused():
    with pytest.raises(BadInput, match="3 steps, but 2 scores"):
        steps_view(SOLUTION, Scores((0.5, 0.5)))


def test_a_table_sets_numbers_to_the_right():
    table = Table(("method", "n"), (("vote", "5"), ("beam", "300")), "Solved")
    assert rows(table_view(table)) == ["Solved", "method    n", "vote      5", "beam    300"]


def test_verdicts_begin_with_a_word():
    view = verdicts_view(Verdicts((Verdict("A beats B.", "win"), Verdict("C beats A.", "loss"))))
    assert rows(view) == ["won  A beats B.", "lost C beats A."]
