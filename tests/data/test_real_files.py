"""The readers on the real data sets, where these are at hand."""

import pytest

from prmkit.data.jsonl import read_jsonl
from prmkit.data.sources import FORMATS, detect, read_examples
from prmkit.data.sources.prm800k import alternatives


def test_every_row_that_we_recognise_is_read_and_written_back_as_it_was(real_data, exactly):
    rows = 0
    for path in sorted([*real_data.glob("steps/*.jsonl.gz"), *real_data.glob("train/*.jsonl.gz")]):
        known = [row for _, row in read_jsonl(path) if any(f.recognises(row) for f in FORMATS.values())]
        for row in known:
            format = FORMATS[detect(row)]
            assert exactly(format.write(format.read(row))) == exactly(row), path.name
        rows += len(known)
    assert rows > 10_000


@pytest.mark.parametrize("subset", ["gsm8k", "math", "olympiadbench", "omnimath"])
def test_processbench_keeps_its_first_errors(real_data, subset):
    path = real_data / "steps" / f"processbench_{subset}.jsonl.gz"
    for (_, row), example in zip(read_jsonl(path), read_examples(path), strict=True):
        wrong = [i for i, label in enumerate(example.labels) if label == 0]
        assert (wrong or [-1]) == [row["first_error"]]
        assert example.outcome == row["final_correct"]


def test_prm800k_counts_every_rating_once(real_data):
    path = real_data / "steps" / "prm800k_phase1_test_native.jsonl.gz"
    for (_, row), example in zip(read_jsonl(path), read_examples(path, neutral="correct"), strict=True):
        steps = row["label"]["steps"]
        rated = sum(c["rating"] is not None for s in steps for c in s["completions"] or [])
        by_hand = sum(s["chosen_completion"] is None and s["human_completion"] is not None for s in steps)
        known = [x for e in [example, *alternatives(example)] for x in e.labels if x is not None]
        assert len(known) == rated + by_hand


def test_the_ratings_of_the_prm800k_slice_agree_with_its_first_errors(real_data):
    path = real_data / "train" / "prm800k_val1818.jsonl.gz"
    for (_, row), example in zip(read_jsonl(path), read_examples(path), strict=True):
        wrong = [i for i, label in enumerate(example.labels) if label == 0]
        assert (wrong or [-1])[0] == row["first_error"]
