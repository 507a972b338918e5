"""The ledger: whole bundles or nothing, exact arrays, clear errors."""

import sqlite3

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from softlabel.errors import InputError
from softlabel.lab import Bundle, Ledger, Outcome
from softlabel.lab.ledger import LedgerError
from tests.lab.toys import Draw

CELLS = tuple(Draw(stage="first", seed=seed) for seed in range(3))
BUNDLE = Bundle("first 0", CELLS)


def outcomes(offset: float = 0.0) -> list[Outcome]:
    return [Outcome({"mean": k + offset, "why": None}, {"x": np.arange(4.0) * k}) for k in range(3)]


def record(ledger: Ledger, bundle: Bundle = BUNDLE, found: list[Outcome] | None = None) -> None:
    ledger.record("first", bundle, found or outcomes(), attempts=1, seconds=0.5)


def test_what_goes_in_comes_out(tmp_path):
    path = tmp_path / "ledger.sqlite"
    with Ledger(path) as ledger:
        ledger.note(study="toy", settings={"γ": [1, None]})
        record(ledger)
    with Ledger(path) as ledger:
        assert ledger.meta("settings") == {"γ": [1, None]}
        assert ledger.meta("nothing") is None
        assert ledger.status() == {BUNDLE.key: "done"}
        found = ledger.outcomes(BUNDLE.key)
        assert [outcome.metrics for outcome in found] == [outcome.metrics for outcome in outcomes()]
        np.testing.assert_array_equal(ledger.arrays(CELLS[2].key)["x"], [0, 2, 4, 6])
        assert [row["seed"] for row in ledger.rows()] == [0, 1, 2]
        assert ledger.bundles()[0] == {
            "stage": "first", "name": "first 0", "status": "done", "reason": None, "attempts": 1, "seconds": 0.5,
            "cells": 3,
        }  # fmt: skip


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    x=st.sampled_from(["float32", "float64", "int64", "uint8", "bool"]).flatmap(
        lambda dtype: arrays(np.dtype(dtype), array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    )
)
def test_arrays_keep_every_bit(tmp_path_factory, x):
    with Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite") as ledger:
        bundle = Bundle("one", CELLS[:1])
        record(ledger, bundle, [Outcome({}, {"x": x})])
        back = ledger.outcomes(bundle.key)[0].arrays["x"]
    assert back.dtype == x.dtype
    assert back.shape == x.shape
    assert back.tobytes() == x.tobytes()


def test_a_bundle_counts_once(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        record(ledger)
        record(ledger, BUNDLE, outcomes(offset=100))
        ledger.record_failure("first", BUNDLE, "too late", attempts=1, seconds=0.0)
        assert ledger.status() == {BUNDLE.key: "done"}
        assert [outcome.metrics["mean"] for outcome in ledger.outcomes(BUNDLE.key)] == [0, 1, 2]
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
        [*outcomes()[:2], Outcome({"mean": float("nan")})],
        outcomes()[:2],
        [*outcomes()[:2], Outcome({"mean": object()})],
    ],
)
def test_a_bundle_that_cannot_be_written_leaves_nothing(tmp_path, bad):
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises((ValueError, TypeError)):
            record(ledger, BUNDLE, bad)
        assert ledger.status() == {}
        assert ledger.outcomes(BUNDLE.key) == []
        assert ledger.arrays(CELLS[0].key) == {}
        record(ledger)
        assert len(ledger.outcomes(BUNDLE.key)) == 3


def test_a_full_disk_is_told_and_costs_only_what_did_not_fit(tmp_path):
    """The database may not grow: what a full disk looks like from inside."""
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        record(ledger)
        pages = ledger._db.execute("PRAGMA page_count").fetchone()[0]
        ledger._db.execute(f"PRAGMA max_page_count = {pages}")
        large = Bundle("large", CELLS[:1])
        with pytest.raises(LedgerError, match=r"disk of .* is full; free some space; what was finished is safe"):
            record(ledger, large, [Outcome({}, {"x": np.zeros(100_000)})])
        assert ledger.status() == {BUNDLE.key: "done"}
        assert len(ledger.outcomes(BUNDLE.key)) == 3


def test_a_newer_ledger_is_left_alone(tmp_path):
    path = tmp_path / "ledger.sqlite"
    Ledger(path).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"newer softlabel \(ledger version 99, this one reads 1\); update softlabel"):
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
