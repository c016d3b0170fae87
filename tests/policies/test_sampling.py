import math

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2Config, GPT2LMHeadModel
from transformers.cache_utils import Cache, DynamicLayer

from prmkit.policies import policy_folder, sampling
from prmkit.policies.sampling import RoomyLayer, Shape, sample

GREEDY = Shape(temperature=0.0)
END, PADDING = 1, 0  # of both models


class Loaded:
    """A model, ragged prompts for it, and how many rows and tokens each of its calls had."""

    def __init__(self, folder, texts):
        tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self.prompts = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        self.calls = []
        self.model.register_forward_hook(
            lambda module, args, kwargs, out: self.calls.append(tuple(kwargs["input_ids"].shape)),
            with_kwargs=True,
        )

    def sample(
        self, prompts=None, n=1, *, shape=GREEDY, max_tokens=24, seed=0, enough=lambda i, tokens: False
    ):
        prompts = self.prompts if prompts is None else prompts
        return sample(
            self.model,
            prompts,
            n,
            end=END,
            padding=PADDING,
            max_tokens=[max_tokens] * len(prompts) if isinstance(max_tokens, int) else max_tokens,
            shape=shape,
            generator=torch.Generator().manual_seed(seed),
            enough=enough,
        )

    def tokens(self, *args, **kwargs):
        return [[s.tokens for s in row] for row in self.sample(*args, **kwargs)]


@pytest.fixture(scope="module", params=["tiny", "builtin:arith"])
def loaded(request, tiny, homework):
    if request.param == "tiny":
        return Loaded(tiny, [t.problem.prompt[: 9 * i + 5] for i, t in enumerate(homework[:5])])
    asked = [f"<|user|>{t.problem.prompt}<|assistant|>" for t in homework[:3]]
    begun = [f"<|user|>{t.problem.prompt}<|assistant|>{t.actions[0].text}" for t in homework[3:5]]
    return Loaded(policy_folder(request.param), [*asked, *begun])


# --- the same as transformers says ---------------------------------------------------------------------


def test_greedy_is_what_generate_gives_token_by_token(loaded):
    longest = max(map(len, loaded.prompts))
    padded = torch.tensor([[PADDING] * (longest - len(p)) + p for p in loaded.prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in loaded.prompts])
    assert len(set(map(len, loaded.prompts))) > 1
    written = loaded.model.generate(
        padded, attention_mask=mask, do_sample=False, max_new_tokens=60, temperature=None
    )[:, longest:].tolist()
    for (drawn,), wanted in zip(loaded.sample(max_tokens=60), written, strict=True):
        ends = wanted.index(END) if END in wanted else len(wanted)
        assert drawn.tokens == wanted[:ends]
        assert drawn.ended == (END in wanted)


@pytest.mark.parametrize("shape", [GREEDY, Shape(), Shape(temperature=0.7)], ids=str)
def test_logprobs_are_those_of_a_plain_forward(loaded, shape):
    for prompt, row in zip(loaded.prompts, loaded.sample(n=2, shape=shape), strict=True):
        for drawn in row:
            with torch.inference_mode():
                logits = loaded.model(input_ids=torch.tensor([[*prompt, *drawn.tokens]])).logits[0]
            plain = (logits / (shape.temperature or 1.0)).log_softmax(-1)[len(prompt) - 1 : -1]
            assert drawn.logprobs == pytest.approx(
                plain[range(len(drawn.tokens)), drawn.tokens].tolist(), abs=1e-4
            )


# --- nothing depends on the neighbours ------------------------------------------------------------------


def test_one_by_one_is_all_at_once(loaded):
    together = loaded.tokens()
    assert together == [loaded.tokens([prompt])[0] for prompt in loaded.prompts]
    assert together == loaded.tokens(loaded.prompts[::-1])[::-1]


def test_greedy_samples_of_one_prompt_are_all_alike(loaded):
    assert loaded.tokens(n=3) == [row * 3 for row in loaded.tokens()]


def lengths_differ(i, tokens):
    return len(tokens) >= 3 + 4 * i


@pytest.mark.parametrize(("shrink_at", "shrinks"), [(0.0, False), (0.75, True), (1.0, True)])
def test_finished_rows_leave_the_batch_and_nothing_changes(loaded, monkeypatch, shrink_at, shrinks):
    alone = [
        loaded.tokens([prompt], enough=lambda _, tokens, i=i: lengths_differ(i, tokens))[0]
        for i, prompt in enumerate(loaded.prompts)
    ]
    monkeypatch.setattr(sampling, "SHRINK_AT", shrink_at)
    loaded.calls.clear()
    assert loaded.tokens(enough=lengths_differ) == alone
    rows = [rows for rows, _ in loaded.calls]
    assert rows[0] == len(loaded.prompts)
    assert (rows[-1] < rows[0]) == shrinks


def test_a_prompt_is_read_once_however_many_samples_it_gets(loaded):
    loaded.calls.clear()
    loaded.sample(n=4, shape=Shape(), max_tokens=3)
    assert loaded.calls[0] == (len(loaded.prompts), max(map(len, loaded.prompts)))
    assert loaded.calls[1] == (4 * len(loaded.prompts), 1)


def test_nothing_is_computed_after_the_last_token(loaded):
    loaded.calls.clear()
    loaded.sample(max_tokens=1)
    assert len(loaded.calls) == 1


def test_each_prompt_has_a_limit_of_its_own(loaded):
    limits = [1, 2, 3, 4, 5]
    rows = loaded.sample(n=2, shape=Shape(), max_tokens=limits, seed=3)
    for limit, row in zip(limits, rows, strict=True):
        assert all(len(s.tokens) == limit or s.ended for s in row)
    with pytest.raises(ValueError, match="at least one token"):
        loaded.sample(max_tokens=0)


def test_rows_that_end_near_the_edge_of_the_context_do_not_push_the_others_over_it():
    """GPT-2 looks positions up in a table: one past the end would be an error, not a worse guess."""
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=20, n_positions=24, n_embd=16, n_layer=1, n_head=2, eos_token_id=END)
    model = GPT2LMHeadModel(config).eval()
    prompts = [[5] * 23, *([[7] * 4] * 5)]
    rows = sample(
        model,
        prompts,
        1,
        end=END,
        padding=PADDING,
        max_tokens=[24 - len(p) for p in prompts],
        shape=GREEDY,
        generator=torch.Generator(),
        enough=lambda i, tokens: False,
    )
    assert [len(row[0].tokens) for row in rows] == [1, 20, 20, 20, 20, 20]


# --- the cache ------------------------------------------------------------------------------------------


def test_a_roomy_cache_holds_what_a_plain_one_holds(monkeypatch):
    monkeypatch.setattr(RoomyLayer, "ROOM", 2)  # so that a few tokens fill it
    torch.manual_seed(0)
    plain, roomy = (Cache(layer_class_to_replicate=layer) for layer in (DynamicLayer, RoomyLayer))

    def add(rows, tokens):
        for layer in range(2):
            keys, values = torch.randn(2, rows, 3, tokens, 4)
            for one, other in zip(
                plain.update(keys, values, layer), roomy.update(keys, values, layer), strict=True
            ):
                assert torch.equal(one, other)
        assert plain.get_seq_length() == roomy.get_seq_length()

    add(2, 5)
    for cache in (plain, roomy):
        cache.batch_repeat_interleave(2)
    for _ in range(4):
        add(4, 1)
    for cache in (plain, roomy):
        cache.batch_select_indices(torch.tensor([0, 3]))
    for _ in range(4):
        add(2, 1)


def test_a_new_token_is_written_in_place():
    layer = RoomyLayer()
    first, _ = layer.update(torch.ones(1, 1, 3, 2), torch.ones(1, 1, 3, 2))
    second, _ = layer.update(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))
    assert first.data_ptr() == second.data_ptr()
    assert second.shape[-2] == 4


# --- the shape of the distribution ----------------------------------------------------------------------

HALF_THREE_TWO = torch.tensor([[0.3, 0.5, 0.2]]).log()


@pytest.mark.parametrize(
    ("shape", "chances"),
    [
        (Shape(), (0.3, 0.5, 0.2)),
        (Shape(temperature=0.5), (9 / 38, 25 / 38, 4 / 38)),  # squared and made to sum to 1
        (Shape(temperature=0.0), (0.3, 0.5, 0.2)),  # as they are; the choice is the likeliest
        (Shape(top_k=1), (0, 1, 0)),
        (Shape(top_k=2), (3 / 8, 5 / 8, 0)),
        (Shape(top_k=9), (0.3, 0.5, 0.2)),
        (Shape(top_p=0.4), (0, 1, 0)),
        (Shape(top_p=0.6), (3 / 8, 5 / 8, 0)),  # the one that crosses 0.6 stays
        (Shape(top_p=0.9), (0.3, 0.5, 0.2)),
        (Shape(top_k=2, top_p=0.6), (0, 1, 0)),  # of the two that are left, one has 5/8 already
    ],
    ids=str,
)
def test_a_shape_keeps_what_it_should(shape, chances):
    assert shape.logprobs(HALF_THREE_TWO).exp()[0].tolist() == pytest.approx(chances, abs=1e-6)


class Fixed:
    """A model that gives the same three chances whatever it reads."""

    device = torch.device("cpu")

    def __init__(self, logits):
        self.logits = logits

    def __call__(self, *, input_ids, past_key_values, **_):
        keys = torch.zeros(len(input_ids), 1, input_ids.shape[1], 1)
        past_key_values.update(keys, keys, 0)
        return type("Out", (), {"logits": self.logits.expand(len(input_ids), 1, -1)})


def drawn(logits, shape, n, seed=0):
    generator = torch.Generator().manual_seed(seed)
    options = {"end": 99, "padding": 0, "max_tokens": [1], "shape": shape, "generator": generator}
    (row,) = sample(Fixed(logits), [[0]], n, enough=lambda i, tokens: False, **options)
    return [s.tokens[0] for s in row], [s.logprobs[0] for s in row]


def test_tokens_come_as_often_as_their_chances_say():
    tokens, logprobs = drawn(HALF_THREE_TWO, Shape(), 4000)
    shares = [tokens.count(token) / 4000 for token in range(3)]
    assert shares == pytest.approx([0.3, 0.5, 0.2], abs=0.03)
    chances = {token: math.log(p) for token, p in enumerate((0.3, 0.5, 0.2))}
    assert logprobs == pytest.approx([chances[token] for token in tokens], abs=1e-5)


def test_what_a_shape_cuts_off_is_never_drawn_and_logprobs_are_those_after_the_cut():
    tokens, logprobs = drawn(HALF_THREE_TWO, Shape(top_k=2), 1000)
    assert set(tokens) == {0, 1}
    assert {round(p, 4) for p in logprobs} == {round(math.log(3 / 8), 4), round(math.log(5 / 8), 4)}


@pytest.mark.parametrize("luck", [0.0, 1.0])
def test_even_at_the_edges_of_chance_an_impossible_token_is_not_drawn(monkeypatch, luck):
    monkeypatch.setattr(torch, "rand", lambda size, **_: torch.full(size, luck))
    impossible = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]])
    tokens, logprobs = drawn(impossible, Shape(), 1)
    assert tokens == [2 if luck else 1]
    assert logprobs == pytest.approx([math.log(0.5)])


def test_the_same_seed_draws_the_same(loaded):
    first, again, other = (loaded.tokens(n=3, shape=Shape(), seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert any(len({tuple(tokens) for tokens in row}) > 1 for row in first)
