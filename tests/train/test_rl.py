import json
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from prmkit.data.runs import Run
from prmkit.errors import BadInput, PrmkitError
from prmkit.maths import credit, curate
from prmkit.policies import open_policy
from prmkit.train.learner import Batch, Learner, lay_credit
from prmkit.train.rl import RLConfig, train_policy
from prmkit.types import Group, Problem, Scores, Step, Trajectory

PROBLEMS = [Problem(f"{n}{n}", answer="9", id=str(n)) for n in range(5)]
SHORT = RLConfig(
    updates=3, problems=2, samples=4, learning_rate=1e-2, max_tokens=6, watch_every=2, save_every=1
)


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A Llama that knows ten digits and the end of a line, and has learnt nothing yet."""
    folder = tmp_path_factory.mktemp("digits")
    core = Tokenizer(models.WordLevel({t: i for i, t in enumerate(["<pad>", "<end>", *"0123456789", "\n"])}))
    core.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    core.decoder = decoders.Fuse()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="<pad>", eos_token="<end>")
    tokenizer.save_pretrained(folder)
    torch.manual_seed(0)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        pad_token_id=0,
        bos_token_id=None,
        eos_token_id=1,
        initializer_range=0.2,
        **shape,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


async def starts_with_nine(trajectories):
    return [float(t.text.startswith("9")) for t in trajectories]


async def all_alike(trajectories):
    return [1.0 for _ in trajectories]


async def nines(trajectories):
    return [
        Scores(tuple(s.text.count("9") / max(1, len(s.text)) for s in t.actions), "correctness")
        for t in trajectories
    ]


def weights(folder):
    return load_file(Path(folder) / "model.safetensors")


def same(one, other):
    a, b = weights(one), weights(other)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def metrics(out, name):
    return [row[name] for row in Run.open(out).metrics() if name in row]


def teach(digits, out, config=SHORT, **changed):
    asked = {
        "policy": digits,
        "check": starts_with_nine,
        "credit": credit.outcome,
        "out": out,
        "config": config,
    }
    return train_policy(PROBLEMS, **(asked | changed))


# --- what is learnt -----------------------------------------------------------------------------------


def test_what_is_rewarded_becomes_frequent(digits, tmp_path, run):
    config = RLConfig(updates=20, problems=5, samples=16, learning_rate=2e-2, max_tokens=3)
    run(teach(digits, tmp_path / "run", config))
    rewards = metrics(tmp_path / "run", "reward")
    assert rewards[0] < 0.3
    assert sum(rewards[-3:]) / 3 > 0.7


def test_praised_steps_become_likelier_and_blamed_steps_rarer(digits):
    policy = open_policy(str(digits))
    learner = Learner(policy.model, replace(SHORT, learning_rate=1e-3), 1.0)
    solution = Trajectory(Problem("0"), (Step("12\n"), Step("33\n", by="world"), Step("45\n")), "length")
    batch = Batch.of([lay_credit(solution, [1.0, -1.0], policy.coder)], padding=0, device=policy.model.device)

    def likelihood_of_steps():
        logprobs = learner._logprobs(policy.model, batch).detach()[0]
        return float(logprobs[:3].sum()), float(logprobs[-3:].sum())

    praised, blamed = likelihood_of_steps()
    learner.learn(batch, seed=0)
    praised_now, blamed_now = likelihood_of_steps()
    assert praised_now > praised
    assert blamed_now < blamed


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_how_many_rows_go_through_at_once_changes_nothing(digits, rows):
    solutions = [Trajectory(Problem("0"), (Step("12\n"), Step("3" * n)), "done") for n in (1, 4, 9)]

    def taught(rows):
        policy = open_policy(str(digits))
        laid = [lay_credit(t, [1.0, 0.2 * i - 1], policy.coder) for i, t in enumerate(solutions)]
        batch = Batch.of(laid, padding=0, device=policy.model.device)
        return Learner(policy.model, replace(SHORT, rows=rows, kl=0.1), 1.0).learn(batch, seed=0)

    assert taught(rows) == pytest.approx(taught(32), abs=1e-5)  # the norm of the gradient among them


def test_step_scores_reach_the_credit_rule(digits, tmp_path, run):
    config = RLConfig(updates=15, problems=5, samples=16, learning_rate=2e-2, max_tokens=4)
    run(teach(digits, tmp_path / "run", config, check=all_alike, scorer=nines, credit=credit.min_form()))
    scores = metrics(tmp_path / "run", "score")
    assert scores[-1] > scores[0] + 0.4
    assert set(metrics(tmp_path / "run", "reward")) == {1.0}


def test_groups_that_are_all_alike_teach_nothing_and_are_counted(digits, tmp_path, run):
    trained = run(teach(digits, tmp_path / "run", check=all_alike))
    assert metrics(tmp_path / "run", "taught") == [0.0, 0.0, 0.0]
    assert metrics(tmp_path / "run", "loss") == []
    assert same(trained, digits)


def test_curation_decides_what_is_learnt_from(digits, tmp_path, run):
    trained = run(teach(digits, tmp_path / "run", curate=lambda group: Group((), ())))
    assert same(trained, digits)
    kept = curate.keep_where(lambda trajectory, outcome, score: bool(trajectory.actions))
    with pytest.raises(BadInput, match="no scorer"):
        run(teach(digits, tmp_path / "other", curate=kept))


def test_a_penalty_keeps_the_policy_near_its_start(digits, tmp_path, run):
    free = replace(SHORT, updates=8, samples=16, learning_rate=2e-2)
    run(teach(digits, tmp_path / "free", free))
    run(teach(digits, tmp_path / "held", replace(free, kl=5.0)))
    assert metrics(tmp_path / "free", "kl") == []
    distance = metrics(tmp_path / "held", "kl")
    assert distance[0] == pytest.approx(0.0, abs=1e-6)
    assert max(distance) > 1e-4
    start, free_end, held_end = (
        weights(digits),
        weights(tmp_path / "free/policy"),
        weights(tmp_path / "held/policy"),
    )
    assert sum(float((start[n] - held_end[n]).norm()) for n in start) < sum(
        float((start[n] - free_end[n]).norm()) for n in start
    )


def test_numbers_that_are_not_finite_stop_the_training(digits, tmp_path, run):
    def absurd(group):
        return [[float("nan")] * len(t.actions) for t in group.trajectories]

    with pytest.raises(PrmkitError, match="not finite"):
        run(teach(digits, tmp_path / "run", credit=absurd))


# --- where the credit lies ------------------------------------------------------------------------------


def test_credit_lies_on_policy_tokens_and_on_the_end_only(digits):
    coder = open_policy(str(digits)).coder
    steps = (Step("12\n"), Step("345\n", by="world"), Step("6"))
    row = lay_credit(Trajectory(Problem("00"), steps, "done"), [0.5, -1.0], coder)
    assert coder.tokenizer.convert_ids_to_tokens(row.ids) == [*"00\n12\n345\n6", "<end>"]
    assert row.advantages == (0, 0, 0, 0.5, 0.5, 0.5, 0, 0, 0, 0, -1.0, -1.0)
    assert row.trained == tuple(a != 0 for a in row.advantages)


def test_a_solution_cut_at_the_limit_has_no_end_to_train(digits):
    coder = open_policy(str(digits)).coder
    row = lay_credit(Trajectory(Problem("0"), (Step("12", partial=True),), "length"), [0.5], coder)
    assert coder.tokenizer.convert_ids_to_tokens(row.ids) == [*"0\n12"]


def test_the_learner_sees_the_log_probabilities_that_were_sampled(digits, run):
    """Left-padded sampling with a cache and right-padded training without one agree token by token."""
    policy = open_policy(str(digits), temperature=0.7, max_tokens=8)
    rows = run(
        policy([Trajectory(p) for p in PROBLEMS] + [Trajectory(Problem("0123456789"))], 3, until="end")
    )
    trajectories = sorted((t for row in rows for t in row if t.actions), key=lambda t: len(t.text))
    laid = [lay_credit(t, [1.0] * len(t.actions), policy.coder) for t in trajectories]
    laid.sort(key=lambda row: len(row.ids))
    learner = Learner(policy.model, SHORT, 0.7)
    found = []
    for part in Batch.of(laid, padding=0, device=policy.model.device).split(4):
        logprobs, mask = learner._logprobs(policy.model, part).detach(), part.ahead(part.mask)
        found += [row[own].tolist() for row, own in zip(logprobs, mask, strict=True)]
    by_ids = {row.ids: logprobs for row, logprobs in zip(laid, found, strict=True)}
    for trajectory in trajectories:
        row = lay_credit(trajectory, [1.0] * len(trajectory.actions), policy.coder)
        sampled = [x for step in trajectory.actions for x in step.logprobs]
        assert by_ids[row.ids][: len(sampled)] == pytest.approx(sampled, abs=1e-5)


# --- the run --------------------------------------------------------------------------------------------


def test_the_result_is_a_folder_that_opens_and_the_numbers_tell_the_story(digits, tmp_path, run):
    async def watch(update, policy):
        rows = await policy([Trajectory(p) for p in PROBLEMS], 1, until="end")
        return {"steps": sum(len(row[0].actions) for row in rows) / len(rows)}

    trained = run(teach(digits, tmp_path / "run", scorer=nines, watch=watch))
    assert trained == tmp_path / "run" / "policy"
    assert len(run(open_policy(str(trained))([Trajectory(PROBLEMS[0])], 2))[0]) == 2
    rows = list(Run.open(tmp_path / "run").metrics())
    assert [row["update"] for row in rows if "watch.steps" in row] == [0, 2, 3]
    assert [row["update"] for row in rows if "reward" in row] == [1, 2, 3]
    names = {
        "reward",
        "solved",
        "score",
        "steps",
        "tokens_per_step",
        "cut",
        "taught",
        "entropy",
        "clipped",
        "loss",
    }
    assert names <= rows[1].keys()
    about = Run.open(tmp_path / "run").about
    assert about.finished
    assert about.cost["items"] == 3 * 2 * 4
    assert not list((tmp_path / "run").glob("checkpoint*"))


def test_watching_does_not_change_the_run(digits, tmp_path, run):
    async def watch(update, policy):
        await policy([Trajectory(p) for p in PROBLEMS], 3, until="end")
        return {"seen": 1.0}

    assert same(run(teach(digits, tmp_path / "a", watch=watch)), run(teach(digits, tmp_path / "b")))


def test_another_seed_is_another_run(digits, tmp_path, run):
    other = run(teach(digits, tmp_path / "b", replace(SHORT, seed=1)))
    assert not same(run(teach(digits, tmp_path / "a")), other)


KILLED = """
import asyncio, json, os, signal, sys
from pathlib import Path
from prmkit.maths import credit
from prmkit.train.rl import RLConfig, train_policy
from prmkit.types import Problem

calls = 0

async def starts_with_nine(trajectories):
    global calls
    calls += 1
    if calls == 6:
        os.kill(os.getpid(), signal.SIGKILL)
    return [float(t.text.startswith("9")) for t in trajectories]

problems, config, policy, out = json.loads(sys.argv[1])
asyncio.run(train_policy([Problem(**p) for p in problems], policy=policy, check=starts_with_nine,
                         credit=credit.outcome, out=Path(out), config=RLConfig(**config)))
"""


def test_a_killed_run_goes_on_to_the_same_weights_and_the_same_numbers(digits, tmp_path, run):
    config = replace(SHORT, updates=7, samples=8, epochs=2, minibatch=4, kl=0.1, save_every=2)
    job = json.dumps([[asdict(p) for p in PROBLEMS], asdict(config), str(digits), str(tmp_path / "killed")])
    dead = subprocess.run([sys.executable, "-c", KILLED, job], capture_output=True, check=False, text=True)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    assert [f.name for f in (tmp_path / "killed").glob("checkpoint-*")] == ["checkpoint-4"]
    assert metrics(tmp_path / "killed", "update") == [1, 2, 3, 4, 5]  # the fifth will be done again

    whole = run(teach(digits, tmp_path / "whole", config))
    assert same(run(teach(digits, tmp_path / "killed", config, policy=str(digits))), whole)
    assert list(Run.open(tmp_path / "killed").metrics()) == list(Run.open(tmp_path / "whole").metrics())


def test_a_checkpoint_that_was_being_written_does_not_count(digits, tmp_path, run):
    config = replace(SHORT, watch_every=3)
    whole = run(teach(digits, tmp_path / "whole", config))

    async def once(update, policy):
        if update == 3 and not (tmp_path / "broken").exists():
            (tmp_path / "broken").touch()
            raise RuntimeError("out of power")
        return {"x": 1.0}

    with pytest.raises(RuntimeError, match="out of power"):
        run(teach(digits, tmp_path / "run", config, watch=once))
    half = tmp_path / "run" / "checkpoint-3.tmp"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    assert same(run(teach(digits, tmp_path / "run", config, watch=once)), whole)
    assert not half.exists()


def test_a_finished_run_is_not_repeated_and_another_one_is_refused(digits, tmp_path, run):
    first = run(teach(digits, tmp_path / "run"))

    async def never(trajectories):
        raise AssertionError("sampled again")

    never.__qualname__ = starts_with_nine.__qualname__
    assert run(teach(digits, tmp_path / "run", check=never)) == first
    with pytest.raises(BadInput, match=r"asked for something else: config\.seed"):
        run(teach(digits, tmp_path / "run", replace(SHORT, seed=5)))


def test_training_samples_from_the_whole_distribution(digits, tmp_path, run):
    greedy = shutil.copytree(digits, tmp_path / "greedy")
    said = {"do_sample": True, "top_k": 1, "eos_token_id": 1, "pad_token_id": 0}
    (greedy / "generation_config.json").write_text(json.dumps(said))
    run(teach(greedy, tmp_path / "run", replace(SHORT, samples=32)))
    assert (
        max(metrics(tmp_path / "run", "taught")) > 0
    )  # the likeliest token alone would leave no differences


# --- what cannot work is said at once ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"config": replace(SHORT, samples=1)}, "1 samples a problem and no scorer: leave-one-out needs"),
        ({"credit": credit.min_form()}, "no scorer: this rule needs step scores"),
        ({"credit": credit.add(credit.sum_form, credit.outcome)}, "no scorer"),
        ({"config": replace(SHORT, temperature=0.0)}, "temperature 0"),
        ({"config": replace(SHORT, epochs=0)}, "epochs must be at least 1"),
    ],
)
def test_what_cannot_work_is_refused_before_sampling(digits, tmp_path, run, changed, why):
    with pytest.raises(BadInput, match=why):
        run(teach(digits, tmp_path / "run", **changed))
    assert not (tmp_path / "run").exists()


def test_without_problems_there_is_nothing_to_train_on(digits, tmp_path, run):
    with pytest.raises(BadInput, match="no problems"):
        run(
            train_policy(
                [], policy=digits, check=starts_with_nine, credit=credit.outcome, out=tmp_path / "run"
            )
        )


def test_a_rule_for_one_kind_of_score_passes_the_rehearsal(digits, tmp_path, run):
    async def values(trajectories):
        return [replace(s, kind="value") for s in await nines(trajectories)]

    run(
        teach(digits, tmp_path / "run", replace(SHORT, updates=1), scorer=values, credit=credit.by_progress())
    )
