import gzip
import io
import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prmkit.data.jsonl import (
    append_jsonl,
    dump,
    read_jsonl,
    read_records,
    repair,
    write_bad,
    write_jsonl,
    write_whole,
)
from prmkit.errors import BadInput, BadRecord


def number_of(row):
    if not isinstance(row.get("n"), int):
        raise BadRecord("a number is wanted here", field="n")
    return row["n"]


def test_rows_come_with_their_line_numbers_and_blank_lines_are_skipped(write_lines):
    path = write_lines({"n": 1}, "", {"n": 2})
    assert list(read_jsonl(path)) == [(1, {"n": 1}), (3, {"n": 2})]


def test_a_last_line_without_a_newline_and_a_byte_order_mark_are_fine(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"n": 1}\r\n{"n": 2}')
    assert [row for _, row in read_jsonl(path)] == [{"n": 1}, {"n": 2}]


def test_gzip_is_read_and_written_and_equal_records_give_equal_bytes(tmp_path):
    one, two = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"
    assert write_jsonl(one, [{"n": 1}, {"s": "ки"}]) == 2
    write_jsonl(two, [{"n": 1}, {"s": "ки"}])
    assert gzip.decompress(one.read_bytes()).decode() == '{"n": 1}\n{"s": "ки"}\n'
    assert one.read_bytes() == two.read_bytes()
    assert list(read_jsonl(one)) == [(1, {"n": 1}), (2, {"s": "ки"})]


def test_a_dash_is_the_standard_input(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b'{"n": 1}\n')))
    assert list(read_jsonl("-")) == [(1, {"n": 1})]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"n": ', "not JSON"),
        ("[1]", "a record is an object, this is a list"),
        ('{"n": NaN}', "NaN is no number"),
        ("[" * 100_000, "nested too deep"),
    ],
)
def test_a_line_that_is_no_object_names_file_and_line(write_lines, line, problem):
    path = write_lines({"n": 1}, line)
    with pytest.raises(BadRecord, match=problem) as caught:
        list(read_jsonl(path))
    assert (caught.value.file, caught.value.line) == (str(path), 2)
    assert str(caught.value).startswith(f"{path}:2: ")


def test_a_line_that_is_not_utf8_is_bad_and_the_others_go_on(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": "\xff"}\n{"n": 2}\n')
    bad = []
    assert list(read_jsonl(path, bad=bad)) == [(2, {"n": 2})]
    assert bad[0].problem == "not UTF-8: byte 8 of the line"


@pytest.mark.parametrize("name", ["absent.jsonl", "."])
def test_a_file_that_cannot_be_read_is_bad_input(tmp_path, name):
    with pytest.raises(BadInput, match="cannot be read"):
        list(read_jsonl(tmp_path / name))


def test_half_a_gzip_file_is_bad_input(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"n": 1}\n' * 1000)[:-20])
    with pytest.raises(BadInput, match="not a whole gzip file"):
        list(read_jsonl(path))


def test_bad_records_are_set_aside_and_the_others_go_on(write_lines, tmp_path):
    path = write_lines({"n": 1}, {"n": "two"}, "{", {"n": 4})
    bad = []
    assert list(read_records(path, number_of, bad)) == [1, 4]
    assert write_bad(tmp_path / "bad.jsonl", bad) == 2
    where = {"file": str(path)}
    assert [row for _, row in read_jsonl(tmp_path / "bad.jsonl")] == [
        {**where, "line": 2, "field": "n", "problem": "a number is wanted here", "raw": '{"n": "two"}'},
        {**where, "line": 3, "field": "", "problem": bad[1].problem, "raw": "{"},
    ]


def test_without_a_list_for_them_the_first_bad_record_is_raised(write_lines):
    path = write_lines({"n": 1}, {"n": "two"})
    with pytest.raises(BadRecord, match=r"rows\.jsonl:2: field 'n': a number is wanted here"):
        list(read_records(path, number_of))


def test_a_torn_last_line_can_be_skipped_but_not_one_in_the_middle(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2')
    assert [row for _, row in read_jsonl(path, torn="skip")] == [{"n": 1}]
    path.write_bytes(b'{"n": 1}\n{"n": 2\n{"n": 3}\n')
    with pytest.raises(BadRecord):
        list(read_jsonl(path, torn="skip"))


@given(st.lists(st.dictionaries(st.text(), st.text(), max_size=3), max_size=4), st.data())
def test_wherever_a_file_is_cut_repair_keeps_every_whole_record(tmp_path_factory, rows, data):
    path = tmp_path_factory.mktemp("cut") / "a.jsonl"
    lines = [dump(row) for row in rows]
    whole = b"".join(lines)
    at = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:at])
    repair(path)
    append_jsonl(path, [{"last": "one"}])
    ends = [len(b"".join(lines[: i + 1])) - 1 for i in range(len(lines))]  # the newline itself may be missing
    kept = sum(end <= at for end in ends)
    assert [row for _, row in read_jsonl(path)] == [*rows[:kept], {"last": "one"}]


@pytest.mark.parametrize("line", ['{"n": 1, "id": "a"}', '{"id":"a"}', '{"id": "a", "n": [1, {"id": "b"}]}'])
def test_ids_are_the_same_whether_the_rest_is_read_or_not(write_lines, line):
    path = write_lines(line)
    ids = [[row["id"] for _, row in read_jsonl(path, ids_only=only)] for only in (True, False)]
    assert ids == [["a"], ["a"]]


def test_ids_alone_still_skip_a_torn_line_and_refuse_a_broken_one(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"id": "a"}\n{"id": "b", "n"')
    assert [row for _, row in read_jsonl(path, torn="skip", ids_only=True)] == [{"id": "a"}]
    path.write_bytes(b'{"id": "a"}\n{"id": b}\n')
    with pytest.raises(BadRecord, match="not JSON"):
        list(read_jsonl(path, ids_only=True))


def test_repair_finds_the_start_of_a_very_long_torn_line(tmp_path):
    path = tmp_path / "a.jsonl"
    torn = b'{"text": "' + b"x" * 300_000
    path.write_bytes(b'{"n": 1}\n' + torn)
    assert repair(path) == torn
    assert path.read_bytes() == b'{"n": 1}\n'


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_text_survives_even_half_a_surrogate_pair(text):
    line = dump({"text": text})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {"text": text}


@pytest.mark.parametrize("value", [float("nan"), {1, 2}])
def test_what_json_cannot_say_is_refused(value):
    with pytest.raises(BadRecord, match="cannot be written as JSON"):
        dump({"value": value})


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.jsonl"
    write_whole(path, b"old\n")
    with pytest.raises(BadRecord):
        write_jsonl(path, [{"n": 1}, {"n": {1}}])
    assert path.read_bytes() == b"old\n"
