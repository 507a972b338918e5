"""The ledger of a run: one SQLite file, written by the driver alone, one transaction for each finished bundle.

A bundle is in it whole or not at all, whatever happens to the driver, the machine or the disk.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.documents import json_text
from softlabel.errors import InputError, SoftlabelError
from softlabel.lab.cells import Bundle, Outcome

VERSION = 1
APPLICATION = 0x50F71ABE
SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bundles (
    key TEXT PRIMARY KEY, stage TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, reason TEXT,
    attempts INTEGER NOT NULL, seconds REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE outcomes (
    bundle TEXT NOT NULL REFERENCES bundles(key), position INTEGER NOT NULL, cell TEXT NOT NULL, settings TEXT NOT NULL,
    metrics TEXT NOT NULL, PRIMARY KEY (bundle, position)
) WITHOUT ROWID;
CREATE TABLE arrays (
    bundle TEXT NOT NULL, cell TEXT NOT NULL, name TEXT NOT NULL, dtype TEXT NOT NULL, shape TEXT NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (bundle, cell, name)
);
CREATE INDEX arrays_of_cells ON arrays (cell);
"""


class LedgerError(SoftlabelError):
    """The ledger could not be written or read; what was finished before is safe."""


class Ledger:
    """An open ledger."""

    def __init__(self, path: Path) -> None:
        """Open the ledger there, or make an empty one."""
        self.path = path
        fresh = not path.exists()
        with self._explained():
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            if fresh or self._empty():
                self._create()
            self._check()

    def _empty(self) -> bool:
        """A file without any table: its driver died while making it."""
        return self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0

    def _create(self) -> None:
        with self._transaction():
            for statement in SCHEMA.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA application_id = {APPLICATION}")
            self._db.execute(f"PRAGMA user_version = {VERSION}")

    def _check(self) -> None:
        if self._db.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
            raise InputError(f"'{self.path}' is a database, but not a ledger of softlabel; choose another --out")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise InputError(
                f"'{self.path}' was written by a newer softlabel (ledger version {version}, this one reads {VERSION}); "
                "update softlabel, or choose another --out"
            )

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def meta(self, name: str) -> Any:
        """What was noted under this name, None if nothing."""
        with self._explained():
            row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def note(self, **values: Any) -> None:
        """Note values by name, all or none."""
        with self._explained(), self._transaction():
            for name, value in values.items():
                text = json_text(value, indent=None)
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, text))

    def status(self) -> dict[str, str]:
        """Status of every bundle by key."""
        with self._explained():
            return dict(self._db.execute("SELECT key, status FROM bundles").fetchall())

    def bundles(self) -> list[dict[str, Any]]:
        """Every bundle that was tried: stage, name, status, reason, attempts, seconds, and its number of cells."""
        query = (
            "SELECT stage, name, status, reason, attempts, seconds, (SELECT count(*) FROM outcomes WHERE bundle = key) "
            "FROM bundles ORDER BY stage, name"
        )
        names = ("stage", "name", "status", "reason", "attempts", "seconds", "cells")
        with self._explained():
            return [dict(zip(names, row, strict=True)) for row in self._db.execute(query)]

    def failures(self) -> list[tuple[str, str, str]]:
        """Stage, name and reason of every failed bundle."""
        with self._explained():
            query = "SELECT stage, name, reason FROM bundles WHERE status = 'failed' ORDER BY stage, name"
            return self._db.execute(query).fetchall()

    def record(self, stage: str, bundle: Bundle, outcomes: list[Outcome], *, attempts: int, seconds: float) -> None:
        """Write a finished bundle, all of it or nothing; one that is there already is left as it is."""
        with self._explained(), self._transaction():
            if self._done(bundle.key):
                return
            row = (bundle.key, stage, bundle.name, "done", None, attempts, seconds)
            self._db.execute("INSERT OR REPLACE INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for position, (cell, outcome) in enumerate(zip(bundle.cells, outcomes, strict=True)):
                settings, metrics = cell.model_dump_json(), json.dumps(outcome.metrics, allow_nan=False)
                row = (bundle.key, position, cell.key, settings, metrics)
                self._db.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)", row)
                for name, array in outcome.arrays.items():
                    data = np.asarray(array, order="C")
                    shape = json.dumps(data.shape)
                    row = (bundle.key, cell.key, name, data.dtype.str, shape, data.tobytes())
                    self._db.execute("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", row)

    def record_failure(self, stage: str, bundle: Bundle, reason: str, *, attempts: int, seconds: float) -> None:
        """Write down that a bundle failed, and why; a later start tries it again."""
        with self._explained(), self._transaction():
            if not self._done(bundle.key):
                row = (bundle.key, stage, bundle.name, "failed", reason, attempts, seconds)
                self._db.execute("INSERT OR REPLACE INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def outcomes(self, bundle: str, arrays: bool = True) -> list[Outcome]:
        """Outcomes of a finished bundle, in the order of its cells."""
        with self._explained():
            query = "SELECT cell, metrics FROM outcomes WHERE bundle = ? ORDER BY position"
            rows = self._db.execute(query, (bundle,)).fetchall()
            held: dict[str, dict[str, np.ndarray]] = {}
            if arrays:
                query = "SELECT cell, name, dtype, shape, data FROM arrays WHERE bundle = ?"
                for cell, name, *stored in self._db.execute(query, (bundle,)):
                    held.setdefault(cell, {})[name] = _array(*stored)
        return [Outcome(json.loads(metrics), held.get(cell, {})) for cell, metrics in rows]

    def arrays(self, cell: str) -> dict[str, np.ndarray]:
        """Arrays of one cell by name."""
        with self._explained():
            query = "SELECT name, dtype, shape, data FROM arrays WHERE cell = ?"
            return {name: _array(*stored) for name, *stored in self._db.execute(query, (cell,))}

    def rows(self) -> list[dict[str, Any]]:
        """Every outcome as one flat row: stage, bundle, the cell's settings, its metrics."""
        with self._explained():
            query = (
                "SELECT stage, name, cell, settings, metrics FROM outcomes JOIN bundles ON bundle = key "
                "ORDER BY stage, name, position"
            )
            return [
                {"stage": stage, "bundle": name, "cell": cell, **json.loads(settings), **json.loads(metrics)}
                for stage, name, cell, settings, metrics in self._db.execute(query)
            ]

    def _done(self, key: str) -> bool:
        row = self._db.execute("SELECT status FROM bundles WHERE key = ?", (key,)).fetchone()
        return row is not None and row[0] == "done"

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as problem:
            raise LedgerError(_explanation(self.path, problem)) from problem


def _explanation(path: Path, problem: sqlite3.Error) -> str:
    code = getattr(problem, "sqlite_errorname", "") or ""
    safe = "what was finished is safe; run the same command again to go on"
    if code.startswith("SQLITE_FULL"):
        return f"the disk of '{path.parent}' is full; free some space; {safe}"
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return f"the ledger '{path}' cannot be written (folder or file is read-only); {safe}"
    if code.startswith("SQLITE_NOTADB"):
        return f"'{path}' is not a ledger of softlabel; choose another --out"
    if code.startswith("SQLITE_BUSY"):
        return f"the ledger '{path}' is held by another process; {safe}"
    return f"the ledger '{path}' could not be used ({problem}); {safe}"


def _array(dtype: str, shape: str, data: bytes) -> np.ndarray:
    return np.frombuffer(data, dtype=np.dtype(dtype)).reshape(json.loads(shape)).copy()
