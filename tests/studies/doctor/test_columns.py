"""Tables as people have them: every kind of column, with the trouble that it makes."""

import numpy as np
import polars as pl
import pytest

from softlabel.data.roles import ColumnRoles
from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.identifiers import is_named_as_id, looks_like_id

ROWS = 120


def made(rows=ROWS, seed=1, **columns):
    """Two columns of noise, more columns, and a label."""
    x = np.random.default_rng(seed).standard_normal((rows, 2)).round(6)
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], **columns, "kind": ["cat", "dog"] * (rows // 2)})


def examine(tmp_path, frame, *others, **options):
    paths = []
    for k, one in enumerate((frame, *others)):
        paths.append(tmp_path / f"part{k}.csv")
        one.write_csv(paths[-1])
    return doctor(*paths, label="kind", **options)


def finding(result, name):
    (one,) = [one for one in result.findings if one.name == name]
    return one


def names(result):
    return {one.name for one in result.findings}


def test_a_saved_index_is_left_out(tmp_path):
    """As pandas writes it: the first column, without a name."""
    result = examine(tmp_path, made().select(pl.int_range(ROWS).alias(""), pl.all()))
    assert names(result) == {"id among the inputs"}
    assert "nothing: it is left out" in result.findings[0].remedy
    assert result.columns[0] == {"column": "", "kind": "dropped", "done": "it numbers the rows", "features": 0}


def test_shuffled_numbers_of_rows_are_ids(tmp_path):
    """All different, though random numbers of this range would repeat: an index of rows that were shuffled."""
    rows = np.random.default_rng(0).permutation(200)[:ROWS]
    one = finding(examine(tmp_path, made(before=rows)), "id among the inputs")
    assert "`drop` 'before'" in one.remedy
    salary = np.random.default_rng(0).permutation(10**6)[:ROWS]
    assert "id among the inputs" not in names(examine(tmp_path, made(salary=salary)))


@pytest.mark.parametrize(("values", "is_id"), [(range(100), True), (range(0, 10_000, 100), False), ([1] * 100, False),
                                               (range(10), False)])  # fmt: skip
def test_integers_that_never_repeat(values, is_id):
    assert looks_like_id(pl.Series("x", list(values)), None) == is_id


def test_names_of_ids():
    assert all(is_named_as_id(name) for name in ("id", "patient_id", "Unnamed: 0", "rownames", "customerId"))
    assert not any(is_named_as_id(name) for name in ("age", "width", "paid", "humid"))


def test_repeated_ids_are_groups(tmp_path):
    frame = made(patient_id=np.random.default_rng(0).integers(1000, 1030, ROWS))
    one = finding(examine(tmp_path, frame), "repeated ids among the inputs")
    assert "`group` 'patient_id'" in one.remedy
    assert one.evidence["rows"] == ROWS
    result = examine(tmp_path, frame, roles=ColumnRoles(group="patient_id"))
    assert result.findings == ()
    assert [one["column"] for one in result.columns] == ["a", "b"]


def test_groups_in_two_files(tmp_path):
    first = made(patient=[f"p{k % 30}" for k in range(ROWS)])
    second = made(30, seed=2, patient=[f"p{25 + k % 10}" for k in range(30)])
    one = finding(examine(tmp_path, first, second, roles=ColumnRoles(group="patient")), "groups in two splits")
    assert (one.severity, one.evidence["rows of groups in both"], one.evidence["of"]) == ("mistake", 15, 30)


@pytest.mark.parametrize(
    ("entries", "style", "value"),
    [
        ([f"{k % 40},5" for k in range(ROWS)], "1.234,5", 0.5),
        ([f"{k % 40}.000,25 €" for k in range(1, ROWS + 1)], "1.234,5", 1000.25),
        ([f"$1,{100 + k % 40}.50" for k in range(ROWS)], "1,234.5", 1100.5),
    ],
)
def test_numbers_that_are_written_otherwise_are_understood(tmp_path, entries, style, value):
    result = examine(tmp_path, made(price=entries))
    one = finding(result, "numbers written as text")
    assert one.severity == "hint"
    assert (one.evidence["written as"], one.evidence["read as"]) == (style, value)
    assert "`categorical` 'price'" in one.remedy
    assert {one["column"]: one["kind"] for one in result.columns}["price"] == "number"


def test_numbers_with_a_unit(tmp_path):
    one = finding(
        examine(tmp_path, made(weight=[f"{60 + k % 20}.5 kg" for k in range(ROWS)])), "numbers written as text"
    )
    assert one.severity == "mistake"
    assert one.evidence["the unit"] == "'kg'"
    assert "remove 'kg'" in one.remedy
    mixed = made(weight=[f"{60 + k % 20} {'kg' if k % 2 else 'lb'}" for k in range(ROWS)])
    assert "numbers written as text" not in names(examine(tmp_path, mixed))


def test_one_word_among_numbers(tmp_path):
    entries = [str(k % 40) for k in range(ROWS)]
    entries[6] = "unknown"
    one = finding(examine(tmp_path, made(size=entries)), "numbers written as text")
    assert (one.severity, one.evidence["the first"], one.evidence["in row"]) == ("mistake", "'unknown'", 7)
    assert one.evidence["numbers"] == ROWS - 1
    assert "`numeric` 'size'" in one.remedy
    entries[6] = "NA"
    assert "numbers written as text" not in names(examine(tmp_path, made(size=entries)))


def test_dates(tmp_path):
    days = [f"{1 + k % 28:02d}.{1 + k % 12:02d}.2024" for k in range(ROWS)]
    one = finding(examine(tmp_path, made(day=days)), "dates among the inputs")
    assert one.evidence["written as"] == "%d.%m.%Y"
    assert "`time` 'day'" in one.remedy
    assert examine(tmp_path, made(day=days), roles=ColumnRoles(time="day")).findings == ()


def test_a_time_that_cannot_be_read_is_a_finding(tmp_path):
    result = examine(tmp_path, made(day=["soon", "later"] * (ROWS // 2)), roles=ColumnRoles(time="day"))
    assert "'soon' in row 1, which is neither a number nor a date" in finding(result, "table is refused").remedy


def test_many_categories(tmp_path):
    rng = np.random.default_rng(0)
    frame = made(1200, town=[f"town {k}" for k in rng.integers(0, 200, 1200)])
    one = finding(examine(tmp_path, frame), "many categories")
    assert one.evidence["different values"] == frame["town"].n_unique()
    shown = one.evidence["values with a feature of their own"]
    largest = sorted(frame["town"].value_counts()["count"].to_list())[-shown:]
    assert one.evidence["rows with other values, which share one"] == 1200 - sum(largest)
    assert "`group` 'town'" in one.remedy


def test_text(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(30)]
    frame = made(notes=[" ".join(rng.choice(words, 5)) for _ in range(ROWS)])
    assert "`drop` 'notes'" in finding(examine(tmp_path, frame), "text among the inputs").remedy
    assert examine(tmp_path, frame, drop=["notes"]).findings == ()


def test_text_that_names_the_rows_hides_no_duplicate(tmp_path):
    frame = pl.concat([made(), made()[:3]]).with_columns(
        pl.Series("name", [f"Mr. Number {k} of many" for k in range(ROWS + 3)])
    )
    assert finding(examine(tmp_path, frame), "rows twice").evidence["rows that occur before"] == 3


def test_mostly_empty_columns(tmp_path):
    frame = made(remark=[None] * 100 + ["good"] * 20, size=[None] + [float(k % 7) for k in range(ROWS - 1)])
    one = finding(examine(tmp_path, frame), "missing values")
    assert one.evidence["in columns"] == "remark 100, size 1"
    assert one.evidence["missing values"] == 101
    assert "mostly empty: `drop` 'remark'" in one.remedy
    assert "'size'" not in one.remedy


def test_columns_of_lists_are_left_out(tmp_path):
    frame = made().with_columns(pl.Series("list", [[k, 1] for k in range(ROWS)]))
    frame.write_parquet(tmp_path / "t.parquet")
    result = doctor(tmp_path / "t.parquet", label="kind")
    assert result.findings == ()
    assert {one["column"]: one["kind"] for one in result.columns}["list"] == "dropped"


def test_entries_of_another_split_that_are_no_numbers(tmp_path):
    first, second = made(size=[k % 7 for k in range(ROWS)]), made(30, seed=2, size=[*["7"] * 29, "big"])
    one = finding(examine(tmp_path, first, second), "columns differ")
    assert (one.where["column"], one.evidence["the first other entry"], one.evidence["in row"]) == ("size", "'big'", 30)


def test_the_user_decides_what_a_column_is(tmp_path):
    frame = made(zip=[f"{10_000 + k}" for k in np.random.default_rng(0).integers(0, 40, ROWS)])
    kinds = {one["column"]: one["kind"] for one in examine(tmp_path, frame).columns}
    assert kinds["zip"] == "number"
    result = examine(tmp_path, frame, roles=ColumnRoles(categorical=["zip"]))
    assert {one["column"]: one["kind"] for one in result.columns}["zip"] == "category"
    assert names(result) == {"many categories"}


def test_long_ids_are_not_called_constant(tmp_path):
    """They differ by less than float32 resolves."""
    result = examine(tmp_path, made(id=10**18 + np.random.default_rng(0).permutation(ROWS)))
    assert names(result) == {"id among the inputs"}


@pytest.mark.parametrize(("words", "noticed"), [(["unknown"], True), (["refused", "unknown"], True),
                                                (["a", "b", "c", "d", "e"], False)])  # fmt: skip
def test_numbers_beside_a_few_words(tmp_path, words, noticed):
    """Words that stand for missing values make a column of numbers a column of categories."""
    rng = np.random.default_rng(0)
    ages = [str(rng.choice(words)) if rng.random() < 0.3 else str(rng.integers(18, 80)) for _ in range(ROWS)]
    result = examine(tmp_path, made(age=ages))
    assert ("numbers written as text" in names(result)) == noticed
    if noticed:
        assert finding(result, "numbers written as text").evidence["other entries"] == sum(a in words for a in ages)


def test_codes_with_numbers_and_letters_are_categories(tmp_path):
    floors = [("G", "1", "2", "3")[k % 4] for k in range(ROWS)]
    assert "numbers written as text" not in names(examine(tmp_path, made(floor=floors)))
