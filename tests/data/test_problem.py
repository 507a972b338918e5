"""From users' tables to problems: parts, classes, scale, and everything a spreadsheet can have wrong."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data.problem import PARTS, Problem, load_problem
from softlabel.errors import InputError


def table(rows: int = 60, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 3)).astype(np.float32), np.arange(rows) % classes


@given(st.integers(75, 200), st.integers(2, 5), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_parts_share_out_all_rows_and_have_every_class(rows, classes, seed):
    inputs, labels = table(rows, classes)
    problem = Problem.of(inputs, labels, seed=seed)
    together = np.concatenate([problem.parts[part] for part in PARTS])
    assert sorted(together) == list(range(rows))
    for part in PARTS:
        assert set(problem.truth(part)) == set(range(classes))


def test_the_scale_is_learned_from_training_rows_alone():
    inputs, labels = table(100)
    problem = Problem.of(inputs, labels)
    scaled = problem.scaled("train")
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0) * np.sqrt(3), 1, atol=1e-5)
    moved = inputs.copy()
    moved[problem.parts["test"]] += 100
    assert Problem.of(moved, labels).scaler == problem.scaler


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_data_drawn_from_the_same_seed_do_not_sort_themselves_into_the_parts(seed):
    drawn = np.random.default_rng(seed).uniform(size=600)
    inputs = np.stack([drawn, drawn], axis=1)
    problem = Problem.of(inputs, np.arange(600) % 2, seed=seed)
    for part in PARTS:
        assert 0.4 < inputs[problem.parts[part]].mean() < 0.6


def test_a_problem_knows_itself_again():
    inputs, labels = table()
    assert Problem.of(inputs, labels).fingerprint == Problem.of(inputs.copy(), labels.copy()).fingerprint
    other = inputs.copy()
    other[0, 0] += 1
    assert Problem.of(other, labels).fingerprint != Problem.of(inputs, labels).fingerprint
    assert Problem.of(inputs, labels, seed=1).fingerprint != Problem.of(inputs, labels).fingerprint


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_keep_their_columns_and_class_names(frame):
    inputs, labels = table()
    names = np.array(["no", "yes"])[labels]
    columns = {"a": inputs[:, 0], "b": inputs[:, 1], "c": inputs[:, 2]}
    if frame == "pandas":
        pandas = pytest.importorskip("pandas")
        problem = Problem.of(pandas.DataFrame(columns), pandas.Series(names))
    else:
        problem = Problem.of(pl.DataFrame(columns), pl.Series(names))
    assert problem.columns == ("a", "b", "c")
    assert problem.classes == ("no", "yes")
    np.testing.assert_array_equal(problem.inputs, inputs)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x, y: (x[:, 0], y), "must be a table"),
        (lambda x, y: (x, y[:-1]), "labels must be one a row"),
        (lambda x, y: (np.where(x > 2, np.nan, x), y), "missing or infinite"),
        (lambda x, y: (x, np.zeros(len(x))), "one class only"),
        (lambda x, y: (x.astype(object), [None, *y[1:]]), "1 are missing"),
        (lambda x, y: (np.array([["a", "b"]] * len(x)), y), "must be numbers"),
        (lambda x, y: (x, np.where(np.arange(len(x)) == 0, 7, y)), "class '7' has 1 rows"),
    ],
)
def test_bad_arrays_are_refused_with_one_line(spoil, message):
    inputs, labels = spoil(*table(200))
    with pytest.raises(InputError, match=message) as refused:
        Problem.of(inputs, labels)
    assert "\n" not in str(refused.value)


def test_ten_thousand_classes_are_refused(tmp_path):
    rows = 30_000
    frame = pl.DataFrame({"x": np.arange(rows) * 0.5, "y": np.arange(rows) % 10_000})
    frame.write_csv(tmp_path / "many.csv")
    with pytest.raises(InputError, match="10,000 classes in 30,000 rows"):
        load_problem(tmp_path / "many.csv", "y")


def sheet(tmp_path, **columns):
    inputs, labels = table(120)
    held = {"id": [f"r{k}" for k in range(120)], "a": inputs[:, 0], "b": inputs[:, 1]} | columns
    path = tmp_path / "sheet.csv"
    pl.DataFrame(held | {"y": np.array(["no", "yes"])[labels]}).write_csv(path)
    return path


def test_an_id_column_is_read_and_is_no_input(tmp_path):
    problem = load_problem(sheet(tmp_path), "y", id_column="id")
    assert problem.columns == ("a", "b")
    assert problem.ids is not None
    assert problem.ids[5] == "r5"
    with pytest.raises(InputError, match="not numbers: id"):
        load_problem(sheet(tmp_path), "y")
    with pytest.raises(InputError, match="no column 'nr'"):
        load_problem(sheet(tmp_path), "y", id_column="nr")


def test_constant_columns_stay_for_the_teacher_and_do_no_harm(tmp_path):
    problem = load_problem(sheet(tmp_path, c=[3.0] * 120), "y", id_column="id")
    assert problem.columns == ("a", "b", "c")
    assert np.isfinite(problem.scaled("train")).all()
    assert not problem.scaled("train")[:, 2].any()


def test_rules_and_pairs_make_two_classes_and_leaving_out_renumbers():
    assert load_problem("digits", task="label>4").classes == ("not label>4", "label>4")
    pair = load_problem("digits", classes="7,1")
    assert pair.classes == ("7", "1")
    assert len(pair.rows) == len(pair) < pair.file_rows == 1797
    left = load_problem("digits", leave_out="0,1,2,3,4,5,6")
    assert left.classes == ("7", "8", "9")
    assert set(left.labels) == {0, 1, 2}
    with pytest.raises(InputError, match="both given"):
        load_problem("digits", task="label>4", classes="7,1")
    with pytest.raises(InputError, match="both given"):
        load_problem("digits", classes="3,8", leave_out="8")
    with pytest.raises(InputError, match="no id column"):
        load_problem("digits", id_column="id")


@pytest.mark.parametrize("header", ["a,b,b,y", "a,b,y,y"])
def test_columns_of_the_same_name_are_refused(tmp_path, header):
    path = tmp_path / "twice.csv"
    path.write_text(header + "\n" + "\n".join(f"{k},{k % 7},{k % 5},{k % 2}" for k in range(80)) + "\n")
    with pytest.raises(InputError, match="columns of the same name"):
        load_problem(path, "y")


def test_other_encodings_get_a_remedy(tmp_path):
    path = tmp_path / "western.csv"
    path.write_bytes("größe,y\n1,0\n".encode("latin-1"))
    with pytest.raises(InputError, match="save it as 'CSV UTF-8'"):
        load_problem(path, "y")
