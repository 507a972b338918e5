"""Test rows from a separate file: columns and classes are matched by name, and what does not fit is refused."""

import numpy as np
import polars as pl
import pytest

from softlabel.data import load
from softlabel.data.joining import meets
from softlabel.errors import InputError
from softlabel.studies.students.checks import check_test_rows
from softlabel.teachers.sources import TeacherOptions, query_teacher


def frame(rows, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    return pl.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "id": np.arange(rows) + 1000 * seed,
            "y": np.where(x[:, 0] + 0.5 * rng.normal(size=rows) > 0, "sick", "well"),
        }
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame(120, 1).write_csv("train.csv")
    frame(40, 2).select("y", "b", "id", "a").write_csv("test.csv")
    return tmp_path


def test_the_test_part_is_the_file_by_its_column_names(files):
    problem = load("train.csv", "y", id_column="id", test="test.csv")
    assert pytest.approx(frame(40, 2).select("a", "b").to_numpy(), abs=1e-6) == problem.test.X
    assert problem.ids[problem.parts["test"]].astype(int).tolist() == list(range(2000, 2040))
    assert [problem.classes[place] for place in problem.test.y] == frame(40, 2)["y"].to_list()
    assert sum(map(len, problem.parts.values())) == len(problem) == 160
    assert set(problem.parts["train"]) | set(problem.parts["validation"]) == set(range(120))
    assert problem.notes == ()


def test_columns_that_the_data_have_not_are_left_out_and_said(files):
    frame(40, 2).with_columns(c=pl.lit("text")).drop("id").write_csv("test.csv")
    problem = load("train.csv", "y", drop=["id"], test="test.csv")
    assert problem.columns == ("a", "b")
    assert "columns of test file 'test.csv' that 'train.csv' does not have are left out: c" in problem.notes


def test_rows_of_both_files_are_told(files):
    pl.concat([frame(40, 2), frame(120, 1).head(5)]).write_csv("test.csv")
    (warning,) = load("train.csv", "y", drop=["id"], test="test.csv").warnings
    assert warning.startswith("5 of 45 test rows are also rows of 'train.csv'")
    pl.concat([frame(40, 2), frame(120, 1).head(1)]).write_csv("test.csv")
    (warning,) = load("train.csv", "y", drop=["id"], test="test.csv").warnings
    assert warning.startswith("1 of 41 test rows is also a row of 'train.csv'")
    frame(120, 1).head(50).write_csv("test.csv")
    with pytest.raises(InputError, match=r"every row of test file 'test.csv' is also a row of 'train.csv'"):
        load("train.csv", "y", drop=["id"], test="test.csv")


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (frame(40, 2).drop("b"), "test file 'test.csv' lacks the columns b of 'train.csv'; it has a"),
        (
            frame(40, 2).with_columns(y=pl.Series(["sick", "ill"] * 20)),
            "classes that 'train.csv' does not have: ill",
        ),
        (frame(40, 2).drop("y"), "no column 'y'"),
        (frame(40, 2).with_columns(b=pl.lit("word")), "column 'b' has 'word' in row 1, which is not a number"),
    ],
)
def test_files_that_do_not_fit(files, test, message):
    test.write_csv("test.csv")
    with pytest.raises(InputError, match=message):
        load("train.csv", "y", drop=["id"], test="test.csv")


def test_too_few_test_rows_are_the_test_files(files):
    frame(12, 2).write_csv("test.csv")
    problem = load("train.csv", "y", drop=["id"], test="test.csv")
    with pytest.raises(InputError, match="the test file has 12 usable rows; at least 20 are needed"):
        check_test_rows(problem)


def test_named_sets_have_test_rows_of_their_own(files):
    with pytest.raises(InputError, match="data set 'digits' does not take `test`: leave it out"):
        load("digits", test="test.csv")


@pytest.mark.parametrize("rows", [120, 160])
def test_soft_labels_of_the_data_alone_or_of_both_files(files, rows):
    said = pl.concat([frame(120, 1), frame(40, 2)]).head(rows)
    sick = np.where(said["y"] == "sick", 0.9, 0.1)
    pl.DataFrame({"sick": sick, "well": 1 - sick}).write_csv("labels.csv")
    problem = load("train.csv", "y", drop=["id"], test="test.csv")
    predictions = query_teacher(problem, "labels.csv")
    assert predictions.known[problem.parts["train"]].all()
    assert predictions.known[problem.parts["test"]].all() == (rows == 160)
    known = predictions.known
    assert (predictions.probabilities[known].argmax(axis=1) == problem.y[known]).all()


def test_ids_of_the_data_alone_will_do(files):
    said = frame(120, 1)
    pl.DataFrame({"id": said["id"], "sick": np.where(said["y"] == "sick", 0.9, 0.1)}).write_csv("labels.csv")
    problem = load("train.csv", "y", id_column="id", test="test.csv")
    predictions = query_teacher(problem, "labels.csv", options=TeacherOptions(id_column="id"))
    assert predictions.known.tolist() == [True] * 120 + [False] * 40
    pl.DataFrame({"id": said["id"][:110], "sick": [0.5] * 110}).write_csv("labels.csv")
    with pytest.raises(InputError, match="lacks 50 of the data's 160 ids"):
        query_teacher(problem, "labels.csv", options=TeacherOptions(id_column="id"))


def test_ids_of_the_data_alone_will_do_without_a_class_too(files):
    def thirds(rows, seed):
        kinds = pl.Series("y", ["sick", "well", "odd"] * (rows // 3))
        return frame(rows, seed).with_columns(kinds)

    thirds(120, 1).write_csv("train.csv")
    thirds(60, 2).write_csv("test.csv")
    pl.DataFrame({"id": thirds(120, 1)["id"], "sick": (thirds(120, 1)["y"] == "sick") * 0.8 + 0.1}).write_csv("l.csv")
    problem = load("train.csv", "y", leave_out="odd", id_column="id", test="test.csv")
    predictions = query_teacher(problem, "l.csv", options=TeacherOptions(id_column="id"))
    assert predictions.known[problem.parts["train"]].all()
    assert not predictions.known[problem.parts["test"]].any()


def test_meeting_is_value_by_value():
    rows = np.array([[0.0, 1.0], [-0.0, 2.0], [3.0, 4.0]], dtype=np.float32)
    assert meets(rows, np.array([[0.0, 2.0], [3.0, 4.5]], dtype=np.float32)).tolist() == [False, True, False]


def test_gaps_and_words_of_a_test_file_are_encoded_like_those_of_the_data(files):
    words = ["red", "blue", "blue", "green"]
    frame(120, 1).with_columns(c=pl.Series(words * 30)).write_csv("train.csv")
    late = frame(40, 2).with_columns(c=pl.Series([None, "pink", "red", "blue"] * 10), b=pl.lit(None))
    late.write_csv("test.csv")
    problem = load("train.csv", "y", drop=["id"], test="test.csv")
    assert sorted(problem.columns) == ["a", "b", "c=blue", "c=green", "c=red"]
    colors = problem.test.X[:4, [problem.columns.index(f"c={color}") for color in ("blue", "green", "red")]]
    assert colors.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    assert len(set(problem.test.X[:, 1].tolist())) == 1  # the median of the training rows


def test_equal_rows_of_both_files_are_also_seen_among_words(files):
    words = pl.Series(["red", "blue", None, "green"] * 30)
    both = frame(120, 1).with_columns(c=words)
    both.write_csv("train.csv")
    pl.concat([frame(40, 2).with_columns(c=words.head(40)), both.head(5)]).write_csv("test.csv")
    (warning,) = load("train.csv", "y", drop=["id"], test="test.csv").warnings
    assert warning.startswith("5 of 45 test rows are also rows of 'train.csv'")
