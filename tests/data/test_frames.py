"""CSV and Parquet files by their literal names, and hostile ones: one clear line each, and bounded work."""

import decimal
import gzip
import io
import os
import zlib

import numpy as np
import polars as pl
import pytest

from softlabel.data import frames, load, trial
from softlabel.data.frames import need_columns, read_column, read_frame
from softlabel.data.tables import load_table
from softlabel.errors import InputError
from softlabel.studies.doctor import doctor
from tests.mutations import refusals

LENGTH = 131_073


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame({"a": rng.normal(size=count), "b": rng.normal(size=count), "y": np.arange(count) % 2})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("name", "other"),
    [("data[1]", "data1"), ("x*", "x2"), ("q?", "q7"), ("~root", "r"), ("a{b,c}", "ab"), ("%41", "A")],
)
def test_a_path_is_the_name_of_one_file(tmp_path, monkeypatch, suffix, name, other):
    monkeypatch.chdir(tmp_path)
    for place, count in ((name, 240), (other, 99)):
        with (tmp_path / (place + suffix)).open("wb") as stream:  # by its name polars would write elsewhere
            rows(count).write_csv(stream) if suffix == ".csv" else rows(count).write_parquet(stream)
    assert len(load_table(name + suffix, "y")) == 240
    assert read_frame(tmp_path / (name + suffix)).height == 240
    assert len(read_column(tmp_path / (name + suffix), "a")) == 240
    assert len(load(name + suffix, "y", test=other + suffix)) == 339
    assert "240 rows" in doctor(name + suffix, label="y").examined[0]


@pytest.mark.parametrize("name", ["s3://bucket/t.csv", "http://host/t.csv", "hf://datasets/t.parquet", "file:///t.csv"])
def test_an_address_is_never_fetched(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="there is no file"):
        load_table(name, "y")
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream:
        rows(30).write_csv(stream) if name.endswith("csv") else rows(30).write_parquet(stream)
    assert len(load_table(name if not name.startswith("file") else path, "y")) == 30


def csv_with(content):
    return lambda path: path.write_bytes(content)


def parquet_with(**columns):
    frame = rows(12).with_columns(**columns)
    return lambda path: frame.write_parquet(path)


def fifo(path):
    os.mkfifo(path)


HOSTILE = [
    ("t.csv", csv_with(b"a,y\n1,2\0\n3,4\n"), "contains NUL bytes"),
    ("t.csv", csv_with("a,y\n1,0\n".encode("utf-16-le") * 9), "contains NUL bytes"),
    ("t.csv", csv_with(b"a,y\n1,caf\xe9\n2,b\n"), "is not UTF-8 text"),
    ("t.csv", csv_with(b"a\xff,y\n1,0\n2,1\n"), "is not UTF-8 text"),
    ("t.csv", csv_with(b"n" * LENGTH + b",y\n1,0\n2,1\n"), "the column names cannot be read"),
    ("t.csv", csv_with(b'"' + b"n\n" * LENGTH + b",y\n1,0\n2,1\n"), "the column names cannot be read"),
    ("t.csv", csv_with(gzip.compress(b"a,y\n1,0\n2,1\n")), "is compressed"),
    ("t.csv", csv_with(zlib.compress(b"a,y\n1,0\n2,1\n" * 99, 1)), "is compressed"),
    ("t.csv", csv_with(zlib.compress(b"a,y\n1,0\n2,1\n" * 99, 9)), "is compressed"),
    ("t.csv", fifo, "is a named pipe, and only regular files are read"),
    ("t.parquet", fifo, "is a named pipe, and only regular files are read"),
    ("t.parquet", csv_with(b"PAR1" + b"\xff" * 50 + b"PAR1"), "is not a readable Parquet file"),
    ("t.parquet", parquet_with(y=pl.Series([[1]] * 12)), "column 'y' has values of type List"),
    ("t.parquet", parquet_with(y=pl.Series([b"\xff"] * 12)), "column 'y' has values of type Binary"),
    ("t.parquet", parquet_with(y=pl.Series([None] * 12)), "label 'y' has 12 missing values"),
]


@pytest.mark.parametrize(("name", "make", "message"), HOSTILE)
def test_hostile_tables_are_one_line(tmp_path, capfd, name, make, message):
    path = tmp_path / name
    make(path)
    with pytest.raises(InputError, match=message) as caught:
        load_table(path, "y")
    said = str(caught.value)
    assert "\n" not in said
    assert len(said) < 800 + len(str(path))
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pl.Series([[1]] * 12), "its values are of type List"),
        (pl.Series([{"k": 1}] * 12), "its values are of type Struct"),
        (pl.Series([np.zeros(2)] * 12, dtype=pl.Array(pl.Float64, 2)), "its values are of type Array"),
        (pl.Series([b"\xff"] * 12), "its values are of type Binary"),
        (pl.Series([None] * 12), "it has no values"),
    ],
)
def test_columns_that_nothing_can_be_learned_from_are_left_out_with_the_reason(tmp_path, column, reason):
    rows(60).head(12).with_columns(c=column).write_parquet(tmp_path / "t.parquet")
    treatment = load(tmp_path / "t.parquet", "y").treatment
    assert {"column": "c", "kind": "dropped", "done": reason, "features": 0} in treatment
    assert [one["column"] for one in treatment if one["kind"] == "number"] == ["a", "b"]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 0] * 6, dtype=pl.Int128),
        pl.Series([1, 0] * 6, dtype=pl.UInt8),
        pl.Series([decimal.Decimal("1.5"), decimal.Decimal("0.25")] * 6),
        pl.Series([2**100, 3 * 2**100] * 6, dtype=pl.Int128),
    ],
)
def test_wide_numbers_are_numbers_labels_and_ids(tmp_path, column):
    rows(12).with_columns(w=column).write_parquet(tmp_path / "t.parquet")
    held = load_table(tmp_path / "t.parquet", "y")
    assert held.inputs[:, 2] == pytest.approx([float(value) for value in column], rel=1e-6)
    assert len(load_table(tmp_path / "t.parquet", "w").classes) == 2
    assert read_column(tmp_path / "t.parquet", "w").tolist() == [str(value) for value in column]


def test_a_file_name_that_is_no_utf_8(tmp_path):
    path = tmp_path / os.fsdecode(b"caf\xe9.csv")
    with path.open("wb") as stream:
        rows(30).write_csv(stream)
    assert len(load_table(path, "y")) == 30
    with pytest.raises(InputError, match="has no column 'z'"):
        load_table(path, "z")


def test_more_than_fits_is_refused_before_it_is_read(tmp_path, monkeypatch):
    from softlabel import memory

    header = ",".join(f"c{place}" for place in range(2000)) + ",y\n"
    (tmp_path / "t.csv").write_text(header + "\n" * 2000)  # a cell for every line and name
    frame = pl.DataFrame({f"c{place}": np.zeros(20_000) for place in range(20)})
    frame.write_parquet(tmp_path / "t.parquet")  # zeros take next to nothing
    monkeypatch.setattr(memory, "available_memory", lambda: 5_000_000)
    monkeypatch.setattr(pl, "read_csv", None)
    monkeypatch.setattr(pl, "read_parquet", None)
    for name in ("t.csv", "t.parquet"):
        with pytest.raises(InputError, match=r"needs .* of memory, and 4.8 MiB are available"):
            read_frame(tmp_path / name)


class Counted(str):
    """A name that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Counted.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.mark.parametrize("work", ["header", "wanted"])
def test_names_are_compared_a_linear_number_of_times(tmp_path, monkeypatch, work):
    def comparisons(count):
        names = [Counted(f"c{place}") for place in range(count)]
        Counted.compared = 0
        if work == "header":
            monkeypatch.setattr(frames.csv, "reader", lambda *given, **more: iter([names]))
            frames._header(b"", tmp_path)
        else:
            need_columns([Counted(name) for name in names], names, tmp_path)
        return Counted.compared

    assert comparisons(2000) <= 4 * 2000
    assert comparisons(2000) <= 3 * max(1, comparisons(1000)) + 100


def test_names_twice_are_found_among_many(tmp_path):
    names = [f"c{place}" for place in range(20_000)]
    (tmp_path / "t.csv").write_text(",".join([*names, "c7", "y"]) + "\n" + ",".join(["1"] * 20_002) + "\n")
    with pytest.raises(InputError, match="columns of the same name: c7; rename them"):
        read_frame(tmp_path / "t.csv")


def test_a_file_that_ends_the_process_that_reads_it_is_refused(tmp_path, monkeypatch):
    """polars aborts where a damaged page asks for too much memory; here the reader ends at every file."""
    deadly = tmp_path / "deadly.py"
    deadly.write_text("import os, sys\nsys.stdin.buffer.read(16)\nos.abort()\n")
    rows(30).write_parquet(tmp_path / "t.parquet")
    monkeypatch.setattr(trial, "_reader", trial._Reader())
    monkeypatch.setattr(trial, "_READER", deadly)
    for _ in range(2):
        with pytest.raises(InputError, match=r"is not a readable Parquet file \(damaged\?\)"):
            read_frame(tmp_path / "t.parquet")
    monkeypatch.undo()
    assert read_frame(tmp_path / "t.parquet").height == 30


def test_a_header_may_be_longer_than_one_line(tmp_path):
    (tmp_path / "t.csv").write_text('"a\nb","a","y"\n1,2,0\n3,4,1\n')
    assert read_frame(tmp_path / "t.csv").columns == ["a\nb", "a", "y"]


def test_a_first_column_called_x_hat_is_text(tmp_path):
    (tmp_path / "t.csv").write_text("x^,y\n1,0\n2,1\n3,1\n4,0\n")
    assert load_table(tmp_path / "t.csv", "y").columns == ("x^",)
    content = io.BytesIO()
    rows(30).write_csv(content)
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf" + content.getvalue())
    assert load_table(tmp_path / "bom.csv", "y").columns == ("a", "b")


def test_mutated_files_are_read_or_refused_in_one_line(tmp_path, capfd):
    content = io.BytesIO()
    frame = rows(60).with_columns(name=pl.Series(["é", "b", "c"] * 20))
    frame.write_parquet(content)
    said = refusals(content.getvalue(), tmp_path / "t.parquet", lambda path: load_table(path, "y", ["name"]), 200)
    said += refusals(frame.write_csv().encode(), tmp_path / "t.csv", lambda path: load_table(path, "y", ["name"]), 100)
    assert len(said) > 100
    assert not [line for line in said if "\n" in line]
    assert capfd.readouterr().err == ""


def test_quotes_in_column_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('"say ""b""",say "c","x,y",\n1,02,3,4\n')
    frame = read_frame(path, text=['say "b"', 'say "c"'])
    assert frame.columns == ['say "b"', 'say "c"', "x,y", ""]
    assert frame.row(0) == ("1", "02", 3, 4)


def test_a_row_with_too_many_entries_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,2\n"3\n3",4\n5,6,7\n')
    with pytest.raises(InputError, match=r"row 3 has 3 entries, but there are 2 columns: correct it .*','"):
        read_frame(path)
