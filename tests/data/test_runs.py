import json
import signal
import subprocess
import sys

import pytest

from prmkit.data.runs import Run
from prmkit.errors import BadInput, BadRecord, UnknownName
from prmkit.types import Problem, Scores, Step, Trajectory

ASKED = {"verb": "label", "policy": "hf:small", "rollouts": 8, "search": {"width": 4}}


def solution(text):
    return Trajectory(Problem("1+1?", "2"), (Step(text),), "done")


def test_what_is_written_is_what_is_read(tmp_path):
    run = Run.create(tmp_path / "deep" / "run", asked=ASKED, seed=3)
    run.append_trajectories([("a", solution("2")), ("b", solution("3"))])
    run.append_scores("monte_carlo:8", {"a": Scores((1.0,)), "b": Scores((0.0,))})
    run.append_metric(step=1, loss=0.5)
    run.append_metric(step=2, loss=0.25)
    run.finish(cost={"generated_tokens": 12})

    seen = Run.open(tmp_path / "deep" / "run")
    assert dict(seen.trajectories()) == {"a": solution("2"), "b": solution("3")}
    assert dict(seen.scores("monte_carlo:8")) == {"a": Scores((1.0,)), "b": Scores((0.0,))}
    assert list(seen.metrics()) == [{"step": 1, "loss": 0.5}, {"step": 2, "loss": 0.25}]
    assert seen.done_ids() == seen.done_ids("monte_carlo:8") == {"a", "b"}
    assert (seen.about.asked, seen.about.seed, seen.about.schema) == (ASKED, 3, 1)
    assert seen.about.cost == {"generated_tokens": 12}
    assert seen.about.finished >= seen.about.created > "2020"
    assert "python" in seen.about.versions


def test_a_new_run_has_nothing(tmp_path):
    run = Run.create(tmp_path, asked={})
    assert run.done_ids() == set()
    assert run.done_ids("anyone") == set()
    assert list(run.trajectories()) == list(run.metrics()) == list(run.bad()) == []
    assert run.about.finished is None


def test_of_two_records_with_one_id_the_first_counts(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.append_trajectories([("a", solution("first")), ("a", solution("second")), ("b", solution("other"))])
    run.append_scores("s", [("a", Scores((1.0,))), ("a", Scores((0.0,)))])
    assert list(run.trajectories()) == [("a", solution("first")), ("b", solution("other"))]
    assert list(run.scores("s")) == [("a", Scores((1.0,)))]


def test_a_torn_line_is_no_record_and_the_next_append_cuts_it_off(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.append_trajectories([("a", solution("2")), ("b", solution("3"))])
    file = tmp_path / "trajectories.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-10])

    again = Run.create_or_resume(tmp_path, asked={})
    assert again.done_ids() == {"a"}
    assert [key for key, _ in again.trajectories()] == ["a"]
    again.append_trajectories([("b", solution("3"))])
    assert file.read_bytes() == whole


def test_an_append_that_fails_half_way_keeps_what_came_before(tmp_path):
    run = Run.create(tmp_path, asked={})

    def rows():
        yield "a", solution("2")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.append_trajectories(rows())
    run.append_trajectories([("b", solution("3"))])
    assert run.done_ids() == {"a", "b"}


CHILD = """
import os, signal, sys
from prmkit.data.runs import Run
from prmkit.types import Problem, Step, Trajectory

folder, die_at = sys.argv[1], int(sys.argv[2])

def rows():
    for i in range(50):
        if i == die_at:  # as if the system had taken half of the line when the process was killed
            with open(folder + "/trajectories.jsonl", "ab") as file:
                file.write(b'{"id": "%d", "problem": {"prompt": "ha' % i)
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
        if str(i) not in done:
            yield str(i), Trajectory(Problem(f"problem {i}"), (Step("x" * 1000),))

run = Run.create_or_resume(folder, asked={"n": 50})
done = run.done_ids()
run.append_trajectories(rows())
"""


def test_a_process_killed_in_mid_write_loses_no_whole_record_and_repeats_none(tmp_path):
    folder = tmp_path / "run"

    def sitting(die_at):
        return subprocess.run([sys.executable, "-c", CHILD, str(folder), str(die_at)]).returncode

    for die_at in (7, 7, 30):
        assert sitting(die_at) == -signal.SIGKILL
        assert not (folder / "trajectories.jsonl").read_bytes().endswith(b"\n")
        assert Run.open(folder).done_ids() == {str(i) for i in range(die_at)}
    assert sitting(-1) == 0

    rows = [json.loads(line) for line in (folder / "trajectories.jsonl").read_bytes().splitlines()]
    assert [row["id"] for row in rows] == [str(i) for i in range(50)]
    assert [t.problem.prompt for _, t in Run.open(folder).trajectories()] == [
        f"problem {i}" for i in range(50)
    ]


def test_resuming_with_something_else_asked_shows_what_differs(tmp_path):
    Run.create(tmp_path, asked=ASKED, seed=1)
    other = {"verb": "label", "policy": "hf:large", "search": {"width": 8}, "rollouts": 8, "limit": 5}
    with pytest.raises(BadInput) as caught:
        Run.create_or_resume(tmp_path, asked=other, seed=2)
    said = str(caught.value)
    assert 'policy: "hf:small" then, "hf:large" now' in said
    assert "search.width: 4 then, 8 now" in said
    assert "limit: absent then, 5 now" in said
    assert "seed: 1 then, 2 now" in said
    assert "rollouts" not in said


def test_resuming_with_the_same_asked_goes_on_even_if_tuples_became_lists(tmp_path):
    first = Run.create_or_resume(tmp_path, asked={"seeds": (1, 2), "api_key": "k1"})
    first.append_trajectories([("a", solution("2"))])
    assert Run.create_or_resume(tmp_path, asked={"seeds": (1, 2), "api_key": "k2"}).done_ids() == {"a"}


def test_keys_and_passwords_are_never_written(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_TOKEN", "from-the-environment")
    asked = {
        "api_key": "hush-1",
        "headers": {"Authorization": "hush-2"},
        "url": "https://me:hush-3@host/v1",
        "many": [{"hf_token": "hush-4"}],
        "max_tokens": 64,
        "marker_token": "<extra_0>",
    }
    Run.create(tmp_path, asked=asked).finish()
    written = (tmp_path / "run.json").read_text()
    assert "hush" not in written
    assert "from-the-environment" not in written
    shown = Run.open(tmp_path).about.asked
    assert (shown["url"], shown["max_tokens"], shown["marker_token"]) == ("https://host/v1", 64, "<extra_0>")


def test_cost_adds_up_over_sittings(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.add_cost({"calls": 2, "seconds": 1.5})
    Run.open(tmp_path).finish(cost={"calls": 3, "tokens": 10})
    assert Run.open(tmp_path).about.cost == {"calls": 5, "seconds": 1.5, "tokens": 10}


def test_a_run_of_a_newer_prmkit_is_refused(tmp_path):
    (tmp_path / "run.json").write_text('{"schema": 99, "question": "asked otherwise"}')
    with pytest.raises(BadInput, match=r"newer prmkit \(schema 99, this one reads up to 1\)"):
        Run.open(tmp_path)


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 1}', '{"schema": 1, "asked": {}, "seed": "x"}'])
def test_a_broken_run_json_is_bad_input(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(BadInput, match=r"run\.json"):
        Run.open(tmp_path)


def test_a_folder_in_use_is_not_written_over(tmp_path):
    Run.create(tmp_path / "a", asked={})
    with pytest.raises(BadInput, match="already holds"):
        Run.create(tmp_path / "a", asked={})
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "trajectories.jsonl").write_text("")
    with pytest.raises(BadInput, match="already holds"):
        Run.create_or_resume(tmp_path / "b", asked={})
    with pytest.raises(BadInput, match=r"no run\.json"):
        Run.open(tmp_path / "b")
    (tmp_path / "c").write_text("")
    with pytest.raises(BadInput, match="is a file"):
        Run.create(tmp_path / "c", asked={})


def test_unknown_scores_list_the_known_ones(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.append_scores("oracle", {"a": Scores((1.0,))})
    with pytest.raises(UnknownName, match=r"'orakle'.*nearest: 'oracle'"):
        run.scores("orakle")


@pytest.mark.parametrize("name", ["../x", "a b", ".hidden", "", "a\\b"])
def test_a_name_that_is_no_file_name_is_refused(tmp_path, name):
    run = Run.create(tmp_path, asked={})
    with pytest.raises(BadInput, match="cannot name a file"):
        run.append_scores(name, {})


def test_a_record_without_an_id_is_refused(tmp_path):
    with pytest.raises(BadInput, match="needs an id"):
        Run.create(tmp_path, asked={}).append_trajectories([("", solution("2"))])


def test_a_broken_record_names_its_file_line_and_field(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.append_trajectories([("a", solution("2"))])
    with (tmp_path / "trajectories.jsonl").open("a") as file:
        file.write('{"id": "b", "problem": {"prompt": "?"}, "steps": [{}]}\n')
    with pytest.raises(BadRecord, match=r"trajectories\.jsonl:2: field 'steps\[0\]\.text': missing"):
        list(run.trajectories())


def test_bad_input_records_stand_beside_the_output_once(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.write_bad([BadRecord("missing", field="problem", file="in.jsonl", line=7)])
    run.write_bad([BadRecord("missing", field="problem", file="in.jsonl", line=7)])
    assert list(run.bad()) == [
        {"file": "in.jsonl", "line": 7, "field": "problem", "problem": "missing", "raw": ""}
    ]


def test_ratings_are_kept_by_name_like_scores(tmp_path):
    run = Run.create(tmp_path, asked={})
    run.append_ratings("outcome", {"a": 1.0, "b": 0})
    run.append_ratings("outcome", [("b", 1.0), ("c", 0.5)])
    assert dict(run.ratings("outcome")) == {"a": 1.0, "b": 0.0, "c": 0.5}
    assert run.done_ids(ratings="outcome") == {"a", "b", "c"}
    assert (run.rating_names(), run.score_names()) == (["outcome"], [])
    with pytest.raises(UnknownName, match="nearest: 'outcome'"):
        run.ratings("outcomes")


def test_a_rating_that_is_no_number_names_its_place(tmp_path):
    run = Run.create(tmp_path, asked={})
    (tmp_path / "ratings.outcome.jsonl").write_text('{"id": "a", "value": "yes"}\n')
    with pytest.raises(BadRecord, match=r"ratings\.outcome\.jsonl:1: field 'value'"):
        list(run.ratings("outcome"))
