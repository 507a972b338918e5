"""Files that cannot be read, and what is said about them."""

import pickle

import numpy as np
import polars as pl
import pytest

from softlabel.data.table_files import read_table
from softlabel.errors import InputError


@pytest.fixture
def write(tmp_path):
    def save(name: str, content: str | bytes):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return save


def complaint(path, label=None, **options) -> str:
    with pytest.raises(InputError) as caught:
        read_table(path, label, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert str(path) in message
    return message


FRAME = pl.DataFrame({"a": [1, 2, 3], "b": [0.5, 1.5, 2.5], "y": ["no", "yes", "no"]})


def test_csv_and_parquet_give_the_same_table(tmp_path):
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "semicolons.csv", separator=";")
    FRAME.write_csv(tmp_path / "tabs.tsv", separator="\t")
    FRAME.write_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "semicolons.csv", "tabs.tsv", "t.parquet"):
        table = read_table(tmp_path / name, "y")
        assert table.columns == ("a", "b")
        assert table.inputs.dtype == np.float32
        assert table.inputs.flags.c_contiguous
        np.testing.assert_array_equal(table.inputs, [[1, 0.5], [2, 1.5], [3, 2.5]])
        assert table.labels.tolist() == ["no", "yes", "no"]
        assert read_table(tmp_path / name, "y", ["a"]).columns == ("b",)


def test_a_byte_order_mark_is_no_part_of_a_name(write):
    assert read_table(write("t.csv", "\ufeffa,y\n1,0\n2,1\n"), "y").columns == ("a",)


@pytest.mark.parametrize("name", ["X", "x", "data", "inputs"])
def test_npz(tmp_path, name):
    path = tmp_path / "t.npz"
    np.savez(path, **{name: np.arange(6).reshape(3, 2), "y": [0, 1, 0], "z": [["p"], ["q"], ["q"]]})
    table = read_table(path, None)
    assert table.inputs.tolist() == [[0, 1], [2, 3], [4, 5]]
    assert table.labels.tolist() == [0, 1, 0]
    assert read_table(path, "z").labels.tolist() == ["p", "q", "q"]
    assert read_table(path, None, ["0"]).inputs.tolist() == [[1], [3], [5]]


def test_npz_of_images_keeps_their_shape(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.zeros((3, 4, 5), np.uint8), y=[0, 1, 0])
    table = read_table(tmp_path / "t.npz", None)
    assert table.inputs.shape == (3, 20)
    assert table.image_shape == (4, 5)


@pytest.mark.parametrize(
    ("label", "inputs"), [("last", [[0, 1], [3, 4]]), ("0", [[1, 2], [4, 5]]), ("-2", [[0, 2], [3, 5]])]
)
def test_npy(tmp_path, label, inputs):
    np.save(tmp_path / "t.npy", np.arange(6.0).reshape(2, 3))
    assert read_table(tmp_path / "t.npy", label).inputs.tolist() == inputs


def test_files_that_are_not_there_or_of_no_kind(write, tmp_path):
    assert "there is no file" in complaint(tmp_path / "none.csv")
    assert "is a folder: name a file" in complaint(tmp_path)
    assert "ends in '.xlsx': softlabel reads .csv, .tsv, .parquet, .npz, .npy" in complaint(write("t.xlsx", "x"))


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.npz", "t.npy"])
def test_empty_files(write, name):
    assert "is empty (0 bytes)" in complaint(write(name, b""), "y")


@pytest.mark.parametrize("name", ["t.parquet", "t.npz", "t.npy"])
@pytest.mark.parametrize(
    "content", [b"a,b,y\n1,2,3\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04rest", b"PAR1PAR1", b"\x80\x04]."]
)
def test_files_of_another_kind(write, name, content):
    assert "is not a readable" in complaint(write(name, content), "y")


def test_truncated_files(tmp_path):
    np.savez_compressed(tmp_path / "t.npz", X=np.random.default_rng(0).random((50, 4)), y=np.arange(50) % 2)
    np.save(tmp_path / "t.npy", np.zeros((50, 4), np.float32))
    FRAME.write_parquet(tmp_path / "t.parquet")
    for name in ("t.npz", "t.npy", "t.parquet"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-100])
        assert "is not a readable" in complaint(path, "last")


def test_a_damaged_npz_member(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.ones((50, 4)), y=np.arange(50) % 2)
    raw = bytearray(path.read_bytes())
    raw[400] ^= 0xFF
    path.write_bytes(raw)
    assert "is not a readable NPZ" in complaint(path)


@pytest.mark.parametrize("name", ["t.csv"])
def test_a_csv_that_is_none(write, name):
    assert "not UTF-8 text: save it as" in complaint(write(name, b"\xff\xfe\x00\x01"), "y")
    assert "row 2 has 4 entries, but there are 2 columns" in complaint(write(name, "a,y\n1,2\n3,4,5,6\n"), "y")
    assert "has 0 rows" in complaint(write(name, "a,y\n"), "y")
    assert "0 input columns" in complaint(write(name, "y\n1\n2\n"), "y")


def test_swapped_extensions(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)), y=[0, 1])
    (tmp_path / "t.npz").rename(tmp_path / "a.npy")
    np.save(tmp_path / "t.npy", np.ones((2, 2)))
    (tmp_path / "t.npy").rename(tmp_path / "b.npz")
    assert "is an NPZ archive, not one array: rename it to 'a.npz'" in complaint(tmp_path / "a.npy", "last")
    assert "holds one array, not an NPZ archive: rename it to 'b.npy'" in complaint(tmp_path / "b.npz")


def test_python_objects_are_never_unpickled(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    np.save(tmp_path / "t.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "t.npz", X=objects, y=[0, 1])
    assert "never unpickles" in complaint(tmp_path / "t.npy", "last")
    assert "never unpickles" in complaint(tmp_path / "t.npz")


def test_columns_that_are_not_there(write):
    path = write("t.csv", "age,Sick\n1,0\n2,1\n")
    assert "needs a label column: pass `label`, one of age, Sick" in complaint(path)
    assert "has no column 'sikc': did you mean 'Sick'? there are age, Sick" in complaint(path, "sikc")
    assert "has no column 'height'" in complaint(path, "Sick", drop=["height"])
    assert "cannot be dropped as well: remove it from `drop`" in complaint(path, "Sick", drop=["Sick"])
    wide = write("w.csv", ",".join(f"c{i}" for i in range(100)) + "\n" + ",".join("1" * 100) + "\n")
    assert complaint(wide, "zzz").endswith("c19 and 80 more")
    assert "has no column names: its first line is numbers (5.1, 3.5)" in complaint(
        write("n.csv", "5.1,3.5\n1,0\n"), "y"
    )


def test_text_columns(write):
    path = write("t.csv", "a,city,first name,y\n1,Rome,Ann,0\n2,Oslo,Bo,1\n")
    message = complaint(path, "y")
    assert "columns that are not numbers: city, first name ('city' contains 'Rome')" in message
    assert message.endswith("leave them out with `drop` 'city', 'first name'")
    assert read_table(path, "y", ["city", "first name"]).columns == ("a",)


def test_words_for_missing_become_missing_numbers(write):
    table = read_table(write("t.csv", "a,b,y\n1,NA,0\n?,2,1\n3,,1\n"), "y")
    np.testing.assert_array_equal(np.isnan(table.inputs), [[False, True], [True, False], [False, True]])
    empty = read_table(write("e.csv", "a,b,y\n1,,0\n2,,1\n"), "y")
    assert np.isnan(empty.inputs[:, 1]).all()


def test_dates_are_no_numbers(tmp_path):
    frame = FRAME.with_columns(pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 3)).alias("when"))
    frame.write_parquet(tmp_path / "t.parquet")
    assert "not numbers: when ('when' contains '2020-01-01')" in complaint(tmp_path / "t.parquet", "y")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": np.ones((2, 2)), "y": [0, 1]}, "no array of inputs called any of X, x, data, inputs: it has A, y"),
        ({"X": np.ones((2, 2))}, "no array of labels called any of y, Y, labels, label, target: it has X"),
        ({"X": np.ones((3, 2)), "y": [0, 1]}, "inputs 'X' have shape (3, 2), labels 'y' (2,)"),
        ({"X": np.ones(2), "y": [0, 1]}, "must be (n, d)"),
        ({"X": np.ones((2, 2)), "y": np.eye(2)}, "labels must have shape (n,)"),
        ({"X": np.ones((2, 2), complex), "y": [0, 1]}, "inputs of type complex128"),
        ({"X": np.array([["a"], ["b"]]), "y": [0, 1]}, "inputs of type <U1"),
        ({"X": np.ones((2, 2)), "y": np.ones(2, complex)}, "labels of type complex128"),
        ({"X": np.ones((0, 2)), "y": np.ones(0)}, "with the same n and not empty"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    assert message in complaint(tmp_path / "t.npz")


def test_named_arrays_and_columns_that_are_not_there(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)), y=[0, 1])
    assert "called 'target': it has X, y" in complaint(tmp_path / "t.npz", "target")
    assert "all columns are dropped" in complaint(tmp_path / "t.npz", drop=["0", "1"])
    np.save(tmp_path / "t.npy", np.ones((2, 3)))
    assert "pass `label` as 'last' or a column number from 0 to 2" in complaint(tmp_path / "t.npy")
    assert "has no column '3': its columns are 0 to 2, or 'last'" in complaint(tmp_path / "t.npy", "3")
    assert "has no column 'y'" in complaint(tmp_path / "t.npy", "y")
    np.save(tmp_path / "flat.npy", np.ones(3))
    assert "shape (3,): it must be (n, d + 1)" in complaint(tmp_path / "flat.npy", "last")


@pytest.mark.parametrize("value", ["1,5", "1.000,25", "12 %", "3 €"])
def test_numbers_as_some_countries_write_them_get_their_remedy(write, value):
    path = write("t.csv", f"a;y\n{value};0\n{value};1\n")
    assert "write numbers with a decimal point" in complaint(path, "y")


def test_nobody_is_told_to_unpickle(write):
    said = complaint(write("t.npy", pickle.dumps({"a": 1})), "last")
    assert "is not a readable NPY file" in said
    assert "pickle" not in said
