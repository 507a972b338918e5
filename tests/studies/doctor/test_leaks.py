"""One column that tells the label is named, in any coding; strong columns of ordinary data are not."""

import numpy as np
import polars as pl
import pytest
from sklearn import datasets

from softlabel.studies.doctor import doctor

NAME = "one column tells the label"
ROWS = 300


def base(seed=0, rows=ROWS, classes=3):
    """Columns that tell a little of the label, and the label."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    x = rng.standard_normal((rows, 5)) + 0.4 * y[:, None]
    return rng, y, {f"x{k}": x[:, k] for k in range(5)}


def named(tmp_path, columns, label):
    frame = pl.DataFrame(columns).with_columns(pl.Series("y", [f"class {one}" for one in label]))
    frame.write_csv(tmp_path / "t.csv")
    result = doctor(tmp_path / "t.csv", label="y")
    return {one.where["column"]: one for one in result.findings if one.name in (NAME, "label among the inputs")}


def noisy(rng, y):
    return y + 0.02 * rng.standard_normal(len(y))


def recoded(rng, y):
    """Four numbers for each class, mixed up."""
    codes = rng.permutation(12).reshape(3, 4)
    return codes[y, rng.integers(4, size=len(y))]


def words(rng, y):
    """Words, several for each class, in no order."""
    kinds = np.array(["oak elm ash", "cod eel ray", "ant bee fly"])
    return [kinds[one].split()[k] for one, k in zip(y, rng.integers(3, size=len(y)), strict=True)]


def ids(rng, y):
    """Ids that were dealt class by class."""
    result = np.empty(len(y), dtype=int)
    result[np.argsort(y, kind="stable")] = 100_000 + 3 * np.arange(len(y))
    return result


def text_ids(rng, y):
    return [f"{'KQZ'[one]}-{rng.integers(10**6):06d}" for one in y]


def gaps(rng, y):
    """Filled in for two of the classes only, and telling these apart."""
    return [None if one == 0 else float(one + 0.01 * rng.random()) for one in y]


def wrong_now_and_then(rng, y):
    return np.where(rng.random(len(y)) < 0.004, rng.integers(3, size=len(y)), y) * 10 + rng.integers(3, size=len(y))


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("make", [noisy, recoded, words, ids, gaps, wrong_now_and_then])
def test_a_column_that_tells_the_label(tmp_path, make, seed):
    rng, y, columns = base(seed)
    result = named(tmp_path, columns | {"leak": make(rng, y)}, y)
    assert set(result) == {"leak"}
    finding = result["leak"]
    assert "`drop` 'leak'" in finding.remedy
    if finding.name == NAME:
        shares = list(finding.evidence.values())[-2:]
        assert shares[0] >= 0.98 > 0.8 > shares[1]


def test_a_column_that_is_left_out_leaks_nothing(tmp_path):
    """Text with another entry in every row, which tells the label by its first letter: no student sees it."""
    rng, y, columns = base()
    assert named(tmp_path, columns | {"leak": text_ids(rng, y)}, y) == {}


def test_hours_of_those_who_work(tmp_path):
    """Numbers above zero exactly where the label is yes, and zero otherwise."""
    rng, y, columns = base(classes=2)
    columns |= {"town": rng.choice(["Rome", "Oslo", None], ROWS).tolist()}
    result = named(tmp_path, columns | {"hours": np.where(y > 0, rng.integers(1, 4000, ROWS), 0)}, y)
    assert set(result) == {"hours"}
    assert result["hours"].severity == "mistake"
    assert result["hours"].evidence["wrong by this column alone"] == 0


def test_two_such_columns_do_not_hide_each_other(tmp_path):
    rng, y, columns = base()
    columns |= {f"x{k}": rng.standard_normal(ROWS) for k in range(5, 8)}
    assert set(named(tmp_path, columns | {"one": noisy(rng, y), "two": words(rng, y)}, y)) == {"one", "two"}


def test_a_rare_class(tmp_path):
    rng = np.random.default_rng(0)
    y = (np.arange(900) % 30 == 0).astype(int)
    columns = {f"x{k}": rng.standard_normal(900) for k in range(4)}
    assert named(tmp_path, columns, y) == {}  # always saying the frequent class is right in 97 %
    assert set(named(tmp_path, columns | {"leak": y * 5 + rng.integers(3, size=900)}, y)) == {"leak"}


@pytest.mark.parametrize("load", ["iris", "breast_cancer", "digits", "wine"])
def test_ordinary_data_are_not_named(tmp_path, load):
    dataset = getattr(datasets, f"load_{load}")()
    columns = {f"c{k}": dataset.data[:, k] for k in range(dataset.data.shape[1])}
    assert named(tmp_path, columns, dataset.target) == {}


@pytest.mark.parametrize("pair", [(0, 1), (0, 2), (0, None)])
def test_iris_petals_tell_setosa_and_are_not_named(tmp_path, pair):
    """Each petal column tells setosa without a mistake, and so do the others together."""
    x, y = datasets.load_iris(return_X_y=True)
    kept = np.isin(y, [one for one in pair if one is not None]) if pair[1] is not None else np.full(len(y), True)
    columns = {f"c{k}": x[kept, k] for k in range(4)}
    assert named(tmp_path, columns, (y[kept] == pair[0]).astype(int)) == {}


@pytest.mark.parametrize("seed", range(3))
def test_chance_is_not_named(tmp_path, seed):
    rng = np.random.default_rng(seed)
    columns = {f"x{k}": rng.standard_normal(60) for k in range(200)}
    columns |= {f"w{k}": rng.choice(["a", "b", "c"], 60) for k in range(20)}
    assert named(tmp_path, columns, rng.integers(2, size=60)) == {}


def test_data_that_every_column_tells_are_not_named(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=200)
    assert named(tmp_path, {f"x{k}": 10 * y + rng.standard_normal(200) for k in range(4)}, y) == {}
