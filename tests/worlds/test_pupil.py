import random
from collections import Counter
from dataclasses import fields, replace

import pytest

from prmkit.testing import check_policy
from prmkit.text.answers import exact_answer
from prmkit.types import Problem, Step, Trajectory
from prmkit.worlds import arith
from prmkit.worlds.pupil import Pupil, Slips

NEVER = Slips(**{field.name: 0.0 for field in fields(Slips)})
FINDS, LOSES, GIVEN, GROWS = "She finds {}.", "She loses {}.", "She is given {} more.", "It grows {} times."
SIGNS = {FINDS: "+", LOSES: "-", GIVEN: "+", GROWS: "*"}
STARTS = [Trajectory(p) for p in arith.problems(300, seed=21)]


def made(start, *told):
    """A problem by its sentences and their numbers."""
    operations = [(SIGNS[words], n) for words, n in told]
    sentences = [words.format(n) for words, n in told]
    return Problem("", None, "made", {"start": start, "operations": operations, "sentences": sentences})


def work(run, pupil, starts=STARTS, until="end"):
    return [row[0] for row in run(pupil(starts, until=until))]


def solved(run, trajectories):
    return sum(run(exact_answer(trajectories))) / len(trajectories)


@pytest.mark.parametrize("pupil", [Pupil(), Pupil(mend=0.5, seed=3), Pupil(NEVER), Pupil(longest=2)], ids=str)
def test_a_pupil_keeps_the_contract_of_policies(run, pupil):
    run(check_policy(pupil, arith.problems(3, seed=1)))


def test_a_pupil_who_never_slips_solves_everything(run):
    done = work(run, Pupil(NEVER))
    assert all(arith.first_error(t) is None and t.stop == "done" for t in done)
    assert solved(run, done) == 1.0


def test_the_same_seed_writes_the_same_and_another_seed_something_else(run):
    first, again, other = (work(run, Pupil(mend=0.2, seed=seed)) for seed in (5, 5, 6))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("slip", "error"),
    [
        ("calculation", "calculation"),
        ("operand", "wrong operand"),
        ("redundant", "redundant"),
        ("filler", "filler"),
        ("skip", "skipped operation"),
    ],
)
def test_a_slip_comes_as_often_as_its_chance_says(run, slip, error):
    firsts = work(run, Pupil(replace(NEVER, **{slip: 0.3}), seed=2), STARTS * 4, until="step")
    found = Counter(arith.judge(t)[0].error for t in firsts)
    assert found[None] / 1200 == pytest.approx(0.7, abs=0.045)  # 3.4 standard errors
    # A wrong operand may be one of a later operation, or make a step of no effect: 7*1=7.
    assert found[error] / 1200 == pytest.approx(0.3, abs=0.06)


def test_slips_are_drawn_by_their_chances_and_the_habit_only_where_it_is_invited():
    rng, slips = random.Random(0), Slips(0.1, 0.2, 0.0, 0.0, 0.1, confusion=0.3)
    drawn = Counter(slips.draw(rng, confusing=True) for _ in range(4000))
    assert drawn.keys() == {"", "calculation", "operand", "filler", "confusion"}
    assert drawn["confusion"] / 4000 == pytest.approx(0.3, abs=0.03)
    assert drawn[""] / 4000 == pytest.approx(0.3, abs=0.03)
    assert "confusion" not in {slips.draw(rng, confusing=False) for _ in range(500)}


def story_of(sentence):
    return Problem("", "102", "c", {"start": 57, "operations": [("+", 45)], "sentences": [sentence]})


def test_a_habit_is_the_same_mistake_at_every_try(run):
    pupil = Pupil(replace(NEVER, confusion=1.0))
    (tries,) = run(pupil([Trajectory(story_of("She is given 45 more."))], 8, until="end"))
    assert {t.text for t in tries} == {"57-45=12\nThe answer is 12."}


def test_a_sentence_that_cannot_be_confused_is_not(run):
    pupil = Pupil(replace(NEVER, confusion=1.0))
    ((t,),) = run(pupil([Trajectory(story_of("She finds 45 more."))], until="end"))
    assert t.text == "57+45=102\nThe answer is 102."


def test_a_pupil_who_never_mends_goes_on_from_what_was_written(run):
    spoilt = [t for t in work(run, Pupil(seed=4)) if 0.0 in run(arith.oracle([t]))[0].values]
    assert len(spoilt) > 100
    for t in spoilt:
        written = arith.story(t.problem).start
        for equation in filter(None, (arith.EQUATION.fullmatch(s.text) for s in t.actions)):
            assert int(equation[1]) == written
            written = int(equation[4])


def test_without_mending_only_errors_that_cancel_out_lead_back(run):
    values = [s.values for s in run(arith.oracle(work(run, Pupil(replace(NEVER, skip=0.2), seed=4))))]
    spoilt = [row for row in values if 0.0 in row]
    assert len(spoilt) > 100
    back = [row for row in spoilt if list(row) != sorted(row, reverse=True)]
    assert len(back) <= 0.02 * len(spoilt)


def test_the_more_a_pupil_mends_the_more_is_solved(run):
    shares = [solved(run, work(run, Pupil(mend=mend, seed=4))) for mend in (0.0, 0.3, 1.0)]
    assert shares[0] + 0.1 < shares[1] < shares[2] - 0.1


def test_a_mend_takes_up_the_step_that_went_wrong(run):
    problem = made(12, (FINDS, 7), (LOSES, 4), (GROWS, 2))
    broken = Trajectory(problem, (Step("12+7=18\n"), Step("18-4=14\n")))
    ((mended,),) = run(Pupil(NEVER, mend=1.0)([broken], until="end"))
    assert [s.text for s in mended.steps[2:]] == ["12+7=19\n", "19-4=15\n", "15*2=30\n", "The answer is 30."]


def test_a_wrong_answer_is_left_open_only_by_a_pupil_who_then_mends_it(run):
    done = work(run, Pupil(mend=0.5, seed=7), STARTS)
    second_thoughts = [t for t in done if sum(arith.is_answer(s.text) for s in t.actions) > 1]
    assert second_thoughts
    for t in second_thoughts:
        early = next(i for i, s in enumerate(t.actions) if arith.is_answer(s.text))
        assert not arith.judge(t)[early].on_track
        assert arith.judge(t)[early + 1].on_track


def test_a_pupil_below_zero_still_finishes(run):
    """An error can take the value below zero; that is a wrong solution, not an endless one."""
    problem = made(9, (FINDS, 2), (LOSES, 4))
    below = Trajectory(problem, (Step("9+2=1\n"),))
    ((t,),) = run(Pupil(NEVER)([below], until="end"))
    assert t.text == "9+2=1\n1-4=-3\nThe answer is -3."
    assert t.stop == "done"


def test_a_pupil_gives_up_after_the_longest(run):
    fillers = Pupil(replace(NEVER, filler=1.0), longest=6)
    ended = work(run, fillers, STARTS[:3])
    assert [(len(t.actions), t.stop) for t in ended] == [(6, "length")] * 3
