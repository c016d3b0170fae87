"""The whole loop through the command line, on the shipped models, as small as it can be."""

import json

import pytest
from typer.testing import CliRunner

from prmkit.app.cli import app
from prmkit.data.runs import Run

STORY = "Mia has 35 books. She sells 3. She is given 51 more. She loses 11. How many books does Mia have now?"


def prm(*words):
    return CliRunner().invoke(app, [str(w) for w in words])


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    out = tmp_path_factory.mktemp("loop") / "data"
    done = prm("label", "arith:4", "--rollouts", 2, "--samples", 2, "--out", out)
    assert (done.exit_code, done.stdout) == (0, f"{out}\n"), done.output
    return out


@pytest.fixture(scope="module")
def trained(labelled):
    out = labelled.parent / "prm"
    done = prm("fit", labelled, "--epochs", 1, "--batch", 4, "--learning-rate", 1e-3, "--out", out)
    assert (done.exit_code, done.stdout) == (0, f"{out}\n"), done.output
    return out


def test_what_was_labelled_is_there(labelled):
    run = Run.open(labelled)
    assert len(run.done_ids("label")) == len(run.done_ids(ratings="outcome")) == 8
    assert run.about.cost["generated_tokens"] > 0


def test_a_trained_scorer_scores(trained, tmp_path):
    file = tmp_path / "in.jsonl"
    file.write_text(json.dumps({"problem": STORY, "steps": ["35-3=32", "32+51=83", "83-11=72"]}) + "\n")
    done = prm("score", file, "--scorer", trained, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert len(found["scores"]) == 3
    assert all(0 < score < 1 for score in found["scores"])


def test_a_training_that_is_finished_is_not_repeated(trained, labelled):
    before = (trained / "model.safetensors").stat().st_mtime_ns
    done = prm("fit", labelled, "--epochs", 1, "--batch", 4, "--learning-rate", 1e-3, "--out", trained)
    assert done.exit_code == 0
    assert "finished before" in done.stderr
    assert (trained / "model.safetensors").stat().st_mtime_ns == before


def test_a_trained_scorer_steers_a_search(trained):
    found = json.loads(prm("solve", STORY, "--scorer", trained, "-n", 4, "--search", "beam", "--json").stdout)
    assert len(found["scores"]) == len(found["steps"]) > 1
    assert found["value"] == pytest.approx(min(found["scores"]), abs=1e-4)


def test_a_trained_scorer_is_measured(trained):
    found = json.loads(prm("bench", "arith", "--scorer", trained, "--limit", 6, "--json").stdout)
    assert {row["metric"] for row in found["rows"]} >= {"F1", "step AUC"}


@pytest.mark.parametrize("credit", ["outcome", "min-form"])
def test_a_policy_is_improved_into_a_folder_that_opens(trained, tmp_path, credit):
    words = ("arith:4", "--updates", 1, "--batch", 2, "--samples", 2, "--credit", credit)
    done = prm("rl", *words, "--scorer", trained, "--out", tmp_path / "rl")
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'rl'}\n"), done.output
    solved = prm(
        "solve", STORY, "--policy", tmp_path / "rl" / "policy", "--scorer", trained, "-n", 1, "--json"
    )
    assert solved.exit_code == 0, solved.output
    assert "solved" in prm("view", tmp_path / "rl").stdout


def test_training_data_may_be_a_file_and_its_bad_records_are_set_aside(tmp_path):
    row = {"id": "a", "problem": STORY, "steps": ["35-3=32", "32+51=84"], "label": 1}
    rows = [{**row, "final_answer_correct": False}, {**row, "final_answer_correct": "no"}]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    out = tmp_path / "prm"
    done = prm("fit", tmp_path / "in.jsonl", "--epochs", 1, "--out", out)
    assert (done.exit_code, done.stdout) == (1, f"{out}\n"), done.output
    assert [b["field"] for b in Run.open(out).bad()] == ["final_answer_correct"]
    assert json.loads((out / "prm.json").read_text())["kind"] == "correctness"
