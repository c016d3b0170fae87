from pathlib import Path

from mypy import api

HERE = Path(__file__).parent


def test_wrappers_keep_the_type_of_what_they_wrap(tmp_path, monkeypatch):
    monkeypatch.setenv("MYPYPATH", str(HERE.parents[1] / "src"))
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path}"]
    told, errors, status = api.run([*options, str(HERE / "typed_usage.py")])
    assert (status, errors) == (0, ""), told
