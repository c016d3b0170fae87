import asyncio
import json
import shutil

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoModelForTokenClassification, AutoTokenizer

from prmkit.effects import metered
from prmkit.errors import BadInput
from prmkit.scorers.head import HeadScorer, Profile, batches, open, padded, read_profile
from prmkit.types import Problem, Step, Trajectory


@pytest.fixture(scope="module")
def prm(tiny_prm):
    return open(tiny_prm, device="cpu")


@pytest.fixture
def copy(tiny_prm, tmp_path):
    return shutil.copytree(tiny_prm, tmp_path / "prm")


def plain_scores(folder, trajectory, marker=""):
    """The same in the plainest way: one sequence, one forward, a softmax at the end of each step."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForTokenClassification.from_pretrained(folder, dtype=torch.float32).eval()
    ids = tokenizer.encode(trajectory.problem.prompt + "\n", add_special_tokens=False)
    ends = []
    for step in trajectory.steps:
        ids = ids + tokenizer.encode(step.text, add_special_tokens=False)
        if step.by == "policy":
            ids = ids + tokenizer.encode(marker, add_special_tokens=False)
            ends.append(len(ids) - 1)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([ids])).logits[0]
    return [torch.softmax(logits[end], -1)[1].item() for end in ends]


# --- the numbers --------------------------------------------------------------------------------------


def test_scores_are_the_softmax_at_the_ends_of_steps(run, prm, tiny_prm, homework):
    for trajectory, scores in zip(homework, run(prm(homework)), strict=True):
        assert scores.values == pytest.approx(plain_scores(tiny_prm, trajectory), abs=1e-5)


def test_the_scores_of_a_batch_are_those_of_its_members(run, prm, homework):
    together = run(prm(homework))
    assert len({len(t.text) for t in homework}) > 3
    for t, scores in zip(homework, together, strict=True):
        assert run(prm([t]))[0].values == pytest.approx(scores.values, abs=1e-5)


@pytest.mark.parametrize("tokens_at_once", [1, 300, 10**6])
def test_how_many_tokens_go_at_once_changes_nothing(run, prm, homework, tokens_at_once):
    narrow = HeadScorer(prm.model, prm.coder.tokenizer, prm.profile, tokens_at_once)
    for one, other in zip(run(narrow(homework)), run(prm(homework)), strict=True):
        assert one.values == pytest.approx(other.values, abs=1e-5)


def test_the_scores_of_a_prefix_are_the_first_scores_of_the_whole(run, prm, homework):
    whole = run(prm(homework[:1]))[0].values
    prefixes = run(prm(homework[0].prefixes()))
    for count, scores in enumerate(prefixes, 1):
        assert scores.values == pytest.approx(whole[:count], abs=1e-5)


def test_an_untrained_head_still_tells_steps_apart(run, prm, homework):
    values = [v for scores in run(prm(homework)) for v in scores.values]
    assert max(values) - min(values) > 0.1  # else the tests above would compare constants


def test_a_marker_is_read_in_place_of_the_steps_last_token(run, copy, homework):
    (copy / "prm.json").write_text(json.dumps({"kind": "value", "marker": " ?"}))
    marked = open(copy, device="cpu")
    for t, scores in zip(homework[:3], run(marked(homework[:3])), strict=True):
        assert scores.kind == "value"
        assert scores.values == pytest.approx(plain_scores(copy, t, marker=" ?"), abs=1e-5)


def test_tool_output_is_read_and_not_scored(run, prm, tiny_prm, homework):
    said = homework[0].actions
    t = Trajectory(homework[0].problem, (said[0], Step("the tool says 7\n", by="world"), *said[1:]))
    (scores,) = run(prm([t]))
    assert scores.values == pytest.approx(plain_scores(tiny_prm, t), abs=1e-5)
    assert scores.values[1:] != pytest.approx(run(prm(homework[:1]))[0].values[1:], abs=1e-5)


@given(
    st.lists(st.lists(st.sampled_from(["1+1=2\n", "So.\n", " ", "The answer is 2."]), max_size=4), max_size=4)
)
def test_there_is_a_score_for_every_step_and_no_more(prm, texts):
    solutions = [Trajectory(Problem("What is 1+1?"), tuple(map(Step, steps))) for steps in texts]
    scored = asyncio.run(prm(solutions))
    assert [len(s.values) for s in scored] == [len(steps) for steps in texts]
    assert all(s.kind == "correctness" and all(0 <= v <= 1 for v in s.values) for s in scored)


def test_scores_say_who_gave_them_and_what_they_cost(run, prm, homework):
    scorer, meter = metered(prm)
    (scores,) = run(scorer(homework[:1]))
    text = homework[0].problem.prompt + "\n"
    pieces = [text, *(s.text for s in homework[0].steps)]
    assert meter.prompt_tokens == sum(len(prm.coder.encode(piece)) for piece in pieces)
    assert meter.generated_tokens == 0
    assert scores.source.startswith("tiny-prm")


# --- what cannot be read ------------------------------------------------------------------------------


def test_a_solution_longer_than_the_model_reads_is_an_error_that_names_the_problem(run, prm, homework):
    endless = Trajectory(Problem("?", id="endless"), (Step("1+1=2\n" * 400),))
    with pytest.raises(BadInput, match=r"'endless'.*512 at most"):
        run(prm([homework[0], endless]))


def test_a_folder_that_is_not_there_says_so(tmp_path):
    with pytest.raises(BadInput, match="no such folder"):
        open(tmp_path / "nowhere")


def test_a_model_without_a_profile_says_what_is_missing(copy):
    (copy / "prm.json").unlink()
    with pytest.raises(BadInput, match=r"no prm\.json"):
        open(copy)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("{", "prm.json"),
        ("[1, 2]", "prm.json"),
        ('{"kind": "goodness"}', "'kind' is 'goodness', not one of value, correctness, reward"),
        ('{"kind": ["value"]}', "'kind'"),
        ('{"marker": 3}', "'marker' is 3, not a text"),
        ('{"sort": "value"}', "sort"),
        (b"\xff\xfe{", "prm.json"),
    ],
)
def test_an_odd_profile_says_what_is_odd(copy, written, message):
    (copy / "prm.json").write_bytes(written if isinstance(written, bytes) else written.encode())
    with pytest.raises(BadInput, match=message):
        open(copy)


def test_a_profile_comes_back_as_it_was_saved(tmp_path):
    profile = Profile("reward", " ки", "rank")
    profile.save(tmp_path)
    assert read_profile(tmp_path) == profile


# --- batches ------------------------------------------------------------------------------------------


def test_three_rows_are_padded_on_the_right():
    out = padded([[5, 6, 7], [8], [9, 9]], padding=0)
    assert out["input_ids"].tolist() == [[5, 6, 7], [8, 0, 0], [9, 9, 0]]
    assert out["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0], [1, 1, 0]]


def test_like_lengths_go_together_within_the_limit():
    assert list(batches([5, 1, 2, 9, 2], 6)) == [[1, 2, 4], [0], [3]]  # 9 alone is over, and goes alone


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 200))
def test_every_row_is_in_one_batch_and_no_batch_of_many_is_too_large(lengths, limit):
    made = list(batches(lengths, limit))
    assert sorted(i for batch in made for i in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or len(b) * max(lengths[i] for i in b) <= limit for b in made)
