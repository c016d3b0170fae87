"""JSON lines, plain or gzipped: streamed in, appended safely, and the bad ones set aside.

A process that is killed while it appends leaves a torn last line. Readers can skip it,
`repair` cuts it off, and no complete record is lost.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, NoReturn, TypeVar

from prmkit.data.fields import in_words
from prmkit.errors import BadInput, BadRecord

T = TypeVar("T")
PathLike = str | os.PathLike[str]
Torn = Literal["bad", "skip"]  # what an unfinished last line is: an error, or not yet there

_BLOCK = 1 << 16
_ID = b'{"id": '
_DECODER = json.JSONDecoder()


class BadLine(BadRecord):
    """A bad record together with the line it was read from."""

    def __init__(
        self, problem: str, *, field: str = "", file: str = "", line: int = 0, raw: str = ""
    ) -> None:
        super().__init__(problem, field=field, file=file, line=line)
        self.raw = raw


class Line(NamedTuple):
    number: int  # from 1
    raw: str
    row: dict[str, Any]


def read_jsonl(
    path: PathLike, *, bad: list[BadRecord] | None = None, torn: Torn = "bad", ids_only: bool = False
) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) of every line that is not blank; "-" is the standard input.

    A line that is no JSON object goes to `bad`, or is raised where `bad` is not given. With `ids_only` a
    line that begins with its id is not read further, which is many times faster.
    """
    for line in read_lines(path, bad, torn=torn, parse=_parse_id if ids_only else _parse):
        yield line.number, line.row


def read_records(
    path: PathLike, parse: Callable[[dict[str, Any]], T], bad: list[BadRecord] | None = None
) -> Iterator[T]:
    """Every record that `parse` accepts; the others go to `bad`, or are raised where it is not given."""
    return parse_lines(read_lines(path, bad), parse, bad, file=str(path))


def read_lines(
    path: PathLike,
    bad: list[BadRecord] | None = None,
    *,
    torn: Torn = "bad",
    parse: Callable[[bytes], dict[str, Any]] | None = None,
) -> Iterator[Line]:
    """`read_jsonl` with the text of each line, for whoever parses further and may set lines aside."""
    for number, content in enumerate(_contents(path), start=1):
        if not content.strip():
            continue
        try:
            row = (parse or _parse)(content)
        except BadRecord as error:
            if torn == "skip" and not content.endswith(b"\n"):
                return
            _set_aside(error, bad, str(path), number, content.decode(errors="replace"))
            continue
        yield Line(number, content.decode(), row)


def parse_lines(
    lines: Iterable[Line], parse: Callable[[dict[str, Any]], T], bad: list[BadRecord] | None, *, file: str
) -> Iterator[T]:
    for line in lines:
        try:
            record = parse(line.row)
        except BadRecord as error:
            _set_aside(error, bad, file, line.number, line.raw)
            continue
        yield record


def dump(record: Mapping[str, Any]) -> bytes:
    """One line, its newline included; text stays readable unless UTF-8 cannot hold it."""
    try:
        line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        try:
            return line.encode() + b"\n"
        except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can say
            return json.dumps(record, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise BadRecord(f"cannot be written as JSON: {error}") from error


def write_jsonl(path: PathLike, records: Iterable[Mapping[str, Any]]) -> int:
    """Write them all and say how many; the file appears only when it is whole. "-" is the standard output."""
    count = 0
    with _writing(path) as out:
        for record in records:
            out.write(dump(record))
            count += 1
    return count


def append_jsonl(path: PathLike, records: Iterable[Mapping[str, Any]]) -> None:
    """Add records at the end: each leaves our hands as soon as it comes, all are on disk at the return."""
    with open(path, "ab") as out:
        try:
            for record in records:
                out.write(dump(record))
                out.flush()
        finally:
            os.fsync(out.fileno())


def repair(path: PathLike) -> bytes:
    """Cut off a torn last line and return what was cut.

    A whole object that lacks nothing but its newline gets it: no beginning of an
    object is an object, so it was finished.
    """
    with open(path, "r+b") as file:
        start = _start_of_last_line(file)
        file.seek(start)
        tail = file.read()
        if not tail:
            return b""
        if _is_object(tail):
            file.write(b"\n")
            cut = b""
        else:
            file.truncate(start)
            cut = tail
        file.flush()
        os.fsync(file.fileno())
        return cut


def write_bad(path: PathLike, bad: Iterable[BadRecord]) -> int:
    """The records that could not be used, as {file, line, field, problem, raw}; says how many."""
    return write_jsonl(
        path,
        (
            {
                "file": b.file,
                "line": b.line,
                "field": b.field,
                "problem": b.problem,
                "raw": b.raw if isinstance(b, BadLine) else "",
            }
            for b in bad
        ),
    )


def write_whole(path: PathLike, content: bytes) -> None:
    """Replace a file at once: after a crash it holds the old content or the new, never a part."""
    with _writing(path) as out:
        out.write(content)


def _contents(path: PathLike) -> Iterator[bytes]:
    if str(path) == "-":
        yield from sys.stdin.buffer
        return
    try:
        with gzip.open(path, "rb") if str(path).endswith(".gz") else open(path, "rb") as file:
            yield from file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BadInput(f"{path}: not a whole gzip file: {error}") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error


def _parse(content: bytes) -> dict[str, Any]:
    try:
        row = json.loads(content.decode("utf-8-sig"), parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise BadRecord(f"not UTF-8: byte {error.start + 1} of the line") from error
    except json.JSONDecodeError as error:
        raise BadRecord(f"not JSON: {error.msg} at column {error.colno}") from error
    except RecursionError as error:
        raise BadRecord("not usable JSON: nested too deep") from error
    if not isinstance(row, dict):
        raise BadRecord(f"a record is an object, this is {in_words(row)}")
    return row


def _parse_id(content: bytes) -> dict[str, Any]:
    """Only the id of a whole line that begins with it; any other line is parsed as usual."""
    if content.startswith(_ID) and content.endswith(b"}\n"):
        try:
            return {"id": _DECODER.raw_decode(content.decode(), len(_ID))[0]}
        except ValueError:
            pass
    return _parse(content)


def _no_constant(name: str) -> NoReturn:
    raise BadRecord(f"not JSON: {name} is no number")


def _is_object(content: bytes) -> bool:
    try:
        _parse(content)
    except BadRecord:
        return False
    return True


def _set_aside(error: BadRecord, bad: list[BadRecord] | None, file: str, line: int, raw: str) -> None:
    placed = BadLine(error.problem, field=error.field, file=file, line=line, raw=raw.rstrip("\r\n"))
    if bad is None:
        raise placed from error
    bad.append(placed)


def _start_of_last_line(file: IO[bytes]) -> int:
    """Where the text after the last newline begins; the end of the file where nothing follows it."""
    end = file.seek(0, os.SEEK_END)
    while end > 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


@contextmanager
def _writing(path: PathLike) -> Iterator[IO[bytes] | gzip.GzipFile]:
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    draft = target.with_name(target.name + ".tmp")
    with open(draft, "wb") as file:
        if target.suffix == ".gz":
            with gzip.GzipFile(
                "", "wb", fileobj=file, mtime=0
            ) as packed:  # no clock: equal records, equal bytes
                yield packed
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, target)
