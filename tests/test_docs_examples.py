"""What the pages say is so: their code runs, their commands exist, their links lead somewhere."""

import re
import runpy
import shlex
from itertools import chain
from pathlib import Path
from xml.etree import ElementTree

import pytest
import typer
from typer.testing import CliRunner

from prmkit.app.cli import app
from prmkit.app.commands.label import methods
from prmkit.app.commands.rl import credits
from prmkit.app.commands.solve import searches
from prmkit.bench.claims import CLAIMS
from prmkit.bench.suites import SUITES
from prmkit.data.sources import FORMATS
from prmkit.maths.aggregate import AGGREGATES
from prmkit.recipes.papers import MARKS, SLOTS
from prmkit.text.steps import SEGMENTS
from prmkit.train.objectives import OBJECTIVES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / name for name in ("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md")]
PAGES += sorted(p for p in (*ROOT.glob("docs/*.md"), *ROOT.glob("design/*.md")))
EXAMPLES = sorted(ROOT.glob("docs/examples/*.py"))
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INCLUDED = re.compile(r"<!-- (docs/examples/\w+\.py) -->\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

COMMANDS = typer.main.get_command(app).commands
NAMES = {  # options and arguments that take one of a table of names
    "aggregate": AGGREGATES,
    "credit": credits(),
    "format": FORMATS,
    "method": methods(),
    "objective": OBJECTIVES,
    "search": searches(),
    "segment": SEGMENTS,
    "slot": SLOTS,
    "status": MARKS,
    "suite": SUITES,
}


def named(paths):
    return [str(p.relative_to(ROOT)) for p in paths]


def blocks(page, language):
    return [text for kind, text in FENCED.findall(page.read_text("utf-8")) if kind == language]


def command_lines(page):
    """The words of every `prm` line in the page's shell blocks, the shell's own parts left out."""
    lines = chain.from_iterable(text.splitlines() for text in blocks(page, "sh"))
    words = [shlex.split(re.sub(r"\s[<>|].*", "", line), comments=True) for line in lines]
    return [line[1:] for line in words if line and line[0] == "prm"]


# --- code -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def readme_example():
    (code,) = blocks(ROOT / "README.md", "python")
    return code


def test_the_library_example_of_the_readme_fits_into_fifteen_lines(readme_example):
    assert len(readme_example.splitlines()) <= 15


def test_the_library_example_of_the_readme_runs_and_shows_what_it_found(readme_example, capsys):
    found = {}
    exec(compile(readme_example, "README.md", "exec"), found)
    best, shown = found["best"], capsys.readouterr().out
    assert found["problem"].prompt in shown
    assert best.trajectory.text in shown
    assert best.trajectory.stop == "done"
    assert 0 <= best.value <= 1


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_and_what_it_asserts_is_so(path):
    runpy.run_path(str(path), run_name="__main__")


def test_every_example_stands_in_a_page_word_for_word():
    included = dict(chain.from_iterable(INCLUDED.findall(p.read_text("utf-8")) for p in PAGES))
    assert sorted(included) == named(EXAMPLES)
    for name, text in included.items():
        assert text == (ROOT / name).read_text("utf-8"), f"{name} and the page that shows it differ"


@pytest.mark.parametrize("page", [p for p in PAGES if p.name != "README.md"], ids=named([*PAGES[1:]]))
def test_a_page_shows_no_code_that_is_not_run(page):
    text = page.read_text("utf-8")
    assert len(blocks(page, "python")) == len(INCLUDED.findall(text))


# --- commands ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=named(PAGES))
def test_every_command_line_is_one_that_prm_understands(page):
    for command, *words in (line for line in command_lines(page) if not line[0].startswith("-")):
        asked = COMMANDS[command].make_context(command, list(words)).params  # parsed, not run
        for name, table in NAMES.items():
            assert asked.get(name) in (None, "", *table), f"prm {shlex.join([command, *words])}"


def test_the_claims_that_are_named_exist():
    asked = [line for page in PAGES for line in command_lines(page) if line[0] == "claim" and line[1:]]
    assert asked
    assert {line[1] for line in asked} <= set(CLAIMS)


@pytest.mark.parametrize("page", PAGES, ids=named(PAGES))
def test_commands_and_options_named_in_a_sentence_exist(page):
    for spoken in re.findall(r"`prm ([a-z][^`]*)`", page.read_text("utf-8")):
        command, *words = spoken.split()
        known = {name for p in COMMANDS[command].params for name in (*p.opts, "--help")}
        assert {word for word in words if word.startswith("-")} - {"-"} <= known, spoken


def test_the_start_page_shows_every_command():
    assert {line[0] for line in command_lines(ROOT / "docs/start.md") if line[0] in COMMANDS} == set(COMMANDS)


def test_the_readme_has_a_line_for_every_command():
    listed = re.findall(r"^\| `prm (\w+)` \|", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["papers"], ["bench"], ["claim"], *([name, "--help"] for name in COMMANDS)],
)
def test_what_needs_no_model_answers_at_once(words):
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert result.stdout.strip()


# --- files ------------------------------------------------------------------------------------------------


def test_the_tree_in_the_readme_is_the_tree_on_disk():
    (tree,) = [text for text in blocks(ROOT / "README.md", "") if text.startswith("src/prmkit/\n")]
    listed = re.findall(r"^  (\S+)", tree, re.MULTILINE)
    package = [p for p in (ROOT / "src/prmkit").iterdir() if p.name != "__pycache__"]
    assert sorted(listed) == sorted(p.name + "/" * p.is_dir() for p in package)
    for room in re.findall(r"^(\w+)/ ", tree, re.MULTILINE):
        assert (ROOT / room).is_dir(), room


@pytest.mark.parametrize("page", PAGES, ids=named(PAGES))
def test_links_within_the_repository_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", FENCED.sub("", page.read_text("utf-8")))
    for target in (t for t in targets if "://" not in t):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("path", sorted(ROOT.glob("docs/images/*.svg")), ids=lambda p: p.name)
def test_a_picture_is_sound_says_what_it_shows_and_can_be_seen_in_the_dark(path):
    picture = ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert picture.findtext(f"{space}title")
    assert picture.findtext(f"{space}desc")
    assert "prefers-color-scheme: dark" in picture.findtext(f"{space}style")


def test_the_guide_for_agents_stays_short():
    assert len((ROOT / "AGENTS.md").read_text("utf-8").splitlines()) <= 80
