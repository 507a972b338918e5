"""The ledger: complete bundles or nothing, exact arrays, clear errors."""

import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from softlabel.errors import InputError
from softlabel.lab import Bundle, CellResult, Ledger
from softlabel.lab.ledger import LedgerError
from tests.lab.toys import Draw

CELLS = tuple(Draw(stage="first", seed=seed) for seed in range(3))
BUNDLE = Bundle("first 0", CELLS)


def toy_results(offset: float = 0.0) -> list[CellResult]:
    return [CellResult({"mean": k + offset, "why": None}, {"x": np.arange(4.0) * k}) for k in range(3)]


def record(ledger: Ledger, bundle: Bundle = BUNDLE, results: list[CellResult] | None = None) -> None:
    ledger.record("first", bundle, results or toy_results(), attempts=1, seconds=0.5)


def test_what_goes_in_comes_out(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.set_meta(study="toy", settings={"γ": [1, None]})
        record(ledger)
    with Ledger(path) as ledger:
        assert ledger.meta("settings") == {"γ": [1, None]}
        assert ledger.meta("nothing") is None
        assert ledger.status() == {BUNDLE.key: "done"}
        results = ledger.cell_results(BUNDLE.key)
        assert [result.metrics for result in results] == [result.metrics for result in toy_results()]
        np.testing.assert_array_equal(results[2].arrays["x"], [0, 2, 4, 6])
        assert [row["seed"] for row in ledger.rows()] == [0, 1, 2]
        assert ledger.bundles()[0] == {
            "stage": "first", "name": "first 0", "status": "done", "reason": None, "attempts": 1, "seconds": 0.5,
            "cells": 3,
        }  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    x=st.sampled_from(["float32", "float64", "int64", "uint8", "bool"]).flatmap(
        lambda dtype: arrays(np.dtype(dtype), array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_arrays_keep_every_bit(tmp_path_factory, x):
    with Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite") as ledger:
        bundle = Bundle("one", CELLS[:1])
        record(ledger, bundle, [CellResult({}, {"x": x})])
        back = ledger.cell_results(bundle.key)[0].arrays["x"]
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert back.tobytes() == x.tobytes()


def test_a_bundle_counts_once(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        record(ledger)
        record(ledger, BUNDLE, toy_results(offset=100))
        ledger.record_failure("first", BUNDLE, "too late", attempts=1, seconds=0.0)
        assert ledger.status() == {BUNDLE.key: "done"}
        assert [result.metrics["mean"] for result in ledger.cell_results(BUNDLE.key)] == [0, 1, 2]
        assert ledger.failures() == []


def test_a_failure_gives_way_to_success(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        ledger.record_failure("first", BUNDLE, "out of memory", attempts=3, seconds=1.0)
        assert ledger.failures() == [("first", "first 0", "out of memory")]
        record(ledger)
        assert ledger.failures() == []
        assert ledger.status() == {BUNDLE.key: "done"}


@pytest.mark.parametrize(
    "bad",
    [
        [*toy_results()[:2], CellResult({"mean": float("nan")})],
        toy_results()[:2],
        [*toy_results()[:2], CellResult({"mean": object()})],
    ],
)
def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path, bad):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises((ValueError, TypeError)):
            record(ledger, BUNDLE, bad)
        assert ledger.status() == {}
        assert ledger.cell_results(BUNDLE.key) == []
        record(ledger)
        assert len(ledger.cell_results(BUNDLE.key)) == 3


def test_a_full_disk_is_reported_and_costs_only_what_did_not_fit(tmp_path):
    """The database may not grow: what a full disk looks like from inside."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        record(ledger)
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        large = Bundle("large", CELLS[:1])
        with pytest.raises(
            LedgerError, match=r"disk of .* is full; free some space; bundles that were finished are kept"
        ):
            record(ledger, large, [CellResult({}, {"x": np.zeros(100_000)})])
        assert ledger.status() == {BUNDLE.key: "done"}
        assert len(ledger.cell_results(BUNDLE.key)) == 3


def test_a_newer_ledger_is_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"newer softlabel \(ledger version 99, this one reads 2\); update softlabel"):
        Ledger(path)
    assert path.read_bytes() == before


def test_other_files_are_not_taken_for_ledgers(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.write_text("this is a diary, and a long one at that; " * 50)
    with pytest.raises(LedgerError, match="is not a ledger of softlabel"):
        Ledger(path)
    path.unlink()
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE diary (day TEXT)")
    database.commit()
    database.close()
    with pytest.raises(InputError, match="not a ledger of softlabel"):
        Ledger(path)


def test_a_driver_that_died_while_making_its_ledger_does_not_stop_the_next(tmp_path):
    path = tmp_path / "ledger.sqlite"
    path.touch()
    with Ledger(path) as ledger:
        record(ledger)
    assert path.stat().st_size > 0


# ---- files that are damaged, or were made by somebody else


@pytest.fixture
def intact(tmp_path):
    """A ledger with metadata, three bundles and a failure; its tables fill several pages."""
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.set_meta(study="toy", settings={"cells": 3}, threads=1)
        for number in range(3):
            results = [CellResult({"mean": k + number}, {"x": np.arange(300.0) * k + number}) for k in range(3)]
            record(ledger, Bundle(f"first {number}", CELLS), results)
        ledger.record_failure("second", Bundle("second 0", CELLS[:1]), "diverged", attempts=1, seconds=0.1)
    return path


def read_everything(path):
    """All that read verbs take from a ledger."""
    with Ledger(path, read_only=True) as ledger:
        metadata = {name: ledger.meta(name) for name in ("study", "settings", "threads", "facts")}
        bundles = ledger.bundles()
        results = [
            [(one.metrics, {name: x.tolist() for name, x in one.arrays.items()}) for one in ledger.cell_results(key)]
            for key in ledger.status()
        ]
        return metadata, bundles, results, ledger.rows(), ledger.failures()


def change(path, *statements):
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("PRAGMA writable_schema = ON")
    for statement in statements:
        database.execute(statement)
    database.close()


def downgrade(path):
    """The file as version 1 wrote it: without checksums."""
    change(path, "DROP TABLE checksums", "PRAGMA user_version = 1")


def test_every_flipped_byte_is_detected_or_changes_nothing(intact):
    """Results are as they were written or an error of the user's input; never other numbers, never another error."""
    truth = read_everything(intact)
    content = intact.read_bytes()
    dice = np.random.default_rng(0)
    detected = 0
    for place in dice.choice(len(content), size=250, replace=False).tolist():
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(dice.integers(8))
        intact.write_bytes(flipped)
        try:
            content_now = read_everything(intact)
        except InputError as problem:
            detected += "\n" not in str(problem)
            continue
        assert content_now == truth
    assert detected > 50  # the others fell on pages that are not in use


@pytest.mark.parametrize("removed", ["name = 'first 1'", "status = 'failed'", "1 = 1"])
def test_bundles_whose_rows_are_gone_are_missed(intact, removed):
    with Ledger(intact, read_only=True) as ledger:
        bundles = len(ledger.bundles())
    change(intact, f"DELETE FROM bundles WHERE {removed}")
    with Ledger(intact, read_only=True) as ledger:
        assert len(ledger.bundles()) == bundles
        assert ledger.damaged()
        with pytest.raises(InputError, match="bundles are not what was written"):
            ledger.rows()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9])
def test_cut_files(intact, share):
    content = intact.read_bytes()
    intact.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError):
        read_everything(intact)


FOREIGN = {
    "endless view": [
        "DROP TABLE meta",
        "CREATE VIEW meta AS WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT 'a' AS name, n AS "
        "value FROM r",
    ],
    "trigger": ["CREATE TRIGGER t AFTER INSERT ON bundles BEGIN DELETE FROM outcomes; END"],
    "missing table": ["DROP TABLE outcomes"],
    "other columns": ["ALTER TABLE bundles ADD COLUMN more TEXT"],
    "another table": ["CREATE TABLE diary (day TEXT)"],
    "expression index": ["DROP INDEX arrays_of_cells", "CREATE INDEX arrays_of_cells ON arrays (length(cell))"],
    "version 0": ["PRAGMA user_version = 0"],
    "negative version": ["PRAGMA user_version = -5"],
    "another application": ["PRAGMA application_id = 7"],
    "no checksum of a bundle": ["DELETE FROM checksums WHERE of LIKE 'bundle%'"],
    "no checksum of a note": ["DELETE FROM checksums WHERE of LIKE 'meta%'"],
    "lost note": ["DELETE FROM meta WHERE name = 'settings'"],
    "changed note": ["UPDATE meta SET value = '{\"cells\": 4}' WHERE name = 'settings'"],
    "changed metrics": ["UPDATE outcomes SET metrics = replace(metrics, '1', '2')"],
    "changed settings of a cell": ["UPDATE outcomes SET settings = replace(settings, '1', '2')"],
    "lost outcome": ["DELETE FROM outcomes WHERE position = 2"],
    "lost array": ["DELETE FROM arrays WHERE rowid = 2"],
    "swapped arrays": ["UPDATE arrays SET data = (SELECT data FROM arrays WHERE rowid = 1) WHERE rowid = 3"],
    "changed status": ["UPDATE bundles SET status = 'failed' WHERE status = 'done'"],
}
WRONG_TYPES = {
    "metadata that are not JSON": ["UPDATE meta SET value = '{'"],
    "metadata that are numbers of another kind": ["UPDATE meta SET value = x'ff00'"],
    "deep JSON": ["UPDATE meta SET value = replace(hex(zeroblob(100000)), '0', '[')"],
    "metrics that are not JSON": ["UPDATE outcomes SET metrics = 'mean'"],
    "metrics that are a list": ["UPDATE outcomes SET metrics = '[1]'"],
    "cells that are blobs": ["UPDATE outcomes SET cell = x'00ff'"],
    "not UTF-8": ["UPDATE outcomes SET settings = CAST(x'ff' AS TEXT)"],
    "objects": ["UPDATE arrays SET dtype = '|O'"],
    "objects by another name": ["UPDATE arrays SET dtype = 'O8'"],
    "a type that is none": ["UPDATE arrays SET dtype = 'wide'"],
    "structured type": ['UPDATE arrays SET dtype = \'[("a", "O")]\''],
    "negative shape": ["UPDATE arrays SET shape = '[-1]'"],
    "huge shape": ["UPDATE arrays SET shape = '[1000000000000, 1000000000000]'"],
    "shape of fractions": ["UPDATE arrays SET shape = '[300.0]'"],
    "shape that is no list": ["UPDATE arrays SET shape = '300'"],
    "shape that is not JSON": ["UPDATE arrays SET shape = '['"],
    "data that are text": ["UPDATE arrays SET data = 'text'"],
    "seconds that are text": ["UPDATE bundles SET seconds = 'long'"],
    "infinite seconds": ["UPDATE bundles SET seconds = 9e999"],
    "attempts that are text": ["UPDATE bundles SET attempts = 'many'"],
    "unknown status": ["UPDATE bundles SET status = 'perhaps'"],
}


@pytest.mark.parametrize("name", [*FOREIGN, *WRONG_TYPES])
def test_ledgers_that_softlabel_did_not_write_are_refused_in_one_line(intact, name):
    change(intact, *(FOREIGN | WRONG_TYPES)[name])
    content = intact.read_bytes()
    with pytest.raises(InputError) as raised:
        read_everything(intact)
    assert "\n" not in str(raised.value)
    assert "is safe" not in str(raised.value)
    assert intact.read_bytes() == content


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_so_are_those_of_version_1_which_have_no_checksums(intact, name):
    downgrade(intact)
    change(intact, *WRONG_TYPES[name])
    with pytest.raises(InputError) as raised:
        read_everything(intact)
    assert "\n" not in str(raised.value)


def test_ledgers_of_version_1_are_read_as_they_are_and_get_checksums_when_written_to(intact):
    truth = read_everything(intact)
    downgrade(intact)
    old = intact.read_bytes()
    assert read_everything(intact) == truth
    assert intact.read_bytes() == old
    with Ledger(intact, read_only=True) as ledger:
        assert not ledger.has_checksums
    change(intact, "UPDATE arrays SET shape = '[-1]' WHERE rowid = 1")
    with Ledger(intact) as ledger:
        assert ledger.has_checksums
        assert ledger.damaged() == ["first: first 0"]  # what cannot be read is not given a checksum
    with Ledger(intact, read_only=True) as ledger:
        assert ledger.version == 2
        assert ledger.damaged() == ["first: first 0"]


def test_reading_writes_nothing(tmp_path, intact):
    before = {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()}
    read_everything(intact)
    assert {path.name: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.iterdir()} == before
    empty = tmp_path / "empty" / "ledger.sqlite"
    empty.parent.mkdir()
    with pytest.raises(InputError, match="there is no ledger"):
        Ledger(empty, read_only=True)
    empty.touch()
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        Ledger(empty, read_only=True)
    assert empty.stat().st_size == 0
    assert [path.name for path in empty.parent.iterdir()] == ["ledger.sqlite"]


def test_what_a_killed_run_left_half_written_is_read_without_it(tmp_path, intact):
    """A transaction that was not finished: its journal lies beside the ledger, whose pages are new already."""
    truth = read_everything(intact)
    code = (
        "import os, sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "db.execute('PRAGMA cache_size = 1')\n"
        "db.execute('BEGIN IMMEDIATE')\n"
        "db.execute(\"UPDATE outcomes SET metrics = '{}'\")\n"
        "db.execute('UPDATE arrays SET data = zeroblob(50000)')\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(intact)], check=False)
    journal = intact.with_name("ledger.sqlite-journal")
    assert journal.stat().st_size > 0
    before = intact.read_bytes(), journal.read_bytes()
    assert read_everything(intact) == truth
    assert (intact.read_bytes(), journal.read_bytes()) == before
    Ledger(intact).close()  # the next driver undoes it
    assert not journal.exists()
    assert read_everything(intact) == truth


@pytest.mark.parametrize("name", ["a b?mode=rw#c%20", "ü", "[1]", "'quote'"])
def test_directories_of_any_name(tmp_path, name):
    path = tmp_path / name / "ledger.sqlite"
    path.parent.mkdir()
    with Ledger(path) as ledger:
        record(ledger)
    with Ledger(path, read_only=True) as ledger:
        assert ledger.finished() == 1
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_no_file_at_all(tmp_path):
    os.mkfifo(tmp_path / "ledger.sqlite")
    for read_only in (True, False):
        with pytest.raises(InputError, match="is not a file, so it is no ledger"):
            Ledger(tmp_path / "ledger.sqlite", read_only=read_only)


def test_objects_are_not_kept(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(TypeError, match="array 'x' of type object cannot be kept"):
            record(ledger, Bundle("one", CELLS[:1]), [CellResult({}, {"x": np.array([{}])})])
        assert ledger.status() == {}
