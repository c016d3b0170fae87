from dataclasses import replace

import pytest
import torch
from transformers import AutoTokenizer

from prmkit.effects import metered
from prmkit.errors import BadInput
from prmkit.policies import open_policy
from prmkit.policies.hf import HFPolicy, Sampling
from prmkit.policies.sampling import Shape
from prmkit.testing import check_policy
from prmkit.types import Problem, Step, Trajectory
from prmkit.worlds import arith

STARTS = [Trajectory(p) for p in arith.problems(3, seed=17)]


@pytest.fixture(scope="module")
def builtin():
    return open_policy("builtin:arith", device="cpu", temperature=0)


@pytest.fixture(scope="module")
def untrained(tiny):
    return open_policy(str(tiny), device="cpu", temperature=0, max_tokens=30)


def with_sampling(policy, **changed):
    return HFPolicy(policy.model, policy.coder.tokenizer, replace(policy.sampling, **changed))


def ends(run, policy, starts=STARTS, until="end"):
    return [row[0] for row in run(policy(starts, until=until))]


def played_on(run, policy, starts, until):
    """One call after another until every trajectory is closed."""
    while not all(t.closed for t in starts):
        starts = ends(run, policy, starts, until)
    return starts


# --- steps ------------------------------------------------------------------------------------------------


def test_the_shipped_policy_writes_steps_and_ends_by_itself(run, builtin):
    for t in ends(run, builtin):
        assert t.stop == "done"
        assert all(s.text.count("\n") == 1 and s.text.endswith("\n") for s in t.steps[:-1])
        assert t.steps[-1].text.startswith("The answer is")


def test_a_step_knows_its_tokens_and_whose_they_are(run, builtin):
    for t in ends(run, builtin):
        for step in t.steps:
            assert builtin.coder.decode(step.tokens) == step.text
            assert len(step.logprobs) == len(step.tokens)
            assert all(p <= 0 for p in step.logprobs)
            assert step.tokenizer == builtin.coder.name
            assert not step.partial


def test_one_call_adds_one_step(run, builtin):
    first = ends(run, builtin, until="step")
    assert [len(t.steps) for t in first] == [1] * len(STARTS)
    assert all(t.steps[0].text.endswith("\n") and not t.closed for t in first)


@pytest.mark.parametrize("until", ["step", 1, 3, 7, 100])
def test_piece_by_piece_is_the_same_as_in_one_go(run, builtin, until):
    whole, pieces = ends(run, builtin), played_on(run, builtin, STARTS, until)
    for one, other in zip(whole, pieces, strict=True):
        assert [(s.text, s.tokens, s.partial) for s in one.steps] == [
            (s.text, s.tokens, s.partial) for s in other.steps
        ]
        assert one.stop == other.stop
        for a, b in zip(one.steps, other.steps, strict=True):
            assert a.logprobs == pytest.approx(b.logprobs, abs=1e-4)


def test_a_step_cut_by_a_limit_is_partial_and_the_next_call_goes_on_with_it(run, builtin):
    cut = ends(run, builtin, until=3)
    assert [(len(t.steps), len(t.steps[0].tokens), t.steps[0].partial) for t in cut] == [(1, 3, True)] * len(
        STARTS
    )
    whole = ends(run, builtin, cut, until="step")
    assert [t.steps[0].text for t in whole] == [t.steps[0].text for t in ends(run, builtin, until="step")]
    assert not any(t.steps[0].partial or t.closed for t in whole)


def test_a_limit_never_runs_over_the_end_of_a_step(run, builtin):
    assert [len(t.steps) for t in ends(run, builtin, until=200)] == [1] * len(STARTS)


def test_a_half_written_step_of_another_hand_is_gone_on_with(run, builtin):
    """Its tokens are not known, so they are made from its text, and its log-probabilities stay unknown."""
    story = arith.story(STARTS[0].problem)
    half = STARTS[0].then(Step(story.equation(0)[:-2], partial=True))
    ((t,),) = run(builtin([half]))
    (step,) = t.steps
    assert step.text.startswith(half.text)
    assert step.text.endswith("\n")
    assert builtin.coder.decode(step.tokens) == step.text
    assert step.logprobs == ()
    assert not step.partial


def test_closed_prefixes_come_back_as_they_are(run, builtin):
    closed = [replace(STARTS[0], stop=stop) for stop in ("done", "length", "error")]
    for until in ("step", "end", 3):
        assert run(builtin([*closed, STARTS[1]], 2, until=until))[:3] == [[t, t] for t in closed]


def test_a_completion_that_is_too_long_says_so(run, builtin):
    short = with_sampling(builtin, max_tokens=5)
    for t in ends(run, short):
        assert t.stop == "length"
        assert sum(len(s.tokens) for s in t.steps) == 5
        assert t.steps[-1].partial


# --- a model that writes what it is told ------------------------------------------------------------------


class Parrot:
    """A model that recites: after a prompt of known length come the tokens of a text, then the end."""

    device = torch.device("cpu")

    def __init__(self, text, prompt, coder, limit=1000):
        self.script = [*coder.encode(text), coder.end]
        self.before, self.words = len(coder.encode(prompt)), len(coder.tokenizer)
        config = type("Config", (), {"max_position_embeddings": limit})
        self.config = type("Whole", (), {"get_text_config": staticmethod(lambda: config)})

    def __call__(self, *, input_ids, position_ids, past_key_values, **_):
        keys = torch.zeros(len(input_ids), 1, input_ids.shape[1], 1)
        past_key_values.update(keys, keys, 0)
        told = torch.tensor([self.script[at - self.before + 1] for at in position_ids[:, -1].tolist()])
        logits = torch.nn.functional.one_hot(told, self.words).float() * 50
        return type("Out", (), {"logits": logits[:, None]})


@pytest.fixture
def reciting(builtin):
    start = Trajectory(Problem("?", id="q"))

    def make(text, separator="\n", **options):
        prompt = builtin.coder.render(start.problem)
        model = Parrot(text, prompt, builtin.coder, **options)
        return HFPolicy(model, builtin.coder.tokenizer, Sampling(Shape(0.0), separator)), start

    return make


@pytest.mark.parametrize(
    ("separator", "text", "steps"),
    [
        ("\n", "1+1=2\n2+1=3\n3", ["1+1=2\n", "2+1=3\n", "3"]),
        ("\n", "\n\n1+1=2\n\n2", ["\n\n1+1=2\n", "\n2"]),  # blank lines belong to the step after them
        ("\n\n", "one\ntwo\n\nthree\n\n", ["one\ntwo\n\n", "three\n\n"]),
        ("ки", "one ки two", ["one ки", " two"]),
        ("\n", "", []),
    ],
)
@pytest.mark.parametrize("until", ["end", "step", 1, 2])
def test_steps_end_at_the_separator(run, reciting, separator, text, steps, until):
    policy, start = reciting(text, separator)
    (t,) = played_on(run, policy, [start], until)
    assert [s.text for s in t.steps] == steps
    assert t.stop == "done"


def test_a_step_cut_just_before_its_end_needs_no_more_than_its_end(run, reciting):
    policy, start = reciting("12\n34\n")
    ((cut,),) = run(policy([start], until=2))
    assert (cut.text, cut.steps[0].partial) == ("12", True)
    ((whole,),) = run(policy([cut], until="step"))
    assert [(s.text, s.partial) for s in whole.steps] == [("12\n", False)]


def test_a_character_cut_in_the_middle_comes_whole_with_the_rest(run, reciting):
    policy, start = reciting("aé\n")  # é is two bytes, and here two tokens
    ((cut,),) = run(policy([start], until=2))
    assert (cut.steps[0].text, len(cut.steps[0].tokens)) == ("a", 2)
    (whole,) = played_on(run, policy, [cut], 1)
    assert [s.text for s in whole.steps] == ["aé\n"]


# --- the end of the context -------------------------------------------------------------------------------


def test_no_sample_runs_past_the_context(run, reciting):
    policy, start = reciting("1+1=2\n2+1=3\n" * 30, limit=25)
    prompt = len(policy.coder.encode(policy.coder.render(start.problem)))
    for until in ("end", "step", 4):
        (t,) = played_on(run, policy, [start], until)
        assert t.stop == "length"
        assert prompt + sum(len(s.tokens) for s in t.steps) == 25


def test_the_limit_is_the_models_own(run, untrained):
    assert untrained.limit == 512
    long = Problem("7 " * 250, id="long")
    before = len(untrained.coder.encode(untrained.coder.render(long)))
    (t,) = ends(run, with_sampling(untrained, max_tokens=1000), [Trajectory(long)])
    assert t.stop == "done" or before + sum(len(s.tokens) for s in t.steps) == 512


def test_work_that_fills_the_context_is_closed(run, untrained):
    full = Trajectory(Problem("?", id="p"), (Step("1+1=2\n" * 300),))
    for until in ("end", "step", 1):
        ((t,), (other,)) = run(untrained([full, STARTS[0]], until=until))
        assert t == replace(full, stop="length")
        assert other != STARTS[0]


def test_a_prompt_that_fills_the_context_is_an_error_that_names_the_problem(run, untrained):
    with pytest.raises(BadInput, match=r"'too long'.*512"):
        run(untrained([STARTS[0], Trajectory(Problem("word " * 600, id="too long"))]))


# --- many at once -----------------------------------------------------------------------------------------


def test_how_many_rows_go_side_by_side_changes_nothing(run, builtin):
    mixed = [*STARTS, *ends(run, builtin, until="step"), *ends(run, builtin, until=2)]
    wanted = [row[0].text for row in run(builtin(mixed, until="end"))]
    for rows in (2, 7, 512):
        narrow = with_sampling(builtin, rows=rows)
        assert [[t.text for t in row] for row in run(narrow(mixed, 2, until="end"))] == [
            [w, w] for w in wanted
        ]


def test_samples_of_one_prompt_differ_and_a_seed_repeats_them(run, builtin):
    def samples(seed):
        policy = with_sampling(builtin, shape=Shape(1.0), seed=seed)
        return [t.text for t in run(policy(STARTS[:1], 8, until="end"))[0]]

    assert len(set(samples(0))) > 2
    assert samples(0) == samples(0)
    assert samples(0) != samples(1)


def test_nothing_in_nothing_out(run, builtin):
    assert run(builtin([], 3)) == []


def test_meters_count_each_prompt_once_and_every_token_that_was_drawn(run, builtin):
    policy, meter = metered(with_sampling(builtin, shape=Shape(1.0)))
    rows = run(policy(STARTS[:2], 3, until="end"))
    asked = [len(builtin.coder.encode(builtin.coder.render(t.problem))) for t in STARTS[:2]]
    drawn = [len(s.tokens) for row in rows for t in row for s in t.steps]
    ended = sum(t.stop == "done" for row in rows for t in row)  # the end token is drawn, too
    assert meter.prompt_tokens == sum(asked)
    assert meter.generated_tokens == sum(drawn) + ended
    assert (meter.calls, meter.items) == (1, 6)


def test_going_on_reads_the_work_so_far(run, builtin):
    policy, meter = metered(builtin)
    begun = STARTS[0].then(Step("1+1=2\n"))
    run(policy([begun]))
    text = builtin.coder.render(begun.problem) + begun.text
    assert meter.prompt_tokens == len(builtin.coder.encode(text))


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_an_untrained_model_keeps_the_contract_too(run, tiny, temperature):
    policy = open_policy(str(tiny), device="cpu", temperature=temperature, max_tokens=20)
    run(check_policy(policy, arith.problems(2, seed=1)))


def test_a_tokenizer_without_an_end_is_refused(run, untrained, tiny):
    endless = AutoTokenizer.from_pretrained(tiny)
    endless.eos_token = None
    with pytest.raises(ValueError, match="no end token"):
        run(HFPolicy(untrained.model, endless)(STARTS))
