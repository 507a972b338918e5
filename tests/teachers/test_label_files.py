"""Soft labels in files: matched by row, id and class name; rows in another order are noticed."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.special import log_softmax, softmax

from softlabel.data import load
from softlabel.data.catalogue import CATALOGUE
from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError
from softlabel.teachers.agreement import compare
from softlabel.teachers.label_files import read_labels

CLASSES = ("cat", "dog", "fox")


def made(rows=90, classes=CLASSES, seed=0):
    """A problem and true soft labels: classes are drawn from them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, len(classes)))
    p = softmax(3 * x, axis=1)
    y = np.array([rng.choice(len(classes), p=row) for row in p])
    return Problem.from_arrays(x, np.array(classes)[y]), p


def columns(p, names):
    return pl.DataFrame(dict(zip(names, p.T, strict=True)))


def test_npy_by_row(tmp_path):
    problem, p = made()
    np.save(tmp_path / "p.npy", p)
    found = read_labels(problem, tmp_path / "p.npy")
    assert found.probabilities == pytest.approx(p, abs=1e-5)
    assert (found.kind, found.known.all(), found.notes) == ("probabilities", True, ())
    np.save(tmp_path / "z.npy", np.log(p) + 1)
    found = read_labels(problem, tmp_path / "z.npy")
    assert found.kind == "logits"
    assert found.logits == pytest.approx(np.log(p) + 1)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("prefix", ["", "p_", "prob_", "proba_", "logit_"])
def test_columns_are_matched_by_class_name_in_any_order(tmp_path, suffix, prefix):
    problem, p = made()
    values = np.log(p) if prefix == "logit_" else p
    frame = columns(values, [prefix + name for name in CLASSES]).select([prefix + n for n in ("fox", "cat", "dog")])
    frame = frame.with_columns(pl.lit("x").alias("remark"))
    path = tmp_path / f"p{suffix}"
    frame.write_csv(path) if suffix == ".csv" else frame.write_parquet(path)
    found = read_labels(problem, path)
    assert found.probabilities == pytest.approx(p, abs=1e-5)
    assert found.kind == ("logits" if prefix == "logit_" else "probabilities")


def test_both_kinds_in_one_file(tmp_path):
    problem, p = made()
    names = [f"{prefix}_{name}" for prefix in ("logit", "p") for name in CLASSES]
    columns(np.hstack([np.log(p) + 5, p]), names).write_csv(tmp_path / "p.csv")
    assert read_labels(problem, tmp_path / "p.csv").kind == "probabilities"
    found = read_labels(problem, tmp_path / "p.csv", kind="logits")
    assert found.logits == pytest.approx(np.log(p) + 5)


def test_other_names_are_taken_in_order_and_that_is_said(tmp_path):
    problem, p = made()
    columns(p, ["a", "b", "c"]).with_row_index("row").write_csv(tmp_path / "p.csv")
    found = read_labels(problem, tmp_path / "p.csv")
    assert found.probabilities == pytest.approx(p, abs=1e-5)
    assert "'a', 'b', 'c' are taken for the classes 'cat', 'dog', 'fox'" in found.notes[0]


def test_a_frame_written_with_its_index(tmp_path):
    problem, p = made()
    columns(p, ["0", "1", "2"]).with_row_index("").write_csv(tmp_path / "p.csv")
    assert read_labels(problem, tmp_path / "p.csv").probabilities == pytest.approx(p, abs=1e-5)


@pytest.mark.parametrize(
    ("name", "turn"),
    [("p_yes", False), ("yes", False), ("p_no", True), ("no", True), ("anything", False)],
)
def test_one_column_for_two_classes(tmp_path, name, turn):
    problem, p = made(classes=("no", "yes"))
    pl.DataFrame({name: p[:, 0] if turn else p[:, 1]}).write_csv(tmp_path / "p.csv")
    assert read_labels(problem, tmp_path / "p.csv").probabilities == pytest.approx(p, abs=1e-5)
    odds = np.log(p[:, 1] / p[:, 0])
    pl.DataFrame({name.replace("p_", "logit_"): -odds if turn else odds}).write_csv(tmp_path / "z.csv")
    found = read_labels(problem, tmp_path / "z.csv")
    assert found.labels(np.arange(90)).values == pytest.approx(odds, rel=1e-6)


def test_one_column_that_may_be_of_either_class(tmp_path):
    problem, p = made(classes=("0", "1"))
    pl.DataFrame({"0": p[:, 1]}).write_csv(tmp_path / "p.csv")
    with pytest.raises(InputError, match="not clear which class the single column '0' is for; call it p_0 or p_1"):
        read_labels(problem, tmp_path / "p.csv")


def test_rows_of_the_file_that_the_problem_left_out(tmp_path):
    problem, p = made()
    frame = pl.DataFrame({"x": problem.X[:, 0], "y": problem.X[:, 1], "z": problem.X[:, 2]})
    frame.with_columns(pl.Series("kind", [CLASSES[k] for k in problem.y])).write_csv(tmp_path / "t.csv")
    fewer = load(tmp_path / "t.csv", "kind", leave_out="dog")
    two = p[:, [0, 2]] / p[:, [0, 2]].sum(axis=1, keepdims=True)
    two[problem.y == 1] = np.nan  # nothing is said of rows that are not asked for
    np.save(tmp_path / "p.npy", two)
    found = read_labels(fewer, tmp_path / "p.npy")
    kept = problem.y != 1
    assert found.probabilities == pytest.approx(two[kept], abs=1e-5)
    np.save(tmp_path / "kept.npy", two[kept])
    assert read_labels(fewer, tmp_path / "kept.npy").fingerprint == found.fingerprint
    row = int(np.flatnonzero(kept)[3])
    two[row, 1] = np.nan
    np.save(tmp_path / "p.npy", two)
    with pytest.raises(InputError, match=rf"not finite: nan \(row {row + 1}\)"):
        read_labels(fewer, tmp_path / "p.npy")


def test_a_file_whose_rows_fit_in_two_ways_is_refused(tmp_path):
    """600 rows of data and 300 of a test file; without one class 600 remain."""
    rng = np.random.default_rng(0)
    for name, counts in (("d.csv", (200, 200, 200)), ("t.csv", (100, 100, 100))):
        kinds = np.repeat(CLASSES, counts)
        pl.DataFrame({"x": rng.normal(size=len(kinds)), "kind": kinds}).write_csv(tmp_path / name)
    problem = load(tmp_path / "d.csv", "kind", leave_out="fox", test=tmp_path / "t.csv")
    assert len(problem) == problem.file_rows == 600
    np.save(tmp_path / "p.npy", np.full((600, 2), 0.5))
    with pytest.raises(InputError, match="600 rows, which fit the data in two ways: match them by `id_column`"):
        read_labels(problem, tmp_path / "p.npy")


def test_a_named_set_without_labels_of_its_test_rows(tmp_path, monkeypatch):
    monkeypatch.setitem(
        CATALOGUE, "tiny", replace(CATALOGUE["digits"], name="tiny", examples={"train": 100, "test": 50})
    )
    _, p = made(150)
    drawn = np.random.default_rng(1)
    labels = np.array([drawn.choice(3, p=row) for row in p])
    whole = Problem(
        "tiny", p.astype(np.float32), labels, CLASSES, {}, Scaler("none"), rows=np.arange(150), file_rows=150
    )
    problem = whole.with_split("standard", 0, test=np.arange(100, 150))
    np.save(tmp_path / "p.npy", p[:100])
    found = read_labels(problem, tmp_path / "p.npy")
    assert found.known.tolist() == [True] * 100 + [False] * 50
    assert found.probabilities[:100] == pytest.approx(p[:100], abs=1e-5)
    kept = np.flatnonzero(labels != 1)
    part = replace(whole, X=whole.X[kept], y=labels[kept] // 2, classes=("cat", "fox"), rows=kept).with_split(
        "standard", 0, test=np.flatnonzero(kept >= 100)
    )
    two = p[:100, [0, 2]] / p[:100, [0, 2]].sum(axis=1, keepdims=True)
    np.save(tmp_path / "two.npy", two)
    found = read_labels(part, tmp_path / "two.npy")
    assert found.probabilities[found.known] == pytest.approx(two[kept[kept < 100]], abs=1e-5)
    np.save(tmp_path / "learned.npy", two[kept[kept < 100]])
    assert read_labels(part, tmp_path / "learned.npy").fingerprint == found.fingerprint


def with_ids(problem, ids):
    return replace(problem, ids=np.asarray(ids))


def test_ids_bring_rows_into_order(tmp_path):
    problem, p = made()
    problem = with_ids(problem, [f"n{row}" for row in range(90)])
    frame = columns(p, CLASSES).with_columns(pl.Series("patient", problem.ids))
    more = pl.concat([frame, frame.head(3).with_columns(pl.lit("else").alias("patient"))])
    shuffled = more.sample(fraction=1.0, shuffle=True, seed=1)
    shuffled.write_csv(tmp_path / "p.csv")
    found = read_labels(problem, tmp_path / "p.csv", id_column="patient")
    assert found.probabilities == pytest.approx(p, abs=1e-5)
    assert "3 rows of p.csv have ids that the data do not have" in found.notes[0]
    assert "by id 'patient'" in found.description


def test_ids_that_are_numbers_in_one_file_and_fractions_in_the_other(tmp_path):
    problem, p = made()
    frame = columns(p, CLASSES).with_columns(pl.Series("id", np.arange(90) * 10.0)).reverse()
    frame.write_csv(tmp_path / "p.csv")
    found = read_labels(with_ids(problem, [str(row * 10) for row in range(90)]), tmp_path / "p.csv", id_column="id")
    assert found.probabilities == pytest.approx(p, abs=1e-5)


def test_faults_of_ids(tmp_path):
    problem, p = made()
    ids = [f"n{row}" for row in range(90)]
    frame = columns(p, CLASSES).with_columns(pl.Series("id", ids))
    frame.slice(2).write_csv(tmp_path / "few.csv")
    with pytest.raises(InputError, match=r"lacks 2 of the data's 90 ids \('id'\): 'n0', 'n1'"):
        read_labels(with_ids(problem, ids), tmp_path / "few.csv", id_column="id")
    pl.concat([frame, frame.slice(4, 1)]).write_csv(tmp_path / "twice.csv")
    with pytest.raises(InputError, match=r"1 ids more than once \('n4'; 'n4' in rows 5 and 91\)"):
        read_labels(with_ids(problem, ids), tmp_path / "twice.csv", id_column="id")
    with pytest.raises(InputError, match="the data's id column 'id' has 1 ids more than once"):
        read_labels(with_ids(problem, [*ids[:-1], "n0"]), tmp_path / "twice.csv", id_column="id")
    with pytest.raises(InputError, match="the data were read without ids"):
        read_labels(problem, tmp_path / "few.csv", id_column="id")
    with pytest.raises(InputError, match="has no column 'name'"):
        read_labels(with_ids(problem, ids), tmp_path / "few.csv", id_column="name")
    np.save(tmp_path / "p.npy", p)
    with pytest.raises(InputError, match="no column names, so no id 'id'"):
        read_labels(with_ids(problem, ids), tmp_path / "p.npy", id_column="id")


def test_rows_and_columns_that_do_not_fit(tmp_path):
    problem, p = made()
    for name, table, message in (
        ("rows", p[:80], "has 80 rows, the data 90: it needs one row for each, or match them by `id_column`"),
        ("columns", p[:, :2], r"has shape \(90, 2\), the data have 3 classes"),
        ("nan", np.where(p > 0.9, np.nan, p), "not finite: nan"),
        ("inf", np.where(p > 0.9, np.inf, p), "not finite: inf"),
        ("negative", p + np.array([0.3, -0.3, 0.0]), "every row adds up to 1 as probabilities do, yet there is -0"),
        ("text", p.astype(str), "must be numbers, got <U"),
    ):
        np.save(tmp_path / f"{name}.npy", table)
        with pytest.raises(InputError, match=message) as caught:
            read_labels(problem, tmp_path / f"{name}.npy")
        assert "\n" not in str(caught.value)
    np.savez(tmp_path / "several.npz", a=p)
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    with pytest.raises(InputError, match="is an NPZ archive, not one array"):
        read_labels(problem, tmp_path / "several.npy")
    np.save(tmp_path / "object.npy", np.array([{"a": 1}]), allow_pickle=True)
    with pytest.raises(InputError, match="holds Python objects, which softlabel never unpickles"):
        read_labels(problem, tmp_path / "object.npy")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        read_labels(problem, tmp_path / "broken.parquet")


def test_columns_of_tables_that_do_not_fit(tmp_path):
    problem, p = made()
    for name, frame, message in (
        ("four", columns(np.hstack([p, p[:, :1]]), list("abcd")), r"has 4 columns \('a', 'b', 'c', 'd'\), the data 3"),
        (
            "missing",
            columns(p[:, :2], ["p_cat", "p_dog"]),
            "has columns 'p_cat', 'p_dog', but none for the classes 'fox'",
        ),
        ("text", columns(p, CLASSES).with_columns(pl.lit("high").alias("dog")), r"'dog' holds 'high' \(row 1\)"),
        (
            "name",
            columns(p, list("abc")).with_columns(pl.lit("x").alias("who")),
            "if 'who' holds ids, pass it as `id_column`",
        ),
    ):
        frame.write_csv(tmp_path / f"{name}.csv")
        with pytest.raises(InputError, match=message):
            read_labels(problem, tmp_path / f"{name}.csv")
    columns(p, CLASSES).write_csv(tmp_path / "headless.csv", include_header=False)
    with pytest.raises(InputError, match="the first line is numbers"):
        read_labels(problem, tmp_path / "headless.csv")
    gap = columns(p, CLASSES).with_columns(
        pl.when(pl.col("dog") > 0.9).then(None).otherwise(pl.col("dog")).alias("dog")
    )
    gap.write_csv(tmp_path / "gap.csv")
    with pytest.raises(InputError, match="not finite: nan"):
        read_labels(problem, tmp_path / "gap.csv")
    columns(p, CLASSES).head(0).write_csv(tmp_path / "empty.csv")
    with pytest.raises(InputError, match=r"has 0 rows|not a readable CSV"):
        read_labels(problem, tmp_path / "empty.csv")


@pytest.mark.parametrize("classes", [("no", "yes"), CLASSES])
@pytest.mark.parametrize("sharpness", [0.5, 1.0, 20.0])
def test_rows_in_another_order_are_refused(tmp_path, classes, sharpness):
    problem, p = made(600, classes)
    z = np.log(p) * sharpness
    np.save(tmp_path / "z.npy", z)
    assert read_labels(problem, tmp_path / "z.npy").notes == ()
    np.save(tmp_path / "z.npy", z[np.random.default_rng(1).permutation(600)])
    with pytest.raises(InputError, match=r"agrees with the given labels in .* if its rows were shuffled.*id_column"):
        read_labels(problem, tmp_path / "z.npy")
    np.save(tmp_path / "z.npy", np.roll(z, 1, axis=1))
    with pytest.raises(InputError, match=r"agrees with the given labels in"):
        read_labels(problem, tmp_path / "z.npy")


def test_classes_in_another_order_are_asked_about(tmp_path):
    problem, p = made(300, ("no", "yes"))
    np.save(tmp_path / "p.npy", p[:, ::-1])
    with pytest.raises(InputError, match=r"are its columns in the order of the classes \('no', 'yes'\)\?"):
        read_labels(problem, tmp_path / "p.npy")


def test_ids_of_other_rows_are_refused(tmp_path):
    problem, p = made(300)
    order = np.random.default_rng(1).permutation(300)
    columns(p, CLASSES).with_columns(pl.Series("id", [f"n{row}" for row in order])).write_csv(tmp_path / "p.csv")
    with pytest.raises(InputError, match=r"it seems to belong to other rows.*check the ids"):
        read_labels(with_ids(problem, [f"n{row}" for row in range(300)]), tmp_path / "p.csv", id_column="id")


def test_rare_classes_do_not_hide_another_order(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 2))
    odds = 4 * x[:, 0] - 8
    problem = Problem.from_arrays(x, rng.random(2000) < 1 / (1 + np.exp(-odds)))
    assert 0.01 < problem.y.mean() < 0.08
    np.save(tmp_path / "z.npy", odds)
    assert read_labels(problem, tmp_path / "z.npy").notes == ()
    np.save(tmp_path / "z.npy", rng.permutation(odds))
    with pytest.raises(InputError, match="it seems to belong to other rows"):
        read_labels(problem, tmp_path / "z.npy")


def test_a_collapsed_teacher_is_not_called_misplaced(tmp_path):
    problem, p = made(300)
    shuffled = p[np.random.default_rng(1).permutation(300)]
    np.save(tmp_path / "p.npy", 0.1 * shuffled + [[0.9, 0.0, 0.0]])
    assert read_labels(problem, tmp_path / "p.npy").notes == ()
    np.save(tmp_path / "same.npy", np.tile([0.2, 0.3, 0.5], (300, 1)))
    assert read_labels(problem, tmp_path / "same.npy").notes == ()


def test_few_rows_decide_nothing(tmp_path):
    problem, p = made(36)
    assert len(problem.train.rows) + len(problem.validation.rows) < 30
    np.save(tmp_path / "p.npy", p[::-1])
    assert read_labels(problem, tmp_path / "p.npy").notes == ()


def test_labels_that_claim_little_are_not_called_misplaced(tmp_path):
    problem, _ = made(120, ("no", "yes"))
    np.save(tmp_path / "z.npy", 0.2 * np.random.default_rng(3).normal(size=120))
    assert "for the order of its rows to be checked" in read_labels(problem, tmp_path / "z.npy").notes[0]


def test_mean_and_variance_under_shuffling_are_exact():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(7, 3))
    score, p = log_softmax(logits, axis=1), softmax(logits, axis=1)
    truth = np.array([0, 0, 0, 1, 1, 2, 0])
    dealt = [score[np.arange(7), truth[list(order)]].sum() for order in itertools.permutations(range(7))]
    mean, deviation = np.mean(dealt), np.std(dealt)
    above, claimed = compare(score, truth, p)
    assert above == pytest.approx((score[np.arange(7), truth].sum() - mean) / deviation)
    assert claimed == pytest.approx(((p * score).sum() - mean) / deviation)


def test_per_cent_are_not_taken_for_logits(tmp_path):
    problem, p = made()
    columns(100 * p, CLASSES).write_csv(tmp_path / "p.csv")
    with pytest.raises(InputError, match="every row adds up to 100, so these are percentages: divide them by 100"):
        read_labels(problem, tmp_path / "p.csv")


def test_columns_that_are_not_read_are_said_and_may_not_hold_probability(tmp_path):
    problem, p = made()
    columns(p, CLASSES).with_columns(weight=pl.lit(2.5)).write_csv(tmp_path / "p.csv")
    assert read_labels(problem, tmp_path / "p.csv").notes == ("columns 'weight' of the label file are not read",)
    columns(np.concatenate([p / 2, p.sum(axis=1, keepdims=True) / 2], axis=1), [*CLASSES, "owl"]).write_csv(
        tmp_path / "p.csv"
    )
    with pytest.raises(InputError, match="add up to 1 only with column 'owl', which is not a class of the data"):
        read_labels(problem, tmp_path / "p.csv")
