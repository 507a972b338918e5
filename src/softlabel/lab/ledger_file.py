"""The SQLite file behind a ledger: its tables, how it is opened, and what its errors mean.

A ledger may come from anywhere, so nothing is read from it before its tables are known to be exactly those of a ledger
(no views, no triggers) and SQLite's own check of the file has passed. Reading never writes: the file is opened
read-only, and where a killed run left a transaction to be undone, that happens in a copy. A file with a write-ahead
log, which another program must have made, is read from a copy too, since SQLite puts files beside it to read it.
"""

import errno
import shutil
import sqlite3
import stat
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from softlabel.errors import InputError, SoftlabelError

VERSION = 2
WITHOUT_CHECKSUMS = 1
APPLICATION = 0x50F71ABE
PATIENCE = 30  # seconds that another process may hold the file
BESIDE = ("-journal", "-wal")  # what SQLite writes beside a file
MOST_WORK = 200_000_000  # steps of SQLite's machine that opening may take: a few seconds

_FIRST = {
    "meta": "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "bundles": (
        "CREATE TABLE bundles ( key TEXT PRIMARY KEY, stage TEXT NOT NULL, name TEXT NOT NULL, status TEXT NOT NULL, "
        "reason TEXT, attempts INTEGER NOT NULL, seconds REAL NOT NULL ) WITHOUT ROWID"
    ),
    "outcomes": (
        "CREATE TABLE outcomes ( bundle TEXT NOT NULL REFERENCES bundles(key), position INTEGER NOT NULL, "
        "cell TEXT NOT NULL, settings TEXT NOT NULL, metrics TEXT NOT NULL, PRIMARY KEY (bundle, position) ) "
        "WITHOUT ROWID"
    ),
    "arrays": (
        "CREATE TABLE arrays ( bundle TEXT NOT NULL, cell TEXT NOT NULL, name TEXT NOT NULL, dtype TEXT NOT NULL, "
        "shape TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (bundle, cell, name) )"
    ),
    "arrays_of_cells": "CREATE INDEX arrays_of_cells ON arrays (cell)",
}
CHECKSUMS = "CREATE TABLE checksums (of TEXT PRIMARY KEY, digest TEXT NOT NULL) WITHOUT ROWID"
SCHEMAS = {WITHOUT_CHECKSUMS: _FIRST, VERSION: {**_FIRST, "checksums": CHECKSUMS}}


class LedgerError(SoftlabelError):
    """The ledger could not be written or read."""


class DamagedLedgerError(LedgerError, InputError):
    """The file is no ledger, or not any more what softlabel wrote."""


def open_to_write(path: Path) -> tuple[sqlite3.Connection, int]:
    """The ledger's connection and version; an empty ledger is made where there is none."""
    _check_regular(path)
    connection = _connect(path, "rwc")
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:  # new, or its driver died
            _create(connection)
        return connection, _checked(connection, path)
    except BaseException:
        connection.close()
        raise


def open_to_read(path: Path) -> tuple[sqlite3.Connection, int]:
    """The same, where nothing is ever written."""
    _check_regular(path)
    if not path.exists():
        raise InputError(f"there is no ledger '{path}'")
    if path.stat().st_size == 0:
        raise DamagedLedgerError(
            f"the ledger '{path}' is empty (0 bytes): its run was stopped at the very beginning; rerun its command"
        )
    if _logs_ahead(path):
        connection = _recovered(path)
        return connection, _checked(connection, path)
    connection = _connect(path, "ro")
    try:
        return connection, _checked(connection, path)
    except sqlite3.OperationalError as problem:
        connection.close()
        if not _code(problem).startswith("SQLITE_READONLY"):
            raise
        connection = _recovered(path)
        return connection, _checked(connection, path)
    except BaseException:
        connection.close()
        raise


def explanation(path: Path, problem: sqlite3.Error) -> LedgerError:
    """What an error of SQLite means, and what becomes of finished bundles."""
    code = _code(problem)
    kept = "bundles that were finished are kept; run the same command again to go on"
    if code.startswith("SQLITE_FULL"):
        return LedgerError(f"the disk of '{path.parent}' is full; free some space; {kept}")
    if code == "SQLITE_READONLY_DBMOVED":
        return LedgerError(
            f"the ledger '{path}' was moved or removed while its run was working, and its content is lost; "
            "put it back, or run the same command again to begin anew"
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return LedgerError(f"the ledger '{path}' cannot be written (directory or file is read-only); {kept}")
    if code.startswith("SQLITE_BUSY"):
        return LedgerError(f"the ledger '{path}' is locked by another process; {kept}")
    if code.startswith("SQLITE_NOTADB"):
        return DamagedLedgerError(f"'{path}' is not a ledger of softlabel; choose another directory")
    if code.startswith(("SQLITE_IOERR", "SQLITE_NOMEM")):
        return LedgerError(
            f"the ledger '{path}' could not be used ({problem}); the bundle that was being written is not in it; run "
            "the same command again: it checks the others and goes on"
        )
    return damaged_file(path, str(problem))


def damaged_file(path: Path, reason: str) -> DamagedLedgerError:
    """An error for a file in which nothing can be trusted."""
    return DamagedLedgerError(
        f"the ledger '{path}' is damaged ({reason}): nothing in it can be relied on; restore it from a copy, or remove "
        "it and run the same command again, which computes its bundles anew"
    )


def _logs_ahead(path: Path) -> bool:
    """Whether the header of the file says that it has a write-ahead log."""
    try:
        with path.open("rb") as file:
            return file.read(20)[18:] == b"\x02\x02"
    except OSError as problem:
        raise LedgerError(f"the ledger '{path}' cannot be read: {problem.strerror}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    connection = sqlite3.connect(address, timeout=PATIENCE, isolation_level=None, uri=True)
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _create(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            for statement in SCHEMAS[VERSION].values():
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _checked(connection: sqlite3.Connection, path: Path) -> int:
    """The version of a ledger whose file is intact."""
    if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
        raise DamagedLedgerError(f"'{path}' is a database, but not a ledger of softlabel; choose another directory")
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InputError(
            f"'{path}' was written by a newer softlabel (ledger version {version}, this one reads {VERSION}); "
            "update softlabel, or choose another directory"
        )
    if version not in SCHEMAS:
        raise damaged_file(path, f"it claims to be of version {version}")
    work = 0

    def count() -> int:
        nonlocal work
        work += 100_000
        return work > MOST_WORK

    connection.set_progress_handler(count, 100_000)
    try:
        entries = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
        objects = {name: " ".join(str(sql).split()) for kind, name, sql in entries if not _automatic(kind, name, sql)}
        if objects != SCHEMAS[version]:
            odd = [name for name in objects if objects[name] != SCHEMAS[version].get(name)]
            lacking = [name for name in SCHEMAS[version] if name not in objects]
            raise damaged_file(path, f"its tables are not a ledger's: see '{(odd + lacking)[0]}'")
        verdict = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict is None or verdict[0] != "ok":
            raise damaged_file(path, " ".join(str(verdict and verdict[0]).split()))
    finally:
        connection.set_progress_handler(None, 0)
    return version


def _automatic(kind: object, name: object, sql: object) -> bool:
    """An index that SQLite made itself."""
    return kind == "index" and sql is None and str(name).startswith("sqlite_autoindex_")


def _check_regular(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as problem:
        raise LedgerError(f"the ledger '{path}' cannot be read: {problem.strerror}") from None
    if not stat.S_ISREG(mode):
        raise DamagedLedgerError(f"'{path}' is not a file, so it is no ledger; choose another directory")


def _recovered(path: Path) -> sqlite3.Connection:
    """The ledger without the transaction that a killed run left half done, or with its log, from a copy in memory."""
    with TemporaryDirectory(prefix="softlabel-") as scratch:
        copy = Path(scratch) / path.name
        try:
            shutil.copyfile(path, copy)
            for ending in BESIDE:
                if (beside := path.with_name(path.name + ending)).exists():
                    shutil.copyfile(beside, copy.with_name(copy.name + ending))
        except OSError as problem:
            reason = problem.strerror if problem.errno != errno.ENOSPC else "no space for a copy of it"
            raise LedgerError(f"the ledger '{path}' cannot be read: {reason}") from None
        source = _connect(copy, "rw")
        restored = sqlite3.connect(":memory:", isolation_level=None)
        restored.text_factory = source.text_factory
        try:
            source.backup(restored)
        finally:
            source.close()
    return restored


def _code(problem: sqlite3.Error) -> str:
    return getattr(problem, "sqlite_errorname", "") or ""
