"""Soft labels in files for tables with text and gaps: matched by row or by id, classes by name in any order."""

import numpy as np
import polars as pl
import pytest

from softlabel.data import load
from softlabel.errors import InputError
from softlabel.teachers.sources import TeacherOptions, query_teacher


@pytest.fixture
def animals(tmp_path):
    """A table of animals in a file with ids, and probabilities (n, 3) for cat, dog and cow in the file's order."""
    rng = np.random.default_rng(0)
    rows = 150
    kind = rng.integers(3, size=rows)
    sound = np.array(["meow", "wow", "moo"], dtype=object)[
        np.where(rng.random(rows) < 0.8, kind, rng.integers(3, size=rows))
    ]
    sound[::10] = None
    frame = pl.DataFrame(
        {
            "tag": [f"t{k}" for k in rng.permutation(rows)], "sound": sound.tolist(),
            "weight": [None if k % 7 == 0 else float(k % 13) for k in range(rows)],
            "animal": np.array(["cat", "dog", "cow"])[kind],
        }
    )  # fmt: skip
    frame.write_csv(tmp_path / "animals.csv")
    return tmp_path, frame, 0.7 * np.eye(3)[kind] + 0.1


def columns(p, names=("cat", "dog", "cow"), prefix=""):
    return {f"{prefix}{name}": p[:, ["cat", "dog", "cow"].index(name)] for name in names}


@pytest.mark.parametrize("names", [("cat", "dog", "cow"), ("cow", "cat", "dog"), ("dog", "cow", "cat")])
@pytest.mark.parametrize("prefix", ["", "p_", "proba_"])
def test_columns_named_after_classes_may_have_any_order(animals, names, prefix):
    folder, _, p = animals
    pl.DataFrame(columns(p, names, prefix)).write_csv(folder / "soft.csv")
    problem = load(folder / "animals.csv", "animal", drop=["tag"])
    assert problem.encoder is not None
    predictions = query_teacher(problem, folder / "soft.csv")
    order = [["cat", "dog", "cow"].index(name) for name in problem.classes]
    assert predictions.probabilities == pytest.approx(p[:, order])
    assert predictions.description == "probabilities in soft.csv, matched by row"


def test_rows_in_another_order_are_matched_by_id(animals):
    folder, frame, p = animals
    shuffled = np.random.default_rng(1).permutation(len(p))
    soft = pl.DataFrame({"tag": frame["tag"], **columns(p, ("dog", "cat", "cow"))})[shuffled.tolist()]
    soft.write_parquet(folder / "soft.parquet")
    problem = load(folder / "animals.csv", "animal", id_column="tag")
    assert problem.encoder is not None
    assert "tag" not in problem.table.columns
    predictions = query_teacher(problem, folder / "soft.parquet", options=TeacherOptions(id_column="tag"))
    order = [["cat", "dog", "cow"].index(name) for name in problem.classes]
    assert predictions.probabilities == pytest.approx(p[:, order])
    soft.drop("tag").write_csv(folder / "shuffled.csv")
    with pytest.raises(InputError, match="to these in another order; match them by `id_column`"):
        query_teacher(problem, folder / "shuffled.csv")


def test_other_classes_and_gaps_are_named(animals):
    folder, _, p = animals
    problem = load(folder / "animals.csv", "animal", drop=["tag"])
    pl.DataFrame(columns(p)).rename({"cow": "horse"}).write_csv(folder / "soft.csv")
    with pytest.raises(InputError, match="has columns 'cat', 'dog', but none for the classes 'cow'"):
        query_teacher(problem, folder / "soft.csv")
    gap = pl.DataFrame(columns(p)).with_columns(pl.when(pl.arange(150) == 4).then(None).otherwise("cow").alias("cow"))
    gap.write_csv(folder / "gap.csv")
    with pytest.raises(InputError, match=r"not finite: nan \(row 5\)"):
        query_teacher(problem, folder / "gap.csv")
