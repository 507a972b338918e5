"""What `doctor` says of the columns is what `load` does, and it refuses nothing that `load` accepts."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data import load
from softlabel.data.roles import ColumnRoles
from softlabel.errors import InputError
from softlabel.studies.doctor import doctor

ROWS = 60
COLUMNS = {
    "number": lambda rng: rng.standard_normal(ROWS).round(3).tolist(),
    "count": lambda rng: rng.integers(0, 5, ROWS).tolist(),
    "gaps": lambda rng: [None if one < 0 else one for one in rng.standard_normal(ROWS).round(3).tolist()],
    "word": lambda rng: rng.choice(["red", "green", "blue"], ROWS).tolist(),
    "word with gaps": lambda rng: rng.choice(["red", "", "NA"], ROWS).tolist(),
    "comma": lambda rng: [f"{k},5" for k in rng.integers(0, 99, ROWS)],
    "day": lambda rng: [f"2024-0{1 + k % 9}-1{k % 10}" for k in rng.integers(0, 99, ROWS)],
    "flag": lambda rng: rng.choice([True, False], ROWS).tolist(),
    "name": lambda rng: [f"N{k}x" for k in rng.permutation(ROWS)],
    "index": lambda rng: list(range(ROWS)),
    "constant": lambda rng: ["same"] * ROWS,
    "empty": lambda rng: [None] * ROWS,
    "text": lambda rng: [" ".join(rng.choice(["one", "two", "six", "ten", "of", "in"], 4)) for _ in range(ROWS)],
    "infinite": lambda rng: ["inf", *map(str, range(ROWS - 1))],
    "mixed": lambda rng: ["12", "kg", "?", "3 kg", "-"] * (ROWS // 5),
    "Id": lambda rng: rng.integers(0, 30, ROWS).tolist(),
}


@settings(max_examples=40, deadline=None)
@given(kinds=st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=6, unique=True), seed=st.integers(0, 99),
       suffix=st.sampled_from([".csv", ".parquet"]))  # fmt: skip
def test_doctor_and_load_agree(tmp_path_factory, kinds, seed, suffix):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({kind: COLUMNS[kind](rng) for kind in kinds}, strict=False)
    frame = frame.with_columns(pl.Series("kind", rng.permutation(["cat", "dog"] * (ROWS // 2))))
    path = tmp_path_factory.mktemp("data") / f"t{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    result = doctor(path, label="kind")
    json.dumps(result.to_dict(), allow_nan=False)
    try:
        problem = load(path, "kind")
    except InputError:
        assert {"table is refused", "infinite values"} & {one.name for one in result.mistakes}
        return
    assert not {"table is refused", "infinite values"} & {one.name for one in result.findings}
    assert [one["column"] for one in result.columns] == kinds
    used = {one["column"]: one["kind"] for one in result.columns if one["features"]}
    if problem.encoder is None:
        assert set(used) == set(problem.columns or ())
    else:
        described = {one["column"]: one["kind"] for one in problem.encoder.describe() if one["features"]}
        assert described.items() <= used.items(), "training rows may have fewer frequent words"


def test_columns_in_words_share_a_line(tmp_path):
    x = np.random.default_rng(0).standard_normal((ROWS, 3))
    frame = pl.DataFrame({f"x{k}": [None, *x[1:, k]] for k in range(3)} | {"town": ["Rome", "Oslo"] * 30})
    frame.with_columns(pl.Series("kind", (["cat"] * 2 + ["dog"] * 2) * 15)).write_csv(tmp_path / "t.csv")
    shown = str(doctor(tmp_path / "t.csv", label="kind"))
    assert "Columns:\n  x0, x1, x2 (number, missing values become the median and are marked)\n" in shown
    assert "  town (2 categories)\n" in shown


@pytest.mark.parametrize("gap", [False, True])
def test_arrays(tmp_path, gap):
    x = np.random.default_rng(0).standard_normal((ROWS, 3))
    if gap:
        x[5, 1] = np.nan
    np.savez(tmp_path / "a.npz", X=x, y=np.arange(ROWS) % 2)
    result = doctor(tmp_path / "a.npz")
    assert [one.name for one in result.findings] == (["missing values"] if gap else [])
    assert [one["features"] for one in result.columns] == ([1, 2, 1] if gap else [])


def test_groups_that_cannot_be_split_are_a_refusal(tmp_path):
    x = np.random.default_rng(0).standard_normal(ROWS)
    pl.DataFrame({"x": x, "site": ["one"] * ROWS, "kind": ["cat", "dog"] * (ROWS // 2)}).write_csv(tmp_path / "t.csv")
    (finding,) = doctor(tmp_path / "t.csv", label="kind", roles=ColumnRoles(group="site")).findings
    assert finding.name == "table is refused"
    assert "`group` has 1 different entry" in finding.remedy
