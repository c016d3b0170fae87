import sys

import pytest

from prmkit.errors import BadInput, BadRecord, MissingExtra, PrmkitError, UnknownName
from prmkit.names import load, pick

# --- looking up -----------------------------------------------------------------------------------------


def test_a_known_name_is_looked_up():
    assert pick("colour", "red", {"red": 1, "blue": 2}) == 1


def test_an_unknown_name_tells_the_known_ones_in_order_and_the_nearest():
    with pytest.raises(UnknownName) as caught:
        pick("colour", "bleu", {"red": 1, "blue": 2})
    assert str(caught.value) == "unknown colour 'bleu' (nearest: 'blue'); known: blue, red"
    assert (caught.value.what, caught.value.name, caught.value.known) == ("colour", "bleu", ["blue", "red"])


def test_where_nothing_is_near_nothing_is_suggested():
    with pytest.raises(UnknownName, match=r"^unknown colour 'xyzzy'; known: blue, red$"):
        pick("colour", "xyzzy", {"red": 1, "blue": 2})


def test_an_empty_table_knows_none():
    with pytest.raises(UnknownName, match="known: none"):
        pick("colour", "red", {})


# --- loading --------------------------------------------------------------------------------------------


def test_an_object_is_loaded_by_its_address():
    assert load("prmkit.names:pick", extra="hf") is pick


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a module that can be imported for the length of a test."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


def test_a_missing_package_names_the_extra_that_brings_it(package):
    needy = package("needy_one", "import no_such_package.inside\nthing = 1\n")
    with pytest.raises(MissingExtra) as caught:
        load(f"{needy}:thing", extra="vllm", what="the policy 'vllm:x'")
    assert str(caught.value) == (
        "the policy 'vllm:x' needs the package 'no_such_package', which is not installed: "
        "pip install 'prmkit[vllm]'"
    )
    assert caught.value.extra == "vllm"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_without_a_word_for_it_the_address_is_named(package):
    needy = package("needy_two", "import no_such_package\n")
    with pytest.raises(MissingExtra, match=r"^needy_two:thing needs"):
        load(f"{needy}:thing", extra="hf")


def test_our_own_mistakes_are_not_called_a_missing_install(package):
    with pytest.raises(ModuleNotFoundError):
        load("prmkit.no_such_room:thing", extra="hf")
    ours = package("needy_three", "import prmkit.no_such_room\n")
    with pytest.raises(ModuleNotFoundError):
        load(f"{ours}:thing", extra="hf")


def test_an_error_inside_a_module_is_seen_as_it_is(package):
    broken = package("needy_four", "1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        load(f"{broken}:thing", extra="hf")
    with pytest.raises(AttributeError):
        load("prmkit.names:no_such_thing", extra="hf")


# --- errors ---------------------------------------------------------------------------------------------


def test_one_class_catches_all_that_was_asked_wrong():
    for kind in (UnknownName, MissingExtra, BadRecord, BadInput):
        assert issubclass(kind, PrmkitError)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            BadRecord("a number is wanted", field="labels[2]", file="a.jsonl", line=7),
            "a.jsonl:7: field 'labels[2]': ",
        ),
        (BadRecord("a number is wanted", file="a.jsonl"), "a.jsonl: "),
        (BadRecord("a number is wanted", field="label"), "field 'label': "),
        (BadRecord("a number is wanted"), ""),
    ],
)
def test_a_bad_record_says_where_it_stands(record, message):
    assert str(record) == f"{message}a number is wanted"
    assert record.problem == "a number is wanted"
