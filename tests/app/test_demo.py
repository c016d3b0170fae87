from prmkit.app.demo import demo
from prmkit.app.demo.compare import Pool, Spent, over_budgets
from prmkit.app.demo.settings import Settings
from prmkit.maths import aggregate as agg
from prmkit.types import Problem, Scores, Step, Trajectory

SMALL = Settings(
    train_problems=8,
    rollouts=1,
    test_problems=6,
    searched=2,
    samples=4,
    beam_width=2,
    branch=2,
    rl_problems=4,
    updates=1,
    watched=4,
)


def pool(answers, scores):
    samples = tuple(
        Trajectory(Problem("?", "1"), (Step(f"The answer is {a}.", tokens=(1, 2)),), "done") for a in answers
    )
    return Pool(samples[0].problem, samples, (), {"prm": tuple(Scores((s,)) for s in scores)})


def test_a_choice_out_of_fewer_samples_is_the_mean_over_the_disjoint_groups():
    four = pool([1, 2, 2, 1], [0.1, 0.9, 0.2, 0.8])
    best = over_budgets([four], lambda p: p.best("prm", agg.last), (1, 2, 4))
    assert [best[n].solved for n in (1, 2, 4)] == [(0.5,), (0.5,), (0.0,)]
    assert [best[n].tokens for n in (1, 2, 4)] == [3.0, 6.0, 12.0]  # two tokens and the end


def test_votes_count_heads_or_weights():
    three = pool([2, 2, 1], [0.1, 0.2, 0.9])
    assert three.solved(three.vote(), 3) == 0.0
    assert three.solved(three.vote(three.weights("prm", agg.last)), 3) == 1.0


def test_methods_are_compared_on_the_problems_that_both_were_given():
    difference = Spent((1.0, 1.0), 0.0).beyond(Spent((0.0, 1.0, 0.0), 0.0))
    assert (difference.mean, difference.n) == (0.5, 2)


def test_the_whole_loop_runs_and_a_second_start_takes_up_what_is_there(tmp_path):
    report = demo(tmp_path / "demo", settings=SMALL)
    page = report.read_text("utf-8")
    for heading in (
        "What won and what did not",
        "Accuracy against budget",
        "Step by step",
        "A better policy",
    ):
        assert heading in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is fetched
    made = {p: p.stat().st_mtime_ns for p in (tmp_path / "demo").rglob("*.jsonl")}
    demo(tmp_path / "demo", settings=SMALL)
    assert {p: p.stat().st_mtime_ns for p in (tmp_path / "demo").rglob("*.jsonl")} == made
