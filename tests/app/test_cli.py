"""The command line on stand-ins that need no model: what it reads, says, writes and refuses."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from prmkit import __version__
from prmkit.app.cli import app
from prmkit.data.runs import Run
from prmkit.errors import BadInput, MissingExtra
from prmkit.testing import constant_scorer
from prmkit.types import Scores
from prmkit.worlds.pupil import Pupil

COMMANDS = ("demo", "label", "fit", "score", "solve", "bench", "rl", "claim", "papers", "view")
PLAIN = [
    {"id": "a", "problem": "1 + 1 + 1?", "steps": ["1 + 1 = 2", "2 + 1 = 3"]},
    {"prompt": "2 + 2?", "solution": "2 + 2 = 4\nThe answer is 4."},
]


@pytest.fixture
def prm(tmp_path, monkeypatch):
    """Run `prm` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return lambda *words, **options: CliRunner().invoke(app, [str(w) for w in words], **options)


@pytest.fixture
def scored(monkeypatch):
    """What a scorer was shown; it gives every step 0.25 and refuses a solution that says so."""
    seen = []

    async def score(trajectories, /):
        if any("refuse me" in t.text for t in trajectories):
            raise BadInput("too long for this model")
        seen.extend(t.text for t in trajectories)
        return [Scores((0.25,) * len(t.actions), "correctness", source="fake") for t in trajectories]

    monkeypatch.setattr("prmkit.scorers.open_scorer", lambda spec: score)
    return seen


@pytest.fixture
def pupil(monkeypatch):
    """The simulated pupil in place of a model."""
    monkeypatch.setattr("prmkit.policies.open_policy", lambda spec, seed=0: Pupil(seed=seed))


def lines(path, rows):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows))
    return path


def records(text):
    return [json.loads(line) for line in text.splitlines()]


# --- the house ----------------------------------------------------------------------------------------


def test_help_names_every_command_and_each_explains_itself(prm):
    shown = prm("--help")
    assert shown.exit_code == 0
    for command in COMMANDS:
        assert f"│ {command} " in shown.stdout
        assert prm(command, "--help").exit_code == 0


def test_the_version_is_the_package_s(prm):
    assert prm("--version").stdout == f"prmkit {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["papers"], ["papers", "--json"], ["claim"], ["bench"]])
def test_looking_around_loads_no_model_library(words):
    script = (
        "import sys; from prmkit.app.cli import main\n"
        f"sys.argv = ['prm', *{words!r}]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "heavy = {'torch', 'transformers', 'accelerate'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_missing_package_names_the_extra_and_the_command_that_installs_it():
    script = "import sys; sys.modules['torch'] = None; from prmkit.app.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "solve", "1 + 1?"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "needs the package 'torch'" in done.stderr
    assert "pip install 'prmkit[hf]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_with_debugging_on_the_traceback_is_shown(prm, monkeypatch):
    assert prm("view", "nowhere").exit_code == 2
    monkeypatch.setenv("PRM_DEBUG", "1")
    assert isinstance(prm("view", "nowhere").exception, BadInput)


def test_a_stop_says_how_to_go_on(prm, monkeypatch):
    def stopped(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("prmkit.app.overview.look", stopped)
    done = prm("view", "run")
    assert done.exit_code == 130
    assert "stopped; run the same command again to go on" in done.stderr


def test_a_folder_that_cannot_be_written_is_named(prm, tmp_path, scored):
    file = lines(tmp_path / "in.jsonl", PLAIN)
    done = prm("score", file, "--out", tmp_path / "no" / "where.jsonl")
    assert done.exit_code == 2
    assert "No such file or directory" in done.stderr


def test_a_missing_extra_of_an_opener_is_told_without_a_traceback(prm, monkeypatch):
    def missing(spec):
        raise MissingExtra("the scorer", "hf", "torch")

    monkeypatch.setattr("prmkit.scorers.open_scorer", missing)
    done = prm("bench", "arith")
    assert done.exit_code == 2
    assert "pip install 'prmkit[hf]'" in done.stderr


@pytest.mark.parametrize(
    ("words", "near"),
    [
        (["papers", "--slot", "serch"], "search"),
        (["papers", "--status", "recipes"], "recipe"),
        (["score", "in.jsonl", "--format", "processbanch"], "processbench"),
        (["score", "in.jsonl", "--segment", "line"], "lines"),
        (["score", "in.jsonl", "--scorer", "built:arith"], "builtin"),
        (["score", "in.jsonl", "--scorer", "builtin:arit"], "arith"),
        (["label", "arith:1", "--out", "x", "--method", "bisection"], "bisect"),
        (["label", "arth:1", "--out", "x"], "arith"),
        (["label", "arith:1", "--out", "x", "--policy", "builtin:arit"], "arith"),
        (["solve", "1?", "--search", "beams"], "beam"),
        (["solve", "1?", "--aggregate", "minimum"], "min"),
        (["bench", "procesbench"], "processbench"),
        (["claim", "omega"], "omega-prm"),
        (["rl", "arith:1", "--out", "x", "--credit", "progres"], "progress"),
        (["fit", "in.jsonl", "--out", "x", "--objective", "bcee"], "bce"),
        (["fit", "in.jsonl", "--out", "x", "--model", "builtin:arit"], "arith"),
    ],
)
def test_an_unknown_name_is_answered_with_the_known_ones_and_the_nearest(prm, tmp_path, words, near):
    lines(tmp_path / "in.jsonl", PLAIN)
    done = prm(*words)
    assert done.exit_code == 2
    assert f"(nearest: {near!r}); known: " in done.stderr
    assert done.stdout == ""


# --- papers, claims, suites -----------------------------------------------------------------------------


def test_papers_are_117_rows_of_json(prm):
    rows = json.loads(prm("papers", "--json").stdout)
    assert [row["id"] for row in rows] == list(range(1, 118))


def test_papers_can_be_asked_for_by_slot_and_status(prm):
    rows = json.loads(prm("papers", "--json", "--slot", "label", "--status", "recipe").stdout)
    assert {(row["slot"], row["status"]) for row in rows} == {("label", "recipe")}


def test_papers_in_a_terminal_fit_80_columns_and_name_every_paper(prm):
    shown = prm("papers").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert all(f"{i:4}  " in shown for i in range(1, 118))
    assert "117 papers" in shown


def test_claims_and_suites_are_listed_when_none_is_named(prm):
    assert {"omega-prm", "pqm", "pure"} <= {c["name"] for c in json.loads(prm("claim", "--json").stdout)}
    assert "processbench" in prm("bench").stdout


# --- score ----------------------------------------------------------------------------------------------


def test_scores_are_json_lines_with_the_id_or_the_line(prm, tmp_path, scored):
    done = prm("score", lines(tmp_path / "in.jsonl", PLAIN), "--json")
    assert done.exit_code == 0
    assert records(done.stdout) == [
        {"id": "a", "scores": [0.25, 0.25], "kind": "correctness", "source": "fake"},
        {"id": "line-2", "scores": [0.25, 0.25], "kind": "correctness", "source": "fake"},
    ]


def test_steps_are_set_apart_before_a_scorer_reads_them(prm, tmp_path, scored):
    file = lines(tmp_path / "in.jsonl", PLAIN)
    prm("score", file)
    assert scored == ["1 + 1 = 2\n2 + 1 = 3", "2 + 2 = 4\nThe answer is 4."]
    scored.clear()
    prm("score", file, "--separator", r"\n\n")
    assert scored == ["1 + 1 = 2\n\n2 + 1 = 3", "2 + 2 = 4\nThe answer is 4."]


def test_a_solution_in_one_piece_is_cut_as_asked(prm, tmp_path, scored):
    file = lines(tmp_path / "in.jsonl", [{"prompt": "?", "solution": "a\nb\n\nc"}])
    cut = {how: prm("score", file, "--json", "--segment", how).stdout for how in ("lines", "paragraphs")}
    assert [len(records(text)[0]["scores"]) for text in cut.values()] == [3, 2]


def test_a_reader_sees_each_step_with_its_score(prm, tmp_path, scored):
    shown = prm("score", lines(tmp_path / "in.jsonl", PLAIN[:1])).stdout
    assert [line.rstrip() for line in shown.splitlines()] == [
        "a",
        "1 + 1 + 1?",
        "1 0.25 ━━╌╌╌╌╌╌╌╌   1 + 1 = 2",
        "2 0.25 ━━╌╌╌╌╌╌╌╌   2 + 1 = 3",
        "",
    ]


@pytest.mark.parametrize(
    "row",
    [
        {"id": "x", "problem": "p", "steps": ["s", "t"], "final_answer_correct": None, "label": 1},
        {"id": "x", "prompt": "p", "completions": ["s", "t"], "labels": [True, False]},
        {"id": "x", "input": "p Step 1: s ки\nStep 2: t ки", "label": "p Step 1: s +\nStep 2: t -"},
        {"id": "x", "problem": "p", "steps": ["s", "t"], "first_error": 1},
        {
            "id": "x",
            "trajectory": {"problem": {"prompt": "p"}, "steps": [{"text": "s"}, {"text": "t"}]},
            "labels": [None, None],
        },
    ],
)
def test_the_formats_of_the_field_are_seen_by_themselves(prm, tmp_path, scored, row):
    done = prm("score", lines(tmp_path / "in.jsonl", [row]), "--json")
    assert done.exit_code == 0, done.stderr
    assert [(r["id"], len(r["scores"])) for r in records(done.stdout)] == [("x", 2)]


def test_bad_records_are_named_and_kept_and_the_others_scored(prm, tmp_path, scored):
    rows = [
        PLAIN[0],
        "not json",
        {"id": "b", "problem": "?", "steps": []},
        {"id": "c", "steps": ["s"]},
        {"id": "d", "problem": "?", "steps": ["s", 7]},
        {"id": "e", "problem": "?", "steps": ["s", " "]},
        {"id": "f", "problem": "?", "steps": ["refuse me"]},
        PLAIN[1],
    ]
    file = lines(tmp_path / "in.jsonl", rows)
    done = prm("score", file, "--json")
    assert done.exit_code == 1
    assert [r["id"] for r in records(done.stdout)] == ["a", "line-8"]
    bad = records((tmp_path / "in.jsonl.bad.jsonl").read_text())
    assert [(b["file"], b["line"], b["field"]) for b in bad] == [
        (str(file), 2, ""),
        (str(file), 3, "steps"),
        (str(file), 4, "problem"),
        (str(file), 5, "steps[1]"),
        (str(file), 6, "steps[1]"),
        (str(file), 7, ""),
    ]
    assert [json.loads(b["raw"])["id"] for b in bad[1:]] == ["b", "c", "d", "e", "f"]
    assert f"{file}:5: field 'steps[1]': a text is wanted here, not a number" in done.stderr
    assert f"{file}:7: too long for this model" in done.stderr
    assert "6 bad records set aside in" in done.stderr


def test_bad_records_stand_beside_the_output_where_there_is_one(prm, tmp_path, scored):
    file = lines(tmp_path / "in.jsonl", [PLAIN[0], "{"])
    done = prm("score", file, "--out", "scores.jsonl")
    assert (done.exit_code, done.stdout) == (1, "")
    assert [r["id"] for r in records((tmp_path / "scores.jsonl").read_text())] == ["a"]
    assert len(records((tmp_path / "scores.jsonl.bad.jsonl").read_text())) == 1
    assert not (tmp_path / "in.jsonl.bad.jsonl").exists()


def test_a_mended_file_leaves_no_old_complaints(prm, tmp_path, scored):
    prm("score", lines(tmp_path / "in.jsonl", [PLAIN[0], "{"]))
    assert prm("score", lines(tmp_path / "in.jsonl", PLAIN)).exit_code == 0
    assert (tmp_path / "in.jsonl.bad.jsonl").read_text() == ""


def test_the_standard_input_can_be_scored(prm, tmp_path, scored):
    done = prm("score", "-", "--json", input=json.dumps(PLAIN[0]) + "\n{}\n")
    assert done.exit_code == 1
    assert [r["id"] for r in records(done.stdout)] == ["a"]
    assert [b["file"] for b in records((tmp_path / "stdin.bad.jsonl").read_text())] == ["stdin"]
    assert "stdin:2: field 'problem': missing" in done.stderr


def test_an_empty_file_is_said_to_be_empty(prm, tmp_path):
    done = prm("score", lines(tmp_path / "in.jsonl", []))
    assert done.exit_code == 1
    assert "in.jsonl is empty" in done.stderr


def test_a_missing_file_is_named(prm):
    done = prm("score", "nowhere.jsonl")
    assert done.exit_code == 2
    assert "nowhere.jsonl: cannot be read" in done.stderr
    assert "Traceback" not in done.stderr


# --- label ----------------------------------------------------------------------------------------------


def test_labelling_makes_a_run_and_prints_its_folder(prm, tmp_path, pupil):
    done = prm("label", "arith:3", "--rollouts", 2, "--samples", 2, "--seed", 5, "--out", "run")
    assert (done.exit_code, done.stdout) == (0, "run\n"), done.stderr
    run = Run.open(tmp_path / "run")
    assert run.done_ids() == run.done_ids("label") == {f"arith-5-{i}/{k}" for i in range(3) for k in range(2)}
    assert dict(run.scores("label"))["arith-5-0/0"].source == "monte_carlo:2"
    assert (run.about.seed, run.about.asked["problems"], run.about.finished is not None) == (
        5,
        "arith:3",
        True,
    )
    assert run.about.cost["calls"] == 2
    assert "problems" in done.stderr


@pytest.mark.parametrize(("method", "source"), [("bisect", "bisect:3"), ("math-shepherd", "monte_carlo:3")])
def test_labels_can_come_from_another_method(prm, tmp_path, pupil, method, source):
    prm("label", "arith:1", "--rollouts", 3, "--samples", 1, "--method", method, "--out", "run")
    assert {s.source for _, s in Run.open(tmp_path / "run").scores("label")} == {source}


def test_the_same_command_again_pays_for_nothing(prm, tmp_path, pupil):
    words = ("label", "arith:2", "--rollouts", 2, "--samples", 1, "--out", "run")
    prm(*words)
    before = {f.name: f.read_bytes() for f in tmp_path.glob("run/*.jsonl")}
    assert prm(*words).exit_code == 0
    assert {f.name: f.read_bytes() for f in tmp_path.glob("run/*.jsonl")} == before
    assert Run.open(tmp_path / "run").about.cost["calls"] == 2


def test_a_folder_with_another_run_is_refused(prm, pupil):
    prm("label", "arith:1", "--rollouts", 1, "--samples", 1, "--out", "run")
    done = prm("label", "arith:1", "--rollouts", 2, "--samples", 1, "--out", "run")
    assert done.exit_code == 2
    assert "rollouts: 1 then, 2 now" in done.stderr


def test_problems_of_a_file_are_labelled_and_the_bad_ones_set_aside(prm, tmp_path, monkeypatch):
    async def knows(prefixes, n=1, /, *, until="step"):
        from prmkit.types import Step

        return [[t if t.closed else t.then(Step("The answer is 4."), "done")] * n for t in prefixes]

    monkeypatch.setattr("prmkit.policies.open_policy", lambda spec, seed=0: knows)
    rows = [
        {"question": "2 + 2?", "answer": "#### 4", "id": "a"},
        {"prompt": "3 + 1?", "answer": 4, "id": 7},
        {"problem": "2 * 2?", "answer": "5"},
        {"problem": "no answer"},
        {"problem": " ", "answer": "1"},
        {"answer": "1"},
        {"problem": "again", "answer": "1", "id": "a"},
        {"problem": "odd", "answer": "1", "id": [1]},
    ]
    file = lines(tmp_path / "in.jsonl", rows)
    done = prm("label", file, "--samples", 1, "--out", "run")
    assert (done.exit_code, done.stdout) == (1, "run\n")
    run = Run.open(tmp_path / "run")
    assert dict(run.ratings("outcome")) == {"a/0": 1.0, "7/0": 1.0, "line-3/0": 0.0}
    assert [(b["line"], b["field"]) for b in run.bad()] == [
        (4, "answer"),
        (5, "problem"),
        (6, "prompt"),
        (7, "id"),
        (8, "id"),
    ]
    assert f"{file}:7: field 'id': 'a' stands already on line 1" in done.stderr


def test_an_empty_or_missing_file_of_problems_makes_no_run(prm, tmp_path):
    lines(tmp_path / "in.jsonl", [])
    assert prm("label", "in.jsonl", "--out", "run").exit_code == 1
    assert prm("label", "nowhere.jsonl", "--out", "run").exit_code == 2
    assert prm("label", "arith:none", "--out", "run").exit_code == 2
    assert not (tmp_path / "run").exists()


# --- solve and view -------------------------------------------------------------------------------------


@pytest.fixture
def knowing(monkeypatch):
    """A policy that writes two steps and a scorer that likes them."""

    async def write(prefixes, n=1, /, *, until="step"):
        from prmkit.types import Step

        def grow(t):
            while not t.closed:
                t = t.then(Step("The answer is 4."), "done") if t.steps else t.then(Step("2 + 2 = 4\n"))
                if until != "end":
                    break
            return t

        return [[grow(t) for _ in range(n)] for t in prefixes]

    monkeypatch.setattr("prmkit.policies.open_policy", lambda spec, seed=0: write)
    monkeypatch.setattr("prmkit.scorers.open_scorer", lambda spec: constant_scorer(0.75))


@pytest.mark.parametrize("search", ["best-of-n", "beam", "mcts", "particles", "diverse-trees"])
@pytest.mark.parametrize("n", [1, 6])
def test_every_search_solves(prm, knowing, search, n):
    done = prm("solve", "2 + 2?", "--search", search, "-n", n, "--json")
    found = json.loads(done.stdout)
    assert (found["answer"], found["steps"]) == ("4", ["2 + 2 = 4\n", "The answer is 4."])
    assert (found["scores"], found["value"], found["stop"]) == ([0.75, 0.75], 0.75, "done")
    assert found["cost"]["calls"] >= 1


def test_a_solution_is_shown_with_its_scores_and_its_answer(prm, knowing):
    shown = prm("solve", "-", "--aggregate", "product", input="2 + 2?\n").stdout
    assert "1 0.75 ━━━━━━━━╌╌   2 + 2 = 4" in shown
    assert "answer  4   product of steps 0.56" in shown


def test_an_empty_problem_is_refused(prm):
    assert prm("solve", " ").exit_code == 2


def test_a_run_is_shown_with_what_was_asked_and_what_came_of_it(prm, pupil):
    prm("label", "arith:4", "--rollouts", 2, "--samples", 2, "--out", "run")
    shown = prm("view", "run", "-n", 2).stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert "problems=arith:4" in shown
    assert "by monte_carlo:2" in shown
    assert shown.count("How many") == 2


def test_a_run_becomes_a_page(prm, tmp_path, pupil):
    prm("label", "arith:2", "--rollouts", 2, "--samples", 1, "--out", "run")
    done = prm("view", "run", "--html", "pages/run.html")
    assert done.stdout == "pages/run.html\n"
    page = (tmp_path / "pages" / "run.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "How many" in page


def test_a_run_that_was_stopped_is_shown_as_unfinished(prm, tmp_path):
    Run.create(tmp_path / "run", asked={"verb": "label"})
    shown = prm("view", "run").stdout
    assert "not finished" in shown


def test_a_folder_of_runs_names_them(prm, tmp_path):
    Run.create(tmp_path / "all" / "one", asked={})
    done = prm("view", "all")
    assert done.exit_code == 2
    assert "holds some: all/one" in done.stderr


# --- claim and demo -------------------------------------------------------------------------------------


@pytest.fixture
def small_claim(monkeypatch):
    """A claim in which the treatment always solves and the control never does."""
    from prmkit.bench.compare import Arm, Comparison
    from prmkit.bench.run import Claim, Condition

    async def play(seed):
        return {"new": Arm({"solved": [1.0, 1.0]}, 3.0), "old": Arm({"solved": [0.0, 0.0]}, 3.0)}

    told = {
        "statement": "New is better.",
        "world": "w",
        "treatment": "new",
        "control": "old",
        "budget": "calls",
    }
    asks = ((Comparison("solved", "new", "old", at_least=0.5),),)
    claim = Claim("small", 1, **told, asks=asks, holds_at=(Condition("here", play),))
    monkeypatch.setattr("prmkit.bench.claims.CLAIMS", {"small": claim})


def test_a_claim_is_tested_and_its_verdict_told(prm, small_claim):
    found = json.loads(prm("claim", "small", "--json").stdout)
    assert (found["verdict"], found["seeds"]) == ("holds", 5)
    shown = prm("claim", "small").stdout
    assert "difference 1.000 [1.000, 1.000], wanted ≥ 0.5" in shown
    assert "holds   5 seeds" in shown


def test_a_claim_with_too_few_seeds_is_undecided(prm, small_claim):
    assert "undecided: here: fewer than 5 seeds   1 seed\n" in prm("claim", "small", "--seeds", 1).stdout


def test_the_demo_is_told_where_to_write_and_its_seed(prm, tmp_path, monkeypatch):
    from pathlib import Path
    from types import SimpleNamespace

    asked = []
    stand_in = SimpleNamespace(demo=lambda out, seed: asked.append((out, seed)))
    monkeypatch.setitem(sys.modules, "prmkit.app.demo", stand_in)
    prm("demo")
    prm("demo", "--seed", 3, "--out", "there")
    assert asked == [(Path("runs/demo"), 0), (Path("there"), 3)]
