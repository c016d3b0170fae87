import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from prmkit.policies import policy_folder
from prmkit.text.coder import Coder
from prmkit.text.layout import lay_out
from prmkit.types import Problem, Step, Trajectory


@pytest.fixture(scope="module")
def chatty():
    """With a chat template; its tokenizer knows every byte."""
    return Coder(AutoTokenizer.from_pretrained(policy_folder("builtin:arith")))


@pytest.fixture
def plain(tiny):
    return Coder(AutoTokenizer.from_pretrained(tiny))


ENCODABLE = st.text(st.characters(exclude_categories=["Cs"]), max_size=40).filter(
    lambda text: "<|" not in text
)


@given(text=ENCODABLE)
def test_what_is_encoded_is_decoded_to_the_letter(chatty, text):
    assert chatty.decode(chatty.encode(text)) == text


@given(text=ENCODABLE, more=ENCODABLE)
def test_pieces_encoded_one_by_one_spell_the_whole(chatty, text, more):
    assert chatty.decode(chatty.encode(text) + chatty.encode(more)) == text + more


def test_nothing_is_added_around_a_piece_and_special_tokens_are_not_spelt(chatty):
    assert chatty.encode("") == []
    assert chatty.decode([*chatty.encode("12"), chatty.end, chatty.padding]) == "12"


def test_a_tokenizer_is_known_by_its_vocabulary_not_by_its_folder(chatty, plain, tiny, tmp_path):
    plain.tokenizer.save_pretrained(tmp_path)
    assert Coder(AutoTokenizer.from_pretrained(tmp_path)).name == plain.name
    assert chatty.name != plain.name
    grown = AutoTokenizer.from_pretrained(tiny)
    grown.add_tokens(["[PRM]"])
    assert Coder(grown).name != plain.name


def test_a_problem_is_a_users_turn_where_there_is_a_template(chatty):
    text = chatty.render(Problem("How many?"))
    assert text == "<|user|>How many?<|assistant|>"
    user, *_, assistant = chatty.encode(text)
    assert [user, assistant] == chatty.tokenizer.convert_tokens_to_ids(["<|user|>", "<|assistant|>"])


def test_without_a_template_a_problem_stands_as_it_is_on_a_line_of_its_own(plain):
    assert plain.render(Problem("How many?")) == "How many?\n"
    plain.tokenizer.bos_token = "<pad>"
    assert plain.render(Problem("How many?")) == "<pad>How many?\n"


def test_the_end_is_the_tokenizers_own_and_padding_falls_back_on_it(plain):
    assert (plain.padding, plain.end) == (0, 1)
    plain.tokenizer.pad_token = None
    assert plain.padding == 1
    plain.tokenizer.eos_token = None
    with pytest.raises(ValueError, match="no end token"):
        _ = plain.end


def test_a_layout_takes_over_only_the_tokens_of_the_same_tokenizer(chatty):
    odd = (chatty.encode("4")[0], chatty.encode("2")[0])
    mine, foreign = Step("42", tokens=odd, tokenizer=chatty.name), Step("7", tokens=(9, 9), tokenizer="other")
    laid = lay_out(Trajectory(Problem("?"), (mine, foreign)), chatty)
    assert laid.ids[laid.prompt_length :] == (*odd, *chatty.encode("7"))
