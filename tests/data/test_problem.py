"""Problems: parts, scale, signs, classes, fingerprints, and arrays that are refused."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from softlabel.data import Problem, load
from softlabel.data.catalogue import CIFAR10
from softlabel.data.dividing import PARTS
from softlabel.data.scaling import Scaler, norms
from softlabel.errors import InputError


def table(rows: int = 60, classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, 3)).astype(np.float32), np.arange(rows) % classes


@given(st.integers(75, 200), st.integers(2, 5), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_parts_share_out_all_rows_and_have_every_class(rows, classes, seed):
    X, y = table(rows, classes)
    problem = Problem.from_arrays(X, y, seed=seed)
    together = np.concatenate([problem.part(part).rows for part in PARTS])
    assert sorted(together) == list(range(rows))
    for part in PARTS:
        assert set(problem.part(part).y) == set(range(classes))
        np.testing.assert_array_equal(problem.part(part).X, X[problem.parts[part]])
        assert len(problem.part(part)) == len(problem.parts[part])
    assert problem.full_train.rows.tolist() == list(range(rows))


def test_the_scale_is_learned_from_training_rows_alone():
    X, y = table(100)
    problem = Problem.from_arrays(X, y)
    scaled = problem.train.scaled
    np.testing.assert_allclose(scaled.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(scaled.std(0) * np.sqrt(3), 1, atol=1e-5)
    assert problem.train.scaled is scaled
    moved = X.copy()
    moved[problem.test.rows] += 100
    assert Problem.from_arrays(moved, y).scaler == problem.scaler


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_data_drawn_from_the_same_seed_are_not_sorted_into_the_parts(seed):
    drawn = np.random.default_rng(seed).uniform(size=600)
    problem = Problem.from_arrays(np.stack([drawn, drawn], axis=1), np.arange(600) % 2, seed=seed)
    for part in PARTS:
        assert 0.4 < problem.part(part).X.mean() < 0.6


def test_parts_are_called_by_name():
    problem = load("digits")
    assert problem.part("train") is problem.train
    assert repr(problem.test) == "<test part of digits: 359 rows>"
    assert repr(problem).startswith(
        "<Problem digits: 64 inputs, classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9; rows: 1,078 train"
    )
    with pytest.raises(InputError, match="unknown part 'valid': did you mean 'validation'"):
        problem.part("valid")


def many_images(rows: int = 200) -> Problem:
    """Rows of ten classes with a default pair, not split yet."""
    X = np.random.default_rng(0).random((rows, 12)).astype(np.float32)
    return Problem(
        "images", X, np.arange(rows) % 10, CIFAR10.classes, {}, Scaler("none"), image_shape=(3, 2, 2),
        default_pair="cat,dog",
    )  # fmt: skip


def test_the_full_training_part_leaves_official_test_rows_out():
    problem = many_images().with_split("max", test=np.arange(150, 200))
    assert problem.official_test
    assert len(problem.train) == 125
    assert problem.full_train.rows.tolist() == list(range(150))
    assert problem.test.images.shape == (50, 3, 2, 2)
    pair = problem.binary()
    assert pair.classes == ("cat", "dog")
    assert pair.rows[pair.full_train.rows].tolist() == [row for row in range(150) if row % 10 in (3, 5)]
    np.testing.assert_array_equal(pair.full_train.signs, [-1, 1] * 15)
    np.testing.assert_array_equal(pair.test.images, problem.X[pair.rows[pair.test.rows]].reshape(-1, 3, 2, 2))
    assert not load("digits").official_test


@given(st.sampled_from(["none", "max", "unit", "standard"]), st.sampled_from([0.01, 1.0, 50.0]), st.integers(0, 5))
@settings(max_examples=30, deadline=None)
def test_rows_in_the_unit_ball_have_norms_of_at_most_1(scale, size, seed):
    X, y = table(80, seed=seed)
    problem = Problem.from_arrays(size * X, y, scale=scale, seed=seed)
    largest = norms(problem.full_train.scaled).max()
    inside = problem.full_train.in_unit_ball
    assert norms(inside).max() <= 1 + 1e-6
    if largest > 1 + 1e-6:
        assert norms(inside).max() == pytest.approx(1)
        np.testing.assert_allclose(problem.test.in_unit_ball, problem.test.scaled / largest, rtol=1e-5, atol=1e-8)
    else:
        np.testing.assert_array_equal(inside, problem.full_train.scaled)
    assert inside.dtype == np.float32


def test_a_problem_has_a_stable_fingerprint():
    X, y = table()
    problem = Problem.from_arrays(X, y)
    assert problem.fingerprint == Problem.from_arrays(X.copy(), y.copy()).fingerprint
    other = X.copy()
    other[0, 0] += 1
    assert Problem.from_arrays(other, y).fingerprint != problem.fingerprint
    assert Problem.from_arrays(X, y, seed=1).fingerprint != problem.fingerprint
    assert Problem.from_arrays(X, y, scale="max").fingerprint != problem.fingerprint


def test_fingerprints_are_the_same_on_every_machine():
    assert load("digits").fingerprint == "fe1d01e4372dd5d7de61"
    assert load("digits", task="label>4", seed=3).fingerprint == "216cfc5aacd5d31487bb"
    assert load("digits", classes="7,1").fingerprint == "edd6752476057cbc31b7"


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_frames_keep_their_columns_and_class_names(frame):
    X, y = table()
    names = np.array(["no", "yes"])[y]
    columns = {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}
    if frame == "pandas":
        pandas = pytest.importorskip("pandas")
        problem = Problem.from_arrays(pandas.DataFrame(columns), pandas.Series(names))
    else:
        problem = Problem.from_arrays(pl.DataFrame(columns), pl.Series(names))
    assert problem.columns == ("a", "b", "c")
    assert problem.classes == ("no", "yes")
    np.testing.assert_array_equal(problem.X, X)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda x, y: (x[:, 0], y), "must be a table"),
        (lambda x, y: (x, y[:-1]), "labels must have one entry per row: there are 200 rows"),
        (lambda x, y: (np.where(x > 2, np.inf, x), y), "missing or infinite"),
        (lambda x, y: (x, np.zeros(len(x))), "one class only"),
        (lambda x, y: (x.astype(object), [None, *y[1:]]), "has 1 missing value"),
        (lambda x, y: (np.array([["a", "b"]] * len(x)), y), "no column to learn from: '1' .it is 'a' in every row"),
        (lambda x, y: (x, np.where(np.arange(len(x)) == 0, 7, y)), r"class '7' has 1 row, .*`leave_out` '7'"),
        (lambda x, y: (x, x[:, 0]), "200 different values in 200 rows, so it does not name classes"),
        (lambda x, y: (np.ones_like(x), y), "only constant input columns"),
    ],
)
def test_bad_arrays_are_refused_with_one_line(spoil, message):
    X, y = spoil(*table(200))
    with pytest.raises(InputError, match=message) as refused:
        Problem.from_arrays(X, y).train  # noqa: B018
    assert "\n" not in str(refused.value)


def test_all_rows_of_a_problem_too_small_for_its_parts_can_be_used():
    problem = Problem.from_arrays([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0], [5.0, 1.0]], [0, 1, 0, 1])
    assert len(problem.full_train) == 4
    for part in ("train", "validation", "test"):
        with pytest.raises(InputError, match=r"class '1' has 2 rows, too few for one in each part"):
            problem.part(part)


def test_signs_need_two_classes():
    pair = load("digits", classes="8,3")
    np.testing.assert_array_equal(pair.train.signs, np.where(pair.train.y == 1, 1, -1))
    assert pair.train.signs.dtype == np.float32
    with pytest.raises(InputError, match=r"has 10 classes .*choose them with `classes` or `task`"):
        load("digits").train.signs  # noqa: B018


@given(st.integers(0, 1000))
@settings(max_examples=15, deadline=None)
def test_two_classes_keep_the_split(seed):
    problem = load("digits", seed=seed)
    by_rule = problem.binary("label>4")
    assert by_rule.fingerprint == problem.binary().fingerprint
    assert by_rule.classes == ("not label>4", "label>4")
    np.testing.assert_array_equal(by_rule.y, problem.y > 4)
    pair = problem.binary(classes="8,3")
    assert pair.classes == ("8", "3")
    for part in PARTS:
        np.testing.assert_array_equal(by_rule.part(part).rows, problem.part(part).rows)
        rows = problem.part(part).rows
        np.testing.assert_array_equal(pair.rows[pair.part(part).rows], rows[np.isin(problem.y[rows], [3, 8])])
        np.testing.assert_array_equal(pair.part(part).y, (problem.y[pair.rows] == 3)[pair.part(part).rows])
    assert pair.binary() is pair


def test_the_scale_of_two_classes_is_learned_from_their_training_rows():
    problem = load("digits", scale="standard").binary(classes="3,8")
    np.testing.assert_allclose(problem.train.scaled.mean(0), 0, atol=1e-6)


def test_several_classes_without_a_default_are_refused():
    X, y = table(90, 3)
    problem = Problem.from_arrays(X, np.array(["x", "y", "z"])[y])
    with pytest.raises(InputError, match=r"3 classes \(x, y, z\): .*`task`, e.g. 'label>1'.*`classes`, e.g. 'x,y'"):
        problem.binary()
    assert problem.binary("label>1").classes == ("not label>1", "label>1")
    np.testing.assert_array_equal(problem.binary("label>1").y, y == 2)
    with pytest.raises(InputError, match="exclude each other"):
        problem.binary("label>1", "x,y")
    with pytest.raises(InputError, match="the same sign"):
        problem.binary("label>2")


def test_numbers_in_rules_mean_classes_before_some_were_left_out():
    problem = many_images().with_classes(leave_out="airplane,automobile").with_split("none")
    assert problem.classes[:2] == ("bird", "cat")
    np.testing.assert_array_equal(problem.binary("label>4").y, problem.y > 2)
    with pytest.raises(InputError, match="8 classes"):
        problem.binary()
    X, y = table(120, 4)
    problem = load((X, np.array(["a", "b", "c", "d"])[y]), leave_out="a")
    chosen = load((X, np.array(["a", "b", "c", "d"])[y]), leave_out="a", task="label>1")
    np.testing.assert_array_equal(problem.binary("label>1").y, chosen.y)
