"""The ledger of a run: one SQLite file, written by the driver alone, one transaction per finished bundle.

A bundle is in it completely or not at all, whatever happens to the driver, the machine or the disk. Every bundle and
every entry of the metadata has a checksum, which is compared when it is read: a bundle that was changed since counts
as damaged, is never part of a result, and is computed again by the next run.
"""

import hashlib
import json
import math
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.documents import json_text
from softlabel.errors import quoted
from softlabel.lab.cells import Bundle, CellResult
from softlabel.lab.ledger_file import (
    CHECKSUMS,
    VERSION,
    WITHOUT_CHECKSUMS,
    DamagedLedgerError,
    LedgerError,
    damaged_file,
    explanation,
    open_to_read,
    open_to_write,
)

__all__ = ["DamagedLedgerError", "Ledger", "LedgerError"]
BUNDLE = "SELECT key, stage, name, status, reason, attempts, seconds FROM bundles"
PLAIN = re.compile(r"[<>|=]?[?biufcSUV]\d*")  # types of arrays that hold no objects


class Ledger:
    """An open ledger.

    version     of the file when it was opened; those of version 1 have no checksums
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Open the ledger there; without `read_only`, an empty one is made where there is none."""
        self.path = path
        with self._explained():
            self._db, self.version = (open_to_read if read_only else open_to_write)(path)
            if self.version == WITHOUT_CHECKSUMS and not read_only:
                self._add_checksums()

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> "Ledger":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def has_checksums(self) -> bool:
        """Whether what is read is compared with what was written."""
        return self.version > WITHOUT_CHECKSUMS

    def meta(self, name: str) -> Any:
        """The metadata of this name, or None."""
        with self._explained():
            row = self._db.execute("SELECT name, value FROM meta WHERE name = ?", (name,)).fetchone()
            digest = self._kept_digest(f"meta {name}")
        if row is None and digest is None:
            return None
        try:
            if row is None or (self.has_checksums and digest != _digest(row)):
                raise ValueError
            return json.loads(row[1])
        except (TypeError, ValueError, RecursionError):
            raise damaged_file(self.path, f"its entry '{name}'") from None

    def set_meta(self, **values: Any) -> None:
        """Store values by name, all or none."""
        with self._explained(), self._transaction():
            for name, value in values.items():
                row = (name, json_text(value, indent=None))
                self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", row)
                self._keep_digest(f"meta {name}", _digest(row))

    def status(self) -> dict[str, str]:
        """Status of every bundle by key: done, failed or damaged."""
        return {row["key"]: row["status"] for row in self._bundles()}

    def bundles(self) -> list[dict[str, Any]]:
        """Every bundle that was tried: stage, name, status, reason, attempts, seconds, and its number of cells."""
        names = ("stage", "name", "status", "reason", "attempts", "seconds", "cells")
        return [{name: row[name] for name in names} for row in self._bundles()]

    def by_key(self) -> dict[str, dict[str, Any]]:
        """The same by the key of the bundle."""
        return {row["key"]: row for row in self._bundles()}

    def failures(self) -> list[tuple[str, str, str]]:
        """Stage, name and reason of every failed bundle."""
        return [
            (row["stage"], row["name"], row["reason"] or "") for row in self._bundles() if row["status"] == "failed"
        ]

    def finished(self) -> int:
        """Number of bundles that are done and intact."""
        return sum(status == "done" for status in self.status().values())

    def damaged(self) -> list[str]:
        """Stage and name of every bundle that is not what was written."""
        return [f"{row['stage']}: {row['name']}" for row in self._bundles() if row["status"] == "damaged"]

    def record(self, stage: str, bundle: Bundle, results: list[CellResult], *, attempts: int, seconds: float) -> None:
        """Write a finished bundle, all of it or nothing; an intact one is left as it is."""
        with self._explained(), self._transaction():
            if self._done(bundle.key):
                return
            self._remove(bundle.key)
            row = (bundle.key, stage, bundle.name, "done", None, attempts, float(seconds))
            self._db.execute("INSERT INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?)", row)
            for position, (cell, result) in enumerate(zip(bundle.cells, results, strict=True)):
                settings, metrics = cell.model_dump_json(), json.dumps(result.metrics, allow_nan=False)
                row = (bundle.key, position, cell.key, settings, metrics)
                self._db.execute("INSERT INTO outcomes VALUES (?, ?, ?, ?, ?)", row)
                for name, array in result.arrays.items():
                    data = np.asarray(array, order="C")
                    if not PLAIN.fullmatch(data.dtype.str):
                        raise TypeError(f"array '{name}' of type {data.dtype} cannot be kept")
                    shape = json.dumps(data.shape)
                    row = (bundle.key, cell.key, name, data.dtype.str, shape, data.tobytes())
                    self._db.execute("INSERT INTO arrays VALUES (?, ?, ?, ?, ?, ?)", row)
            self._keep_digest(f"bundle {bundle.key}", self._bundle_digest(bundle.key))

    def record_failure(self, stage: str, bundle: Bundle, reason: str, *, attempts: int, seconds: float) -> None:
        """Record that a bundle failed, and why; the next run tries it again."""
        with self._explained(), self._transaction():
            if not self._done(bundle.key):
                self._remove(bundle.key)
                row = (bundle.key, stage, bundle.name, "failed", reason, attempts, float(seconds))
                self._db.execute("INSERT INTO bundles VALUES (?, ?, ?, ?, ?, ?, ?)", row)
                self._keep_digest(f"bundle {bundle.key}", self._bundle_digest(bundle.key))

    def cell_results(self, bundle: str) -> list[CellResult]:
        """Results of the cells of a finished bundle, in the order of its cells."""
        with self._explained():
            self._require_intact([bundle])
            query = "SELECT cell, metrics FROM outcomes WHERE bundle = ? ORDER BY position"
            rows = self._db.execute(query, (bundle,)).fetchall()
            by_cell: dict[str, dict[str, np.ndarray]] = {}
            query = "SELECT cell, name, dtype, shape, data FROM arrays WHERE bundle = ?"
            for cell, name, *stored in self._db.execute(query, (bundle,)):
                by_cell.setdefault(cell, {})[name] = _array(*stored)
            return [CellResult(_dictionary(metrics), by_cell.get(cell, {})) for cell, metrics in rows]

    def rows(self) -> list[dict[str, Any]]:
        """Every result as one flat row: stage, bundle, the cell's settings, its metrics."""
        with self._explained():
            self._require_intact([key for key, status in self.status().items() if status != "failed"])
            query = (
                "SELECT stage, name, cell, settings, metrics FROM outcomes JOIN bundles ON bundle = key "
                "ORDER BY stage, name, position"
            )
            return [
                {"stage": stage, "bundle": name, "cell": cell, **_dictionary(settings), **_dictionary(metrics)}
                for stage, name, cell, settings, metrics in self._db.execute(query)
            ]

    def _bundles(self) -> list[dict[str, Any]]:
        with self._explained():
            entries = []
            for row in self._db.execute(f"{BUNDLE} ORDER BY stage, name, key").fetchall():
                key, stage, name, status, reason, attempts, seconds = row
                if not self._intact(row):
                    # of a damaged row only what can be shown
                    status, reason, attempts, seconds = "damaged", None, 0, 0.0
                query = "SELECT count(*) FROM outcomes WHERE bundle = ?"
                cells = self._db.execute(query, (key,)).fetchone()[0]
                entries.append(
                    {"key": str(key), "stage": str(stage), "name": str(name), "status": status, "reason": reason,
                     "attempts": attempts, "seconds": seconds, "cells": cells}
                )  # fmt: skip
            lost = sorted(self._recorded() - {row["key"] for row in entries})
            return entries + [
                {"key": key, "stage": "lost", "name": key, "status": "damaged", "reason": None, "attempts": 0,
                 "seconds": 0.0, "cells": 0}
                for key in lost
            ]  # fmt: skip

    def _recorded(self) -> set[str]:
        """Keys of all bundles that were written, including those whose rows are missing now."""
        if not self.has_checksums:
            return set()
        names = self._db.execute("SELECT of FROM checksums WHERE of LIKE 'bundle %'").fetchall()
        return {str(name).removeprefix("bundle ") for (name,) in names}

    def _intact(self, row: tuple) -> bool:
        """Whether a row of the bundles is what was written, and so are its results and arrays."""
        if self.has_checksums:
            return self._bundle_digest(row[0]) == self._kept_digest(f"bundle {row[0]}")
        return self._readable(row)

    def _readable(self, row: tuple) -> bool:
        """Whether a bundle could have been written by softlabel: all that can be said where there are no checksums."""
        key, stage, name, status, reason, attempts, seconds = row
        texts = all(isinstance(text, str) for text in (key, stage, name, reason or ""))
        counts = isinstance(attempts, int) and isinstance(seconds, float) and math.isfinite(seconds)
        if not (texts and counts and status in ("done", "failed")):
            return False
        try:
            for cell, settings, metrics in self._db.execute(
                "SELECT cell, settings, metrics FROM outcomes WHERE bundle = ?", (key,)
            ):
                if not isinstance(cell, str):
                    return False
                _dictionary(settings)
                _dictionary(metrics)
            for name, *stored in self._db.execute(
                "SELECT name, dtype, shape, data FROM arrays WHERE bundle = ?", (key,)
            ):
                if not isinstance(name, str):
                    return False
                _array(*stored)
        except (TypeError, ValueError, RecursionError):
            return False
        return True

    def _require_intact(self, keys: Any) -> None:
        recorded, broken = self._recorded(), []
        for key in keys:
            row = self._db.execute(f"{BUNDLE} WHERE key = ?", (key,)).fetchone()
            if row is None and key in recorded:
                broken.append(f"lost: {key}")
            elif row is not None and not self._intact(row):
                broken.append(f"{row[1]}: {row[2]}")
        if broken:
            raise DamagedLedgerError(
                f"the ledger '{self.path}' is damaged: {len(broken)} of its bundles are not what was written "
                f"({quoted(broken, 3)}); rerun the original command, which computes these again"
            )

    def _bundle_digest(self, key: Any) -> str:
        """Checksum of a bundle: its row, its results with the cells' settings, and its arrays."""
        queries = (
            f"{BUNDLE} WHERE key = ?",
            "SELECT * FROM outcomes WHERE bundle = ? ORDER BY position",
            "SELECT * FROM arrays WHERE bundle = ? ORDER BY cell, name",
        )
        return _digest(*(row for query in queries for row in self._db.execute(query, (key,))))

    def _kept_digest(self, of: str) -> str | None:
        if not self.has_checksums:
            return None
        row = self._db.execute("SELECT digest FROM checksums WHERE of = ?", (of,)).fetchone()
        return None if row is None else row[0]

    def _keep_digest(self, of: str, digest: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO checksums VALUES (?, ?)", (of, digest))

    def _add_checksums(self) -> None:
        """Bring a ledger of version 1 up to date: what can be read in it is taken to be what was written."""
        with self._transaction():
            self._db.execute(CHECKSUMS)
            for row in self._db.execute(BUNDLE).fetchall():
                if self._readable(row):
                    self._keep_digest(f"bundle {row[0]}", self._bundle_digest(row[0]))
            for row in self._db.execute("SELECT name, value FROM meta").fetchall():
                self._keep_digest(f"meta {row[0]}", _digest(row))
            self._db.execute(f"PRAGMA user_version = {VERSION}")
        self.version = VERSION

    def _remove(self, key: str) -> None:
        for table, column in (("arrays", "bundle"), ("outcomes", "bundle"), ("bundles", "key")):
            self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (key,))

    def _done(self, key: str) -> bool:
        row = self._db.execute(f"{BUNDLE} WHERE key = ?", (key,)).fetchone()
        return row is not None and row[3] == "done" and self._intact(row)

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
            raise explanation(self.path, problem) from problem
        except (UnicodeDecodeError, OverflowError) as problem:  # of SQLite's own messages, or of numbers
            raise damaged_file(self.path, type(problem).__name__) from problem


def _digest(*rows: tuple) -> str:
    """Checksum of rows: types, lengths and contents of all their values."""
    digest = hashlib.sha256()
    for row in rows:
        digest.update(b"row")
        for value in row:
            content = value if isinstance(value, bytes) else str(value).encode() if isinstance(value, str) else None
            content = repr(value).encode() if content is None else content
            digest.update(f"{type(value).__name__} {len(content)} ".encode())
            digest.update(content)
    return digest.hexdigest()


def _dictionary(text: Any) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError("not a dictionary")
    return value


def _array(dtype: Any, shape: Any, data: Any) -> np.ndarray:
    """An array of its parts; ValueError or TypeError where these do not fit together."""
    if not (isinstance(dtype, str) and PLAIN.fullmatch(dtype) and isinstance(data, bytes)):
        raise ValueError("not an array of plain numbers")
    sizes = json.loads(shape)
    if not (isinstance(sizes, list) and all(type(size) is int and size >= 0 for size in sizes)):
        raise ValueError("not a shape")
    kind = np.dtype(dtype)
    if math.prod(sizes) * kind.itemsize != len(data):
        raise ValueError("not as many bytes as its shape says")
    if kind.itemsize == 0 or len(data) == 0:
        return np.empty(sizes, kind)
    return np.frombuffer(data, dtype=kind).reshape(sizes).copy()
