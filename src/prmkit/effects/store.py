"""Texts under keys in one SQLite file: commits survive kill -9, and processes may share the file."""

from __future__ import annotations

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from prmkit.errors import BadInput

OURS = 0x70726D6B  # "prmk" in the file's header: whose file this is
SCHEMA = 1
CHUNK = 512  # keys per SELECT; old SQLite takes 999 variables at most
PATIENCE = 60.0  # seconds to wait for another process that is writing


class Store:
    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        with self._named():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(
                self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
            )
            weakref.finalize(self, self._db.close)
            self._prepare()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """The texts of those keys that are there."""
        found: dict[bytes, str] = {}
        with self._lock, self._named():
            for start in range(0, len(keys), CHUNK):
                chunk = keys[start : start + CHUNK]
                marks = ",".join("?" * len(chunk))
                found.update(self._db.execute(f"SELECT key, text FROM results WHERE key IN ({marks})", chunk))
        return found

    def keep(self, texts: Mapping[bytes, str]) -> None:
        """Commit all or none; what another process wrote first stands."""
        with self._lock, self._named(), self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO results VALUES (?, ?)", texts.items())

    def _prepare(self) -> None:
        if self._number("SELECT count(*) FROM sqlite_master"):
            self._recognise()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")  # safe against kill -9; no fsync for each commit
        if not self._number("PRAGMA application_id"):
            with self._transaction():
                self._db.execute(
                    "CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, text TEXT NOT NULL)"
                )
                self._db.execute(f"PRAGMA application_id = {OURS}")
                self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _recognise(self) -> None:
        if self._number("PRAGMA application_id") != OURS:
            raise BadInput(f"{self.path} is an SQLite file of another program, not a prmkit cache")
        if (schema := self._number("PRAGMA user_version")) != SCHEMA:
            raise BadInput(f"{self.path} is a prmkit cache of schema {schema}; this prmkit reads {SCHEMA}")

    def _number(self, query: str) -> int:
        return int(self._db.execute(query).fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Every failure names the file and what can be done about it."""
        try:
            yield
        except sqlite3.OperationalError as error:  # locked, full, read-only, not to be opened
            raise BadInput(f"the cache {self.path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise BadInput(
                f"the cache {self.path} is damaged ({error}); move it away to start a new one"
            ) from error
        except OSError as error:
            raise BadInput(f"the cache {self.path} cannot be made: {error}") from error
