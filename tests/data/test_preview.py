"""A look at a table: what is counted, what is shown, and which columns could be the label."""

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import softlabel as sl

ROWS = 60
RNG = np.random.default_rng(0)
TABLE = pl.DataFrame(
    {
        "id": range(ROWS),
        "size": RNG.normal(size=ROWS),
        "place": ["Rome", "Bonn", None] * (ROWS // 3),
        "<b>note</b>": ["<script>alert(1)</script>", "x" * 200] * (ROWS // 2),
        "when": ["2024-01-31", "2024-02-01"] * (ROWS // 2),
        "same": [7] * ROWS,
        "rain": [True, False] * (ROWS // 2),
        "count": [1, 2, 3, 4] * (ROWS // 4),
    }
)


@pytest.fixture
def save(tmp_path):
    """Write a frame or the columns of one to a CSV file, and look at it."""

    def write(columns, name="t.csv"):
        frame = pl.DataFrame(columns)
        frame.write_parquet(tmp_path / name) if name.endswith("parquet") else frame.write_csv(tmp_path / name)
        return tmp_path / name

    return write


def look(path) -> dict[str, sl.ColumnPreview]:
    return {column.name: column for column in sl.preview(path).columns}


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_columns_of_a_table(save, name):
    table = sl.preview(save(TABLE, name))
    assert (table.name, table.rows) == (name, ROWS)
    columns = {column.name: column for column in table.columns}
    assert list(columns) == TABLE.columns
    kinds = {name: column.kind for name, column in columns.items()}
    assert kinds == {"id": "dropped", "size": "number", "place": "category", "<b>note</b>": "category", "when": "date",
                     "same": "dropped", "rain": "number", "count": "number"}  # fmt: skip
    assert columns["id"].reason == "it numbers the rows"
    assert columns["place"].examples == ("Rome", "Bonn")
    assert (columns["place"].missing, columns["place"].distinct) == (ROWS // 3, 2)
    assert columns["count"].examples == ("1", "2", "3")
    assert (columns["count"].missing, columns["count"].distinct) == (0, 4)
    assert columns["size"].distinct == ROWS
    assert columns["<b>note</b>"].examples == ("<script>alert(1)</script>", "x" * 79 + "…")


def test_the_first_rows_are_text_as_the_file_has_them(save):
    head = sl.preview(save(TABLE)).head
    assert len(head) == 5
    assert head[0][2:] == ("Rome", "<script>alert(1)</script>", "2024-01-31", "7", "true", "1")
    assert head[2][2] == ""
    assert float(head[1][1]) == TABLE["size"][1]
    assert len(sl.preview(save(TABLE.head(3))).head) == 3


def test_words_for_missing_values_are_missing(save):
    columns = look(save({"a": ["1.5", "NA", "?", "2.5"] * 9, "b": ["x", " ", "y", "none"] * 9}))
    assert (columns["a"].kind, columns["a"].missing, columns["a"].distinct) == ("number", 18, 2)
    assert (columns["b"].missing, columns["b"].examples) == (18, ("x", "y"))


def test_columns_of_other_types_are_shown(save):
    frame = {
        "list": [[1, 2], [3], None],
        "bytes": [b"\x00", b"a", b"a"],
        "nan": [float("nan"), 1.0, 2.0],
        "y": [0, 1, 1],
    }
    path = save(frame, "t.parquet")
    columns = look(path)
    assert (columns["list"].kind, columns["list"].examples) == ("dropped", ("[1, 2]", "[3]"))
    assert (columns["list"].missing, columns["list"].distinct) == (1, 2)
    assert (columns["bytes"].kind, columns["bytes"].distinct) == ("dropped", 2)
    assert (columns["nan"].missing, columns["nan"].distinct) == (1, 2)
    assert sl.preview(path).label_candidates == ("y",)


def test_labels_are_usual_names_then_words_then_numbers_and_the_last_first(save):
    assert sl.preview(save(TABLE)).label_candidates == ("rain", "<b>note</b>", "place", "count")
    others = {"kind_of_class": [0, 1] * 30, "isFraud": [0, 1] * 30, "a": ["p", "q"] * 30, "y": [1.0, 2.0] * 30}
    frame = TABLE.select("count", "place").with_columns(pl.Series(name, values) for name, values in others.items())
    assert sl.preview(save(frame)).label_candidates == ("y", "isFraud", "kind_of_class", "a", "place", "count")


@pytest.mark.parametrize(
    "values",
    [
        range(ROWS),  # numbers the rows
        [f"person {k}" for k in range(ROWS)],  # identifies them
        [1] * ROWS,
        [0.5, 1.5] * (ROWS // 2),
        ["0,5", "1,5"] * (ROWS // 2),
        ["2024-01-31", "2024-02-01"] * (ROWS // 2),
        list(range(31)) + [0] * (ROWS - 31),  # too many
        [None] * ROWS,
    ],
)
def test_what_is_no_label(save, values):
    assert sl.preview(save({"label": values, "x": RNG.normal(size=ROWS)})).label_candidates == ()


def test_limits_of_the_number_of_classes(save):
    def candidates(classes, rows):
        return sl.preview(save({"y": [f"c{k % classes}" for k in range(rows)]})).label_candidates

    assert candidates(30, 60) == ("y",)
    assert candidates(30, 59) == ()
    assert candidates(31, 62) == ()
    assert candidates(20, 24) == ("y",)
    assert candidates(5, 5) == ()  # every row would be its own class
    assert candidates(5, 6) == ("y",)


def test_a_word_for_missing_values_may_name_a_class(save):
    path = save({"x": RNG.normal(size=ROWS), "pain": ["none", "severe"] * (ROWS // 2)})
    assert sl.preview(path).label_candidates == ("pain",)
    assert sl.load(path, "pain").classes == ("none", "severe")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["", "yes", "no", " yes", "NA", "1", "0", "1.0", "2024-01-31", "a b c", "'", "=1"]),
            st.integers(-3, 3).map(str),
            st.floats(-2, 2).map(str),
        ),
        min_size=30,
        max_size=80,
    )
)
def test_every_candidate_can_be_loaded(tmp_path, entries):
    x = np.random.default_rng(1).normal(size=len(entries)).round(3)
    path = tmp_path / "any.csv"
    pl.DataFrame({"x": x, "entry": entries}).write_csv(path)
    for name in sl.preview(path).label_candidates:
        try:
            problem = sl.load(path, name, leave_out="(missing)")
        except sl.InputError as refusal:  # a class of one or two rows cannot be split, which only a split shows
            refused = str(refusal)
        else:
            refused = ""
            assert 2 <= len(problem.classes) <= 30
        assert not refused or "rows" in refused


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(TABLE.columns), min_size=1, unique=True), st.integers(0, 1))
def test_what_is_announced_for_a_table_that_needs_an_encoder_is_done(tmp_path, names, gap):
    """Except for the label and the columns that its choice leaves out."""
    frame = TABLE.select(names).with_columns(
        pl.Series("gaps", [None, 1.5, 2.5] * (ROWS // 3)), pl.Series("y", [0, 1] * 30)
    )
    path = tmp_path / "any.csv"
    frame.write_csv(path)
    planned = {name: column.kind for name, column in look(path).items() if name != "y"}
    done = {one["column"]: one["kind"] for one in sl.load(path, "y").treatment}
    assert done == planned


def test_npz(tmp_path):
    path = tmp_path / "t.npz"
    X, y = RNG.normal(size=(ROWS, 2)).astype(np.float16), np.arange(ROWS) % 3
    objects = np.array(["a", None], dtype=object)
    np.savez(
        path, X=X, y=y, kind=np.array([["a"], ["b"]] * 30), noise=RNG.normal(size=ROWS), short=y[:9], objects=objects
    )
    table = sl.preview(path)
    assert [column.name for column in table.columns] == ["0", "1", "y", "kind", "noise"]
    assert table.label_candidates == ("y", "kind")
    assert [column.kind for column in table.columns] == ["number", "number", "number", "category", "number"]
    assert all(sl.load(path, name).X.shape == (ROWS, 2) for name in table.label_candidates)


def test_npy(tmp_path):
    path = tmp_path / "t.npy"
    array = np.c_[RNG.normal(size=(ROWS, 2)), np.ones(ROWS), np.arange(ROWS) % 2]
    np.save(path, array)
    table = sl.preview(path)
    assert [column.kind for column in table.columns] == ["number"] * 4  # as they are, constant ones included
    assert table.label_candidates == ("3",)
    assert sl.load(path, "3").X.shape == (ROWS, 3)
    array[0, 0] = np.nan
    np.save(path, array)
    table = sl.preview(path)
    assert [column.kind for column in table.columns] == ["number", "number", "dropped", "number"]
    assert table.columns[0].missing == 1
    done = {one["column"]: one["kind"] for one in sl.load(path, "3").treatment}
    assert done == {"0": "number", "1": "number", "2": "dropped"}


def test_columns_that_are_numbered_by_a_program_have_names(save):
    assert sl.preview(save({"0": [1.5, 2.5] * 9, "1": ["a", "b"] * 9})).label_candidates == ("1",)
    with pytest.raises(sl.InputError, match="has no column names: its first line is numbers"):
        sl.preview(save({"5.1": [1.5, 2.5] * 9, "0": [0, 1] * 9}))


def test_what_cannot_be_looked_at_is_one_line(tmp_path):
    def complaint(data) -> str:
        with pytest.raises(sl.InputError) as caught:
            sl.preview(data)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def file(name, content=b"a,b\n1,2\n"):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    assert "there is no file" in complaint(tmp_path / "nowhere.csv")
    assert "is a folder" in complaint(tmp_path)
    assert "ends in '.xls'" in complaint(file("t.xls"))
    assert "is not UTF-8 text" in complaint(file("t.csv", "a,b\né,2\n".encode("latin-1")))
    assert "is not a readable Parquet file" in complaint(file("t.parquet"))
    assert "is not a readable NPZ file" in complaint(file("t.npz"))
    assert "has 0 rows" in complaint(file("empty.csv", b"a,b\n"))
    assert "data must be the name of a file, got ndarray" in complaint(np.zeros((2, 2)))
    np.savez(tmp_path / "images.npz", images=np.zeros((4, 8, 8)), labels=[0, 1, 0, 1])
    assert "holds images" in complaint(tmp_path / "images.npz")
    np.savez(tmp_path / "odd.npz", features=np.zeros((4, 8)))
    assert "has no array of inputs" in complaint(tmp_path / "odd.npz")
    np.save(tmp_path / "flat.npy", np.zeros(4))
    assert "it must be (n, d + 1)" in complaint(tmp_path / "flat.npy")
    np.save(tmp_path / "text.npy", np.array([["a", "b"], ["c", "d"]]))
    assert "convert them to real numbers" in complaint(tmp_path / "text.npy")


def test_the_short_form_is_one_line(save):
    assert repr(sl.preview(save(TABLE))) == (
        "<TablePreview t.csv: 60 rows, 8 columns; the label could be rain, <b>note</b>, place>"
    )
    assert "no column could be the label" in repr(sl.preview(save({"x": [0.5, 1.5]})))
