import pytest

from prmkit.errors import BadInput, UnknownName
from prmkit.scorers import BUILTIN, open_scorer
from prmkit.scorers.head import HeadScorer
from prmkit.testing import check_scorer


def test_a_checkpoint_is_named_with_its_reader_or_alone(tiny_prm):
    for spec in (tiny_prm, str(tiny_prm), f"head:{tiny_prm}"):
        opened = open_scorer(spec)
        assert isinstance(opened, HeadScorer)
        assert opened.profile.kind == "correctness"


def test_options_reach_the_reader(tiny_prm):
    assert open_scorer(tiny_prm, tokens_at_once=99).tokens_at_once == 99


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("haed:x", r"unknown scorer 'haed' \(nearest: 'head'\)"),
        ("some/folder", r"unknown scorer 'some/folder'.*known: builtin, head"),
        ("builtin:arit", r"unknown builtin scorer 'arit' \(nearest: 'arith'\)"),
    ],
)
def test_an_unknown_name_lists_the_known_ones(spec, message):
    with pytest.raises(UnknownName, match=message):
        open_scorer(spec)


def test_a_folder_that_is_no_prm_says_so(tmp_path, tiny):
    with pytest.raises(BadInput, match=r"no prm\.json"):
        open_scorer(tiny)
    with pytest.raises(BadInput, match="no such folder"):
        open_scorer(f"head:{tmp_path / 'nowhere'}")


@pytest.mark.parametrize("name", [name for name, folder in BUILTIN.items() if folder.is_dir()])
def test_every_scorer_that_ships_opens(run, name, homework):
    run(check_scorer(open_scorer(f"builtin:{name}"), homework[:2]))
