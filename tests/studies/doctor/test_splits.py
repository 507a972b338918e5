"""Every mistake in data files is made on purpose, in files, and named; healthy files have no findings."""

import json
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data.roles import ColumnRoles
from softlabel.errors import InputError
from softlabel.studies.doctor import doctor


def made(rows=60, seed=1, classes=("cat", "dog", "fox")):
    """A table with three numeric columns and a label."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 3)).round(6)
    label = [classes[k] for k in np.arange(rows) % len(classes)]
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "kind": label})


def write(frame, path):
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def examine(tmp_path, *frames, suffix=".csv", **options):
    paths = [write(frame, tmp_path / f"part{place}{suffix}") for place, frame in enumerate(frames)]
    return doctor(*paths, label="kind", **options)


def only(result, name):
    """The one finding there is."""
    assert [finding.name for finding in result.findings] == [name]
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["findings"][0]["name"] == name
    return result.findings[0]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_healthy_files_have_no_findings(tmp_path, suffix):
    result = examine(tmp_path, made(), made(30, seed=2), made(30, seed=3), suffix=suffix)
    assert result.findings == ()
    assert len(result.examined) == 3
    assert "60 rows, 3 inputs, 3 classes" in result.examined[0]
    assert "another split" in result.examined[1]


def test_healthy_ids_and_text(tmp_path):
    def named(frame, first):
        count = frame.height
        return frame.with_columns(
            pl.Series("id", [f"p{first + k}" for k in range(count)]), pl.Series("town", ["Rome", "Oslo"] * (count // 2))
        )

    result = examine(tmp_path, named(made(), 0), named(made(30, seed=2), 100), id_column="id")
    assert result.findings == ()


def test_rows_on_both_sides(tmp_path):
    train, test = made(), made(30, seed=2)
    leaked = train[[4, 17, 30]].with_columns(pl.Series("kind", ["cat", "fox", "dog"]))  # 4 was dog, 17 fox, 30 cat
    finding = only(examine(tmp_path, train, pl.concat([test, leaked])), "rows in two splits")
    assert finding.severity == "mistake"
    assert finding.evidence["rows of part1.csv that part0.csv has too"] == 3
    assert finding.evidence["of"] == 33
    assert (finding.evidence["with the same label"], finding.evidence["with another"]) == (1, 2)
    pairs = finding.evidence["the first, in part0.csv and part1.csv"]
    assert pairs == "rows 5 and 31, rows 18 and 32, rows 31 and 33"


def test_rows_are_the_same_whatever_the_order_of_columns(tmp_path):
    train = made()
    result = examine(tmp_path, train, train[:9].select("kind", "c", "a", "b"))
    assert [finding.name for finding in result.findings] == ["rows in two splits"]


def test_every_pair_of_splits_is_compared(tmp_path):
    second = made(30, seed=2)
    result = examine(tmp_path, made(), second, pl.concat([made(30, seed=3), second[:2]]))
    finding = only(result, "rows in two splits")
    assert [path[-9:] for path in finding.where["files"]] == ["part1.csv", "part2.csv"]


def test_rows_twice_in_one_file(tmp_path):
    frame = made()
    finding = only(examine(tmp_path, pl.concat([frame, frame[[2, 7]]])), "rows twice")
    assert finding.evidence == {"rows that occur before": 2, "of": 62, "the first": "rows 3 and 61, rows 8 and 62"}
    assert "random split" in finding.remedy


def test_inputs_of_few_values_are_a_hint(tmp_path):
    count = 40
    frame = pl.DataFrame({"a": [0, 1] * count, "b": [0, 0, 1, 1] * (count // 2), "kind": ["x"] * count + ["y"] * count})
    result = examine(tmp_path, frame)
    twice = next(finding for finding in result.findings if finding.name == "rows twice")
    assert twice.severity == "hint"
    assert "only 4 different values" in twice.remedy


def test_a_column_that_numbers_the_rows_hides_no_duplicate(tmp_path):
    frame = pl.concat([made(), made()[:3]]).with_row_index("index")
    result = examine(tmp_path, frame)
    assert [(one.name, one.severity) for one in result.findings] == [
        ("rows twice", "mistake"),
        ("id among the inputs", "hint"),
    ]
    assert "it is left out" in result.findings[1].remedy
    assert "`id_column` 'index'" in result.findings[1].remedy


def test_the_same_input_with_different_labels(tmp_path):
    frame = made()
    again = frame[[0, 1]].with_columns(pl.Series("kind", ["fox", "dog"]))  # cat and dog before
    result = examine(tmp_path, pl.concat([frame, again]))
    assert [finding.name for finding in result.findings] == ["same input, different labels", "rows twice"]
    assert result.findings[0].evidence["the first"] == "rows 1 and 61"


def test_ids_twice_and_in_two_splits(tmp_path):
    def named(frame, ids):
        return frame.with_columns(pl.Series("id", ids))

    train = named(made(), [f"p{k}" for k in range(59)] + ["p3"])
    test = named(made(30, seed=2), ["p7", *(f"q{k}" for k in range(29))])
    result = examine(tmp_path, train, test, id_column="id")
    assert [finding.name for finding in result.findings] == ["ids in two splits", "ids twice"]
    shared, twice = result.findings
    assert (shared.evidence["ids in both"], shared.evidence["the first"]) == (1, "'p7'")
    assert (twice.evidence["the first"], twice.evidence["in rows"]) == ("'p3'", [4, 60])


@pytest.mark.parametrize(
    "values",
    [("cat", "dog", "fox"), ("A", "C", "B"), (3, 1, 2), (0.5, -1.25, 7.0)],
    ids=["equal", "text", "int", "float"],
)
def test_the_label_in_another_form_among_the_inputs(tmp_path, values):
    frame = made()
    code = dict(zip(("cat", "dog", "fox"), values, strict=True))
    frame = frame.with_columns(pl.Series("code", [code[name] for name in frame["kind"]]))
    finding = only(examine(tmp_path, frame), "label among the inputs")
    assert finding.where["column"] == "code"
    assert "'code' is the label in another form" in finding.remedy


def test_columns_that_only_go_with_the_label_are_no_leak(tmp_path):
    """Two classes that share a value, a class with two values, and one row that differs."""
    frame = made()
    shared = [{"cat": 0, "dog": 0, "fox": 1}[name] for name in frame["kind"]]
    split = [{"cat": k % 2, "dog": 2, "fox": 3}[name] for k, name in enumerate(frame["kind"])]
    nearly = [{"cat": 0, "dog": 1, "fox": 2}[name] for name in frame["kind"]]
    nearly[5] = 0
    frame = frame.with_columns(pl.Series("u", shared), pl.Series("v", split), pl.Series("w", nearly))
    assert examine(tmp_path, frame).findings == ()


def test_constant_columns_are_a_hint(tmp_path):
    frame = made().with_columns(pl.lit(1.5).alias("d"), pl.lit("always").alias("e"))
    finding = only(examine(tmp_path, frame), "constant columns")
    assert (finding.severity, finding.where["columns"]) == ("hint", "'d', 'e'")


def test_classes_that_one_split_lacks(tmp_path):
    result = examine(tmp_path, made(classes=("cat", "dog")), made(30, seed=2, classes=("cat", "fox")))
    assert [finding.name for finding in result.findings] == ["classes missing"] * 2
    by_file = {finding.where["file"][-9:]: finding for finding in result.findings}
    assert by_file["part0.csv"].where["classes"] == "'fox'"
    assert "never learns" in by_file["part0.csv"].remedy
    assert by_file["part1.csv"].where["classes"] == "'dog'"


def test_one_spelling_of_a_class_is_enough(tmp_path):
    train = made().with_columns(pl.Series("kind", [1.0, 2.0, 3.0] * 20))
    test = made(30, seed=2).with_columns(pl.Series("kind", [1, 2, 3] * 10))
    assert examine(tmp_path, train, test).findings == ()


def test_a_test_file_with_one_class_is_read(tmp_path):
    result = examine(tmp_path, made(), made(30, seed=2, classes=("cat",)))
    assert only(result, "classes missing").where["classes"] == "'dog', 'fox'"


def test_other_columns(tmp_path):
    result = examine(tmp_path, made(), made(30, seed=2).rename({"c": "d"}))
    evidence = only(result, "columns differ").evidence
    assert evidence == {"missing columns": "'c'", "additional columns": "'d'"}


def test_gaps(tmp_path):
    frame = made().with_columns(pl.Series("a", [None, *range(59)]), pl.Series("b", ["NA", *map(str, range(59))]))
    result = examine(tmp_path, frame)
    finding = next(one for one in result.findings if one.name == "missing values")
    assert finding.evidence == {
        "missing values": 2, "rows with one": 1, "of": 60, "first in row": 1, "in columns": "a 1, b 1",
    }  # fmt: skip
    assert finding.where["columns"] == "'a', 'b'"
    assert finding.severity == "hint", "they are encoded"


def test_rows_with_gaps_are_compared_too(tmp_path):
    frame = made().with_columns(pl.Series("a", [None] * 2 + list(range(58)), dtype=pl.Float64))
    result = examine(tmp_path, pl.concat([frame, frame[:1]]))
    assert [finding.name for finding in result.findings] == ["rows twice", "missing values"]


def test_archives_and_arrays(tmp_path):
    frame = made()
    x, y = frame.select("a", "b", "c").to_numpy(), np.arange(60) % 3
    np.savez(tmp_path / "a.npz", X=x, y=y)
    np.savez(tmp_path / "b.npz", X=np.concatenate([x[:2], -x]), y=np.concatenate([y[:2], y]))
    result = doctor(tmp_path / "a.npz", tmp_path / "b.npz")
    assert [finding.name for finding in result.findings] == ["rows in two splits"]
    np.save(tmp_path / "a.npy", np.column_stack([x, y]))
    np.save(tmp_path / "b.npy", np.column_stack([-x, y]))
    assert doctor(tmp_path / "a.npy", tmp_path / "b.npy", label="last").findings == ()


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["nothing.csv"], {"label": "kind"}, "there is no file or directory 'nothing.csv'"),
        (["train.csv"], {}, "needs a label column: pass `label`"),
        (["train.csv"], {"label": "knd"}, "did you mean 'kind'"),
        (["train.csv", "p.npy"], {"label": "knd"}, "did you mean 'kind'"),
        (["p.npy"], {}, "needs a label column"),
        (["train.csv"], {"label": "a"}, "does not name classes"),
        (["train.csv", "train.csv"], {"label": "kind"}, "is named twice"),
        (["train.csv"], {"label": "kind", "id_column": "nr"}, "no data file has the column 'nr'"),
        (["train.csv"], {"label": "kind", "id_column": "kind"}, "both `label` and `id_column`"),
        (["notes.txt"], {"label": "kind"}, "ends in '.txt'"),
        (["empty.csv"], {"label": "kind"}, "empty"),
        (["one.csv"], {"label": "kind"}, "one class only"),
        (["blank.csv"], {"label": "kind"}, "has no values"),
        (["train.csv"], {"label": "kind", "drop": ["z"]}, "has no column 'z'"),
        (["train.csv"], {"label": "kind", "drop": "a"}, "`drop` must be a list"),
        (["train.csv"], {"label": "kind", "drop": ["kind"]}, "cannot be dropped as well"),
        (["train.csv"], {"label": "kind", "drop": ["a", "b", "c"]}, "0 input columns"),
        (["train.csv"], {"label": "kind", "roles": ColumnRoles(group="z")}, "has no column 'z' for `group`"),
        (
            ["train.csv"],
            {"label": "kind", "roles": ColumnRoles(numeric=["a"], categorical=["a"])},
            "choose one of them",
        ),
        ([], {}, "paths must name a run directory or files"),
    ],
)
def test_bad_input_is_one_line(tmp_path, monkeypatch, names, options, message):
    monkeypatch.chdir(tmp_path)
    write(made(), tmp_path / "train.csv")
    write(made(classes=("cat",)), tmp_path / "one.csv")
    write(made().with_columns(pl.Series("kind", [None] * 60, dtype=pl.String)), tmp_path / "blank.csv")
    (tmp_path / "notes.txt").write_text("nothing")
    np.save(tmp_path / "p.npy", np.full((60, 3), 1 / 3))
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=message) as problem:
        doctor(*names, **options)
    assert "\n" not in str(problem.value)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_duplicates_are_counted_as_a_plain_loop_counts_them(tmp_path_factory, data):
    values = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 30)), min_size=6, max_size=25)
    parts = [data.draw(values), data.draw(values)]
    frames = [
        pl.DataFrame({"a": [a for a, _ in part], "b": [b for _, b in part], "kind": (["x", "y"] * 13)[: len(part)]})
        for part in parts
    ]
    result = examine(tmp_path_factory.mktemp("data"), *frames)
    shared = sum(row in parts[0] for row in parts[1])
    counted = [
        finding.evidence["rows of part1.csv that part0.csv has too"]
        for finding in result.findings
        if finding.name == "rows in two splits"
    ]
    assert counted == ([shared] if shared else [])
    for place, part in enumerate(parts):
        again = sum(row in part[:k] for k, row in enumerate(part))
        counted = [
            finding.evidence["rows that occur before"]
            for finding in result.findings
            if finding.name == "rows twice" and finding.where["file"].endswith(f"part{place}.csv")
        ]
        assert counted == ([again] if again else [])


def test_large_tables_are_hashed(tmp_path):
    """All pairs of these rows would take hours."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150_000, 8)).astype(np.float32)
    y = np.arange(len(x)) % 2
    np.savez(tmp_path / "a.npz", X=x[:120_000], y=y[:120_000])
    np.savez(tmp_path / "b.npz", X=np.concatenate([x[120_000:], x[5:6]]), y=np.append(y[120_000:], 1))
    began = time.perf_counter()
    result = doctor(tmp_path / "a.npz", tmp_path / "b.npz")
    assert time.perf_counter() - began < 20
    finding = only(result, "rows in two splits")
    assert finding.evidence["the first, in a.npz and b.npz"] == "rows 6 and 30001"


def test_gaps_are_counted_in_columns_of_words_too(tmp_path):
    """Eighteen of them: seven in numbers, eleven in words, in the usual spellings; one number is infinite."""
    words = ["Rome", "Oslo", "Bern"] * 20
    for place, gap in enumerate(["NA", "", "?", "n/a", "null", " NaN ", "None", "-"]):
        words[7 * place] = gap
    dates = [f"2024-01-{1 + k % 28:02d}" for k in range(60)]
    numbers = [float(k % 7) for k in range(60)]
    frame = made().with_columns(
        pl.Series("town", [*words[:59], None]),
        pl.Series("day", ["", "", *dates[2:]]),
        pl.Series("size", [None, None, None, None, float("nan"), float("inf"), *numbers[6:]]),
        pl.Series("rank", ["NA", "?", *map(str, range(58))]),
    )
    for suffix in (".csv", ".parquet"):
        result = examine(tmp_path, frame, suffix=suffix)
        finding = next(one for one in result.findings if one.name == "missing values")
        assert finding.evidence["missing values"] == 18
        assert finding.evidence["in columns"] == "town 9, size 5, day 2, rank 2"
        infinite = next(one for one in result.findings if one.name == "infinite values")
        assert infinite.severity == "mistake"
        assert infinite.evidence == {"infinite values": 1, "first in row": 6, "in columns": "size 1"}
        assert "`drop` 'size'" in infinite.remedy
        assert all(column in finding.where["columns"] for column in ("town", "day", "size", "rank"))


def test_gaps_among_ids_are_counted(tmp_path):
    frame = made().with_columns(pl.Series("id", ["", *(f"p{k}" for k in range(1, 60))]))
    result = examine(tmp_path, frame, id_column="id")
    finding = next(one for one in result.findings if one.name == "missing values")
    assert finding.where["columns"] == "'id'"
