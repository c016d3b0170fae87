import json
import random
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoTokenizer

from prmkit.errors import BadInput, PrmkitError, UnknownName
from prmkit.scorers import open_scorer
from prmkit.testing import check_scorer
from prmkit.text.coder import Coder
from prmkit.text.layout import Layout
from prmkit.train.fit import Collator, FitConfig, Row, fit
from prmkit.types import Example, Problem, Step, Trajectory

GOOD, BAD = " 1+1=2", " 1+1=3"  # told apart by the token at which the score is read
QUICK = FitConfig(epochs=12, learning_rate=5e-3, head_factor=2.0, batch=4)
SHORT = FitConfig(epochs=4, learning_rate=1e-3, head_factor=2.0, batch=2)


def example(labels, name="e", **more):
    steps = tuple(Step(GOOD if label is None or label >= 0.5 else BAD) for label in labels)
    return Example(
        Trajectory(Problem("What is 1+1?", id=name), steps, "done"), tuple(labels), id=name, **more
    )


@pytest.fixture(scope="module")
def examples():
    rng = random.Random(0)
    rows = [[float(rng.random() < 0.5) for _ in range(rng.randint(2, 4))] for _ in range(12)]
    return [example(row, f"e{i}") for i, row in enumerate(rows)]


@pytest.fixture(scope="module")
def trained(examples, tiny, tmp_path_factory):
    losses = []
    out = fit(
        examples,
        model=tiny,
        out=tmp_path_factory.mktemp("fit") / "prm",
        config=QUICK,
        progress=lambda step, steps, loss: losses.append((step, steps, loss)),
    )
    return out, losses


def same(one, other):
    a, b = (load_file(Path(folder) / "model.safetensors") for folder in (one, other))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


# --- what is learnt -----------------------------------------------------------------------------------


def test_the_loss_falls_and_progress_is_told_at_every_step(trained):
    _, losses = trained
    assert [step for step, _, _ in losses] == list(range(1, 37))  # 12 epochs of three batches
    assert {steps for _, steps, _ in losses} == {36}
    values = [loss for _, _, loss in losses]
    assert sum(values[-3:]) < 0.5 * sum(values[:3])


def test_good_steps_score_above_bad_ones(run, trained, examples):
    scored = run(open_scorer(trained[0])([e.trajectory for e in examples]))
    pairs = [p for e, s in zip(examples, scored, strict=True) for p in zip(e.labels, s.values, strict=True)]
    assert min(v for y, v in pairs if y == 1) > max(v for y, v in pairs if y == 0)


@pytest.mark.parametrize("objective", ["mse", "rank", "outcome"])
def test_every_objective_trains_a_scorer(run, examples, tiny, tmp_path, objective):
    out = fit(examples, model=tiny, out=tmp_path / "prm", objective=objective, config=QUICK)
    good, bad = run(open_scorer(out)([example([1.0]).trajectory, example([0.0]).trajectory]))
    assert good.values[0] > bad.values[0] + 0.1
    assert open_scorer(out).profile.objective == objective


def test_the_checkpoint_keeps_what_must_be_known_to_read_it(run, examples, tiny, tmp_path):
    labelled = [replace(e, kind="correctness") for e in examples]
    out = fit(labelled, model=tiny, out=tmp_path / "prm", config=replace(SHORT, epochs=1, marker=" ?"))
    opened = open_scorer(out)
    assert (opened.profile.kind, opened.profile.marker, opened.profile.objective) == (
        "correctness",
        " ?",
        "bce",
    )
    run(check_scorer(opened, [e.trajectory for e in examples]))
    assert not (out / "unfinished").exists()


def test_nothing_is_printed(examples, tiny, tmp_path, capfd):
    fit(examples, model=tiny, out=tmp_path / "prm", config=replace(SHORT, epochs=1))
    assert capfd.readouterr().out == ""


def test_labels_are_laid_at_the_ends_of_their_steps():
    rows = [
        Row(Layout((7, 7, 1, 2, 3), ((2, 3), (3, 5)), 2), (0.5, None)),
        Row(Layout((7, 4), ((1, 2),), 1), (1.0,)),
    ]
    batch = Collator(padding=0)(rows)
    assert batch["read_at"].tolist() == [[2, 4], [1, 0]]
    assert batch["labels"].tolist() == [[0.5, 0.0], [1.0, 0.0]]
    assert batch["labelled"].tolist() == [[True, False], [True, False]]
    assert batch["input_ids"].tolist() == [[7, 7, 1, 2, 3], [7, 4, 0, 0, 0]]


# --- what cannot be learnt from -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([], "no"),
        ([replace(example([1.0, 0.0]), labels=(1.0,))], "'e': 1 labels for 2 policy steps"),
        ([replace(example([1.0]), labels=(1.5,))], r"'e': label 1\.5 is not in \[0, 1\]"),
        ([replace(example([1.0]), labels=(float("nan"),))], r"'e': label nan is not in \[0, 1\]"),
        ([example([None, None])], "no step of any example has a label"),
        ([example([1.0]), example([0.0], kind="correctness")], "correctness, value"),
        ([Example(Trajectory(Problem("?"), (Step(""),)), (1.0,), id="void")], "'void': .*no tokens"),
    ],
)
def test_odd_examples_are_refused_by_name_before_anything_is_trained(tiny, tmp_path, bad, message):
    with pytest.raises(BadInput, match=message):
        fit(bad, model=tiny, out=tmp_path / "prm")
    assert not (tmp_path / "prm").exists()


def test_an_unknown_objective_lists_the_known_ones(examples, tiny, tmp_path):
    with pytest.raises(UnknownName, match=r"unknown objective 'bcee' \(nearest: 'bce'\); known: bce, mse"):
        fit(examples, model=tiny, out=tmp_path / "prm", objective="bcee")


@pytest.mark.parametrize(("max_length", "limit"), [(30, 30), (4096, 512)])
def test_an_example_that_is_too_long_is_refused_not_cut(tiny, tmp_path, max_length, limit):
    """Longer than asked for, or longer than the model reads."""
    long = example([1.0] * 120, "long")
    with pytest.raises(BadInput, match=rf"'long'.*{limit} are the most"):
        fit([example([1.0]), long], model=tiny, out=tmp_path / "prm", config=FitConfig(max_length=max_length))


def test_a_loss_that_is_no_number_stops_the_training(examples, tiny, tmp_path):
    with pytest.raises(PrmkitError, match=r"loss is (nan|inf)"):
        fit(examples, model=tiny, out=tmp_path / "prm", config=replace(SHORT, learning_rate=1e30))


# --- interruptions ------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def stopping_at(last):
    def progress(step, steps, loss):
        if step == last:
            raise Stopped

    return progress


@pytest.fixture(scope="module")
def undisturbed(examples, tiny, tmp_path_factory):
    return fit(examples, model=tiny, out=tmp_path_factory.mktemp("whole") / "prm", config=SHORT)


@pytest.mark.parametrize("last", [2, 14, 23])  # before any checkpoint, after two, in the last epoch
def test_a_run_that_was_cut_off_goes_on_to_the_same_weights(examples, tiny, tmp_path, undisturbed, last):
    out, seen = tmp_path / "prm", []
    with pytest.raises(Stopped):
        fit(examples, model=tiny, out=out, config=SHORT, progress=stopping_at(last))
    with pytest.raises(BadInput):
        open_scorer(out)
    fit(examples, model=tiny, out=out, config=SHORT, progress=lambda step, *_: seen.append(step))
    assert seen[0] == last - last % 6 + 1  # a checkpoint an epoch, an epoch of six steps
    assert same(out, undisturbed)


def test_a_half_written_checkpoint_is_passed_over(examples, tiny, tmp_path, undisturbed):
    out = tmp_path / "prm"
    with pytest.raises(Stopped):
        fit(examples, model=tiny, out=out, config=SHORT, progress=stopping_at(14))
    (whole,) = (out / "unfinished").glob("checkpoint-*")
    for step, state in ((13, None), (14, '{"global_')):
        half = shutil.copytree(whole, whole.with_name(f"checkpoint-{step}"))
        (half / "trainer_state.json").unlink()
        if state:
            (half / "trainer_state.json").write_text(state)
    fit(examples, model=tiny, out=out, config=SHORT)
    assert same(out, undisturbed)


KILLED = """
import os, signal, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_fit import SHORT, example
from prmkit.train.fit import fit

def progress(step, steps, loss):
    if step == 14:
        os.kill(os.getpid(), signal.SIGKILL)

labels = {labels!r}
fit([example(row, f"e{{i}}") for i, row in enumerate(labels)], model={model!r}, out=Path({out!r}), config=SHORT,
    progress=progress)
"""


def test_a_run_that_was_killed_goes_on_to_the_same_weights(examples, tiny, tmp_path, undisturbed):
    out = tmp_path / "prm"
    script = KILLED.format(
        tests=str(Path(__file__).parent), labels=[e.labels for e in examples], model=str(tiny), out=str(out)
    )
    killed = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    fit(examples, model=str(tiny), out=out, config=SHORT)
    assert same(out, undisturbed)


def test_a_finished_training_is_not_repeated(examples, tiny, tmp_path):
    out, asked = tmp_path / "prm", {"model": tiny, "out": tmp_path / "prm", "config": SHORT}
    fit(examples, **asked)
    before = (out / "model.safetensors").stat().st_mtime_ns
    seen = []
    assert fit(examples, **asked, progress=lambda *args: seen.append(args)) == out
    assert (seen, (out / "model.safetensors").stat().st_mtime_ns) == ([], before)


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"objective": "mse"}, "objective"),
        ({"config": replace(SHORT, seed=1)}, "seed"),
        ({"examples": [example([1.0, 0.0]), example([1.0])]}, "data"),
    ],
    ids=["objective", "seed", "data"],
)
def test_another_request_in_the_same_folder_is_refused(examples, tiny, tmp_path, finished, changed, named):
    two = examples[:2]
    asked = {"examples": two, "model": tiny, "out": tmp_path / "prm", "config": SHORT}
    if finished:
        fit(**asked)
    else:
        with pytest.raises(Stopped):
            fit(**asked, progress=stopping_at(1))
    with pytest.raises(BadInput, match=rf"asked for something else \({named}\)"):
        fit(**(asked | changed))


def test_a_prm_that_was_not_made_here_is_not_written_over(examples, tiny, tiny_prm, tmp_path):
    theirs = shutil.copytree(tiny_prm, tmp_path / "prm")
    with pytest.raises(BadInput, match="holds another PRM"):
        fit(examples, model=tiny, out=theirs)
    assert same(theirs, tiny_prm)


def test_the_request_is_kept_beside_the_weights(trained):
    asked = json.loads((trained[0] / "fit.json").read_text())
    assert (asked["objective"], asked["epochs"], asked["batch"]) == ("bce", 12, 4)


def test_sampled_tokens_and_encoded_text_are_trained_on_alike(examples, tiny, tmp_path):
    coder = Coder(AutoTokenizer.from_pretrained(tiny))

    def sampled(e):
        steps = (
            replace(s, tokens=tuple(coder.encode(s.text)), tokenizer=coder.name) for s in e.trajectory.steps
        )
        return replace(e, trajectory=replace(e.trajectory, steps=tuple(steps)))

    short = replace(SHORT, epochs=1)
    one = fit(examples, model=tiny, out=tmp_path / "a", config=short)
    assert same(one, fit([sampled(e) for e in examples], model=tiny, out=tmp_path / "b", config=short))
