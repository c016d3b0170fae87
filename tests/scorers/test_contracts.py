import pytest

from prmkit.maths import labels
from prmkit.scorers.combine import by_prefix, ensemble, through
from prmkit.scorers.judge import judge
from prmkit.scorers.monte_carlo import bisect, monte_carlo
from prmkit.testing import check_scorer
from prmkit.types import Trajectory
from prmkit.worlds.exact import PROBLEM, Exact

SCORERS = {  # name -> (how to make it of a world and a clerk, does it say the same twice)
    "oracle": (lambda w, _: w.oracle, True),
    "monte carlo": (lambda w, _: monte_carlo(w.policy, w.verify, rollouts=4), False),
    "monte carlo until success": (
        lambda w, _: monte_carlo(w.policy, w.verify, estimate=labels.hard, stop_at_success=True),
        False,
    ),
    "bisect": (lambda w, _: bisect(w.policy, w.verify, rollouts=4), False),
    "bisect until success": (lambda w, _: bisect(w.policy, w.verify, stop_at_success=True), False),
    "by prefix": (lambda w, _: by_prefix(w.verify), True),
    "ensemble": (lambda w, _: ensemble(w.oracle, w.oracle, by=min), True),
    "through": (lambda w, _: through(lambda t: t, w.oracle), True),
    "judge": (
        lambda _, clerk: judge(
            clerk, lambda t, i: f"is it {t.actions[i].text}", lambda s: float(s == "right")
        ),
        True,
    ),
}


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_keeps_the_contract(name, run, clerk, solution, solutions):
    make, repeatable = SCORERS[name]
    odd = [Trajectory(PROBLEM), solution("", "error"), solution("rw", "open"), solution("r", "length")]
    run(check_scorer(make(Exact(), clerk), [*solutions, *odd], repeatable=repeatable))


@pytest.mark.parametrize("name", [name for name in SCORERS if "until" not in name and "bisect" not in name])
def test_scoring_together_is_scoring_one_by_one(name, run, clerk, solutions):
    make, _ = SCORERS[name]
    together, alone = make(Exact(seed=2), clerk), make(Exact(seed=2), clerk)
    assert run(together(solutions)) == [run(alone([t]))[0] for t in solutions]
