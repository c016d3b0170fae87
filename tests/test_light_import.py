"""What is looked at before a model is asked for must not wait for a model library to load."""

import subprocess
import sys

import pytest

HEAVY = ("torch", "transformers", "vllm", "trl", "ray", "fastapi")
COMMAND = """
from prmkit.app.cli import app
def prm(*words):
    try:
        app(list(words))
    except SystemExit as end:
        assert not end.code
"""
LIGHT = (
    "import prmkit",
    "import prmkit.types, prmkit.errors, prmkit.names, prmkit.testing",
    "import prmkit.recipes; [prmkit.recipes.RECIPES[name] for name in prmkit.recipes.RECIPES]",
    "import prmkit.policies, prmkit.scorers",
    "import prmkit.verbs",
    "import prmkit.search, prmkit.train, prmkit.bench",
    "import prmkit.data.runs, prmkit.data.sources, prmkit.effects, prmkit.text.coder, prmkit.maths.credit",
    "import prmkit.worlds.arith, prmkit.worlds.pupil, prmkit.worlds.exact",
    "from prmkit.scorers import combine, judge, monte_carlo",
    f"{COMMAND}prm('--help')",
    f"{COMMAND}prm('papers', '--json')",
)


def modules_after(program):
    found = subprocess.run(
        [sys.executable, "-c", f"{program}\nimport sys\nprint('\\nLOADED', *sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    return set(found.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("program", LIGHT)
def test_nothing_heavy_is_loaded_before_it_is_asked_for(program):
    assert not modules_after(program).intersection(HEAVY)


def test_a_heavy_package_would_be_noticed():
    assert "json" in modules_after("import json")
    assert "fractions" not in modules_after("import json")
