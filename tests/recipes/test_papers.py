import inspect
import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from prmkit.recipes import RECIPES
from prmkit.recipes.papers import MARKS, SLOTS, Paper, Slot, Status, as_json, as_markdown, classics, papers

REPOSITORY = Path(__file__).resolve().parents[2]
CARDS = Path(os.environ.get("PRMKIT_METHODS") or REPOSITORY.parent / "shared" / "methods")
KNOWN = [*papers(), *classics()]
BUILT = [p for p in KNOWN if p.status == "recipe"]


def test_there_is_a_row_for_each_card():
    assert [p.id for p in papers()] == list(range(1, 118))


def test_names_are_short_and_unique():
    names = [p.name for p in KNOWN]
    assert len(set(names)) == len(names)
    assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) and len(name) <= 24 for name in names)


def test_a_paper_is_named_once():
    ids = [p.arxiv for p in KNOWN if p.arxiv]
    assert len(set(ids)) == len(ids)


def test_every_slot_and_status_is_known_and_shown():
    assert set(SLOTS) == set(get_args(Slot))
    assert set(MARKS) == set(get_args(Status))
    assert {p.slot for p in KNOWN} == set(SLOTS)
    assert {p.status for p in KNOWN} == set(MARKS)


def test_every_row_says_what_it_does_and_what_it_claims():
    assert all(len(p.title) > 10 and p.summary.endswith(".") for p in KNOWN)
    assert all(
        p.claim.endswith(".") and re.search(r"Should (fail|not|make|change|show|bring|coincide)", p.claim)
        for p in papers()
    )


def test_table_and_code_agree_on_the_recipes():
    assert sorted(p.recipe for p in BUILT) == sorted(RECIPES)
    assert all(not p.recipe for p in KNOWN if p.status != "recipe")


@pytest.mark.parametrize("paper", BUILT, ids=lambda p: p.name)
def test_a_recipe_points_back_to_its_row_and_every_default_has_a_source(paper):
    parameters = inspect.signature(RECIPES[paper.recipe]).parameters.values()
    recipe = RECIPES[paper.recipe](**{p.name: None for p in parameters if p.default is p.empty})
    assert recipe.paper == (paper.id or paper.arxiv)
    assert {p.name for p in parameters if p.default is not p.empty} <= set(paper.values)
    assert paper.changed


def test_json_has_a_complete_object_for_each_card():
    rows = json.loads(as_json())
    assert len(rows) == 117
    assert all(row.keys() == {f.name for f in fields(Paper)} for row in rows)


def test_the_page_is_up_to_date():
    page = (REPOSITORY / "docs" / "papers.md").read_text("utf-8")
    assert page == as_markdown(), "python -m prmkit.recipes.papers > docs/papers.md"


def test_the_page_shows_every_paper_once():
    rows = re.findall(r"^\| \d* \| . \| (\S+) \|", as_markdown(), re.MULTILINE)
    assert sorted(rows) == sorted(p.name for p in KNOWN)


@pytest.mark.skipif(not CARDS.is_dir(), reason="the method cards are not beside the repository")
@pytest.mark.parametrize("paper", papers(), ids=lambda p: p.name)
def test_titles_and_arxiv_ids_are_those_of_the_card(paper):
    (card,) = CARDS.glob(f"{paper.id:03d}-*.md")
    head = " ".join(card.read_text("utf-8").splitlines()[:4])
    cited = re.search(r"arXiv (\d{4}\.\d{5})", head)
    assert paper.title in head
    assert paper.arxiv == (cited[1] if cited else "")
