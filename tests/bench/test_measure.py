import gzip
import json

import pytest

from prmkit.bench.measure import Scored, figures, measure, measure_scores
from prmkit.bench.suites import SUITES, judged
from prmkit.errors import BadInput, UnknownName
from prmkit.types import Problem, Scores, Step, Trajectory
from prmkit.worlds import arith


@pytest.fixture
def processbench(tmp_path):
    """A folder with the released form of two subsets: a JSON array each."""

    def row(id, label, steps=3):
        texts = [f"step {i}" for i in range(steps)]
        return {"id": id, "problem": "?", "steps": texts, "final_answer_correct": label < 0, "label": label}

    (tmp_path / "gsm8k.json").write_text(json.dumps([row("gsm8k-0", 1), row("gsm8k-1", -1)]))
    (tmp_path / "math.json").write_text(json.dumps([row("math-0", 0), row("math-1", -1), row("math-2", 9)]))
    return tmp_path


def flag(at):
    """A scorer that finds every step right but the one at `at`."""

    async def score(trajectories, /):
        return [Scores(tuple(float(i != at) for i, _ in enumerate(t.actions))) for t in trajectories]

    return score


def values(report):
    return {(r.subset, r.metric): None if r.interval is None else r.interval.mean for r in report.rows}


def test_f1_is_the_harmonic_mean_of_both_accuracies_and_the_average_that_of_the_subsets(run, processbench):
    found = values(run(measure(flag(1), "processbench", data=processbench)))
    assert found["gsm8k", "accuracy on wrong"] == 1
    assert found["gsm8k", "accuracy on right"] == 0
    assert found["gsm8k", "F1"] == 0
    found = values(run(measure(flag(7), "processbench", data=processbench)))
    assert found["gsm8k", "accuracy on right"] == 1
    assert found["average", "F1"] == 0


def test_the_average_f1_is_the_plain_mean_of_the_subsets():
    a = [Scored(0, (0.1,)), Scored(None, (0.9,))]  # F1 = 1
    b = [Scored(0, (0.1,)), Scored(0, (0.9,)), Scored(None, (0.9,))]  # 2 · ½ · 1 / 1½ = ⅔
    rows = figures({"a": a, "b": b}, 0.5, every_step=False)
    assert [r.interval.mean for r in rows if r.metric == "F1"] == pytest.approx([1, 2 / 3, 5 / 6])


def test_bad_records_are_counted_and_named_and_the_others_are_measured(run, processbench):
    report = run(measure(flag(1), "processbench", data=processbench))
    assert report.as_json()["bad"] == 1
    assert str(report.bad[0]).startswith(f"{processbench / 'math.json'}: field '[2].label'")
    assert report.left_out == "1 records that could not be read"
    assert {r.subset for r in report.rows} == {"gsm8k", "math", "average"}


def test_a_solution_that_does_not_say_where_its_first_error_is_counts_as_unscored(run, tmp_path):
    row = {"id": "a", "problem": "?", "steps": ["x"], "labels": None, "first_error": None}
    known = row | {"first_error": -1}
    (tmp_path / "gsm8k.jsonl").write_text(json.dumps(row) + "\n" + json.dumps(known) + "\n")
    report = run(measure(flag(0), "processbench", data=tmp_path))
    assert report.unscored == 1
    assert values(report) == {
        ("gsm8k", "F1"): None,  # there is no wrong solution
        ("gsm8k", "accuracy on wrong"): None,
        ("gsm8k", "accuracy on right"): 0.0,
    }
    assert ("gsm8k", "F1", "not defined", "", "1") in report.table()


def test_the_threshold_is_declared_and_used(run, processbench):
    async def unsure(trajectories, /):
        return [Scores((0.6, 0.4, 0.6)) for _ in trajectories]

    strict = run(measure(unsure, "processbench", data=processbench / "gsm8k.json"))
    lax = run(measure(unsure, "processbench", data=processbench / "gsm8k.json", threshold=0.3))
    assert (strict.threshold, lax.threshold) == (0.5, 0.3)
    assert values(strict)["gsm8k", "accuracy on wrong"] == 1
    assert values(lax)["gsm8k", "accuracy on right"] == 1


def test_limit_takes_the_first_solutions_of_every_subset(run, processbench):
    report = run(measure(flag(1), "processbench", data=processbench, limit=1))
    assert {r.subset: r.n for r in report.rows if r.metric == "F1"} == {"gsm8k": 1, "math": 1, "average": 2}


def test_data_that_is_absent_says_where_to_get_it(run, monkeypatch, tmp_path):
    monkeypatch.delenv("PRMKIT_DATA", raising=False)
    with pytest.raises(BadInput, match="Qwen/ProcessBench"):
        run(measure(flag(0), "processbench"))
    with pytest.raises(BadInput, match=r"no file of ProcessBench in .*Qwen/ProcessBench"):
        run(measure(flag(0), "processbench", data=tmp_path))
    with pytest.raises(BadInput, match="no such file or folder"):
        run(measure(flag(0), "processbench", data=tmp_path / "nowhere"))


def test_data_is_found_through_the_environment(run, monkeypatch, tmp_path):
    (tmp_path / "steps").mkdir()
    row = {"id": "math-1", "problem": "?", "steps": ["x"], "first_error": -1}
    with gzip.open(tmp_path / "steps" / "processbench_math.jsonl.gz", "wt") as file:
        file.write(json.dumps(row) + "\n")
    monkeypatch.setenv("PRMKIT_DATA", str(tmp_path))
    assert {r.subset for r in run(measure(flag(3), "processbench")).rows} == {"math"}


def test_an_unknown_suite_names_the_known_ones(run):
    with pytest.raises(UnknownName, match="processbench"):
        run(measure(flag(0), "procesbench"))
    assert set(SUITES) == {"processbench", "arith"}


@pytest.mark.parametrize(
    ("scores", "complaint"),
    [
        (Scores((0.5,), "reward"), "rewards"),
        (Scores((0.5,)), "1 scores for 3 steps"),
        (Scores((0.5, float("nan"), 0.5)), "outside"),
    ],
)
def test_scores_that_cannot_be_measured_are_refused_not_counted_as_wrong(
    run, processbench, scores, complaint
):
    async def odd(trajectories, /):
        return [scores for _ in trajectories]

    with pytest.raises(BadInput, match=complaint):
        run(measure(odd, "processbench", data=processbench / "gsm8k.json"))


def test_the_oracle_is_perfect_on_arith_and_a_constant_is_not(run):
    async def constant(trajectories, /):
        return [Scores((0.7,) * len(t.actions)) for t in trajectories]

    best = values(run(measure(arith.oracle, "arith", limit=40)))
    poor = values(run(measure(constant, "arith", limit=40)))
    subset = "4–6 operations"
    assert best[subset, "F1"] == best[subset, "step AUC"] == 1
    assert best[subset, "step ECE"] == 0
    assert poor[subset, "F1"] == 0
    assert poor[subset, "step AUC"] == 0.5


def test_arith_is_the_same_every_time_and_other_with_another_seed(run):
    loads = [run(SUITES["arith"].load(None, seed, 5)).subsets for seed in (0, 0, 1)]
    assert loads[0] == loads[1]
    assert loads[0] != loads[2]


def test_arith_reads_no_file(run, tmp_path):
    with pytest.raises(BadInput, match="makes its own problems"):
        run(measure(flag(0), "arith", data=tmp_path))


def test_harmless_filler_is_no_error_of_the_suite():
    problem = Problem("?", "3", data={"start": 1, "operations": [("+", 2)]})
    steps = (Step("Let me think.\n"), Step("1+2=4\n"), Step("The answer is 4."))
    case = judged(Trajectory(problem, steps, "done"))
    assert case.labels == (1.0, 0.0, 0.0)
    assert case.first_error == 1


def test_recorded_scores_are_measured_like_a_model(tmp_path):
    rows = [
        {"id": "math-0", "label": 1, "scores": {"m": [0.9, 0.1], "other": [0.1, 0.1]}},
        {"id": "math-1", "label": -1, "scores": {"m": [0.9, 0.8], "other": None}},
        {"id": "math-2", "label": 5, "scores": {"m": [0.9]}},
    ]
    path = tmp_path / "scores.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    report = measure_scores(path, "m")
    assert values(report)["math", "F1"] == 1
    assert [b.line for b in report.bad] == [3]
    assert measure_scores(path, "other").unscored == 1
    with pytest.raises(UnknownName, match="other"):
        measure_scores(path, "n")


def test_the_published_f1_of_a_known_prm_comes_out_of_its_recorded_scores(real_data):
    """83.7 / 74.5 / 66.6 / 67.6 on all 1,000 solutions; 60 % of them are here, so a few points off."""
    report = measure_scores(
        real_data / "scores" / "processbench_250x4_21prms.jsonl.gz", "Qwen2.5-Math-PRM-7B"
    )
    f1 = {r.subset: r.interval for r in report.rows if r.metric == "F1"}
    published = {"gsm8k": 0.837, "math": 0.745, "olympiadbench": 0.666, "omnimath": 0.676}
    for subset, value in published.items():
        assert f1[subset].mean == pytest.approx(value, abs=0.045)
        assert f1[subset].low <= value <= f1[subset].high
    assert (report.unscored, report.bad) == (0, ())
    assert f1["average"].n > 500
