"""A run that is stopped at any moment goes on with the same command."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from prmkit.data.runs import Run

# The pupil answers at once when asked for samples; where SLOW is set it sleeps over its rollouts.
STAND_IN = """
import asyncio, os
import prmkit.policies
from prmkit.app.cli import main
from prmkit.worlds.pupil import Pupil

def open_policy(spec, seed=0):
    pupil = Pupil(seed=seed)
    async def act(prefixes, n=1, /, *, until="step"):
        if os.environ.get("SLOW") and prefixes[0].steps:
            await asyncio.sleep(600)
        return await pupil(prefixes, n, until=until)
    return act

prmkit.policies.open_policy = open_policy
main()
"""


def start(folder, words, script, **environment):
    command = [sys.executable, "-c", script, *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def once_there(process, file, lines):
    """Wait until a file has so many lines; a process that ended before has failed."""
    while not (file.exists() and file.read_bytes().count(b"\n") >= lines):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


@pytest.mark.parametrize(("sent", "status"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_stopped_labelling_goes_on_and_samples_nothing_twice(tmp_path, sent, status):
    words = ["label", "arith:4", "--rollouts", "2", "--samples", "2", "--out", "run"]
    trajectories = tmp_path / "run" / "trajectories.jsonl"
    process = start(tmp_path, words, STAND_IN, SLOW="1")
    once_there(process, trajectories, 8)
    process.send_signal(sent)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (status, "")
    if sent == signal.SIGINT:
        assert "stopped; run the same command again to go on" in err
        assert Run.open(tmp_path / "run").about.cost["items"] == 8  # what was spent is written down
    assert "Traceback" not in err
    sampled = trajectories.read_bytes()
    assert Run.open(tmp_path / "run").about.finished is None

    again = start(tmp_path, words, STAND_IN)
    out, err = again.communicate(timeout=60)
    assert (again.returncode, out) == (0, "run\n"), err
    run = Run.open(tmp_path / "run")
    assert trajectories.read_bytes() == sampled
    assert run.done_ids() == run.done_ids("label") == run.done_ids(ratings="outcome")
    assert run.about.finished is not None


def test_the_shipped_policy_can_be_stopped_while_it_writes(tmp_path):
    script = "from prmkit.app.cli import main; main()"
    words = ["label", "arith:6", "--rollouts", "4", "--samples", "2", "--out", "run"]
    process = start(tmp_path, words, script)
    once_there(process, tmp_path / "run" / "trajectories.jsonl", 12)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, ""), err
    sampled = (tmp_path / "run" / "trajectories.jsonl").read_text()
    assert len({json.loads(line)["id"] for line in sampled.splitlines()}) == 12

    again = start(tmp_path, words, script)
    out, err = again.communicate(timeout=300)
    assert (again.returncode, out) == (0, "run\n"), err
    assert (tmp_path / "run" / "trajectories.jsonl").read_text() == sampled
    assert len(Run.open(tmp_path / "run").done_ids("label")) == 12
