"""One door to every teacher, and one line for what is none."""

import numpy as np
import polars as pl
import pytest
from scipy.special import softmax
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import softlabel
from softlabel.data.problem import Problem
from softlabel.errors import InputError
from softlabel.teachers.asking import ask_teacher


def made(rows=150):
    x = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    y = np.array(["a", "b", "c"])[softmax(2 * x, axis=1).argmax(axis=1)]
    return x, y, Problem.of(x, y)


def test_the_same_teacher_in_every_form(tmp_path):
    x, y, problem = made()
    model = LogisticRegression().fit(x, y)
    said = model.predict_proba(x)
    (tmp_path / "m.onnx").write_bytes(to_onnx(model, x[:1]).SerializeToString())
    np.save(tmp_path / "p.npy", said)
    pl.DataFrame(dict(zip("abc", said.T, strict=True))).write_csv(tmp_path / "p.csv")
    pl.DataFrame(dict(zip("abc", said.T, strict=True))).write_parquet(tmp_path / "p.PARQUET")
    for teacher in (
        model, model.predict_proba, lambda inputs: model.decision_function(inputs), tmp_path / "m.onnx",
        str(tmp_path / "m.onnx"), tmp_path / "p.npy", str(tmp_path / "p.csv"), tmp_path / "p.PARQUET",
    ):  # fmt: skip
        assert ask_teacher(problem, teacher).probabilities == pytest.approx(said, abs=1e-4)


def test_it_is_public():
    assert softlabel.ask_teacher is ask_teacher
    assert softlabel.audit_teacher.__module__ == "softlabel.teachers.audit"


def test_auto_trains_one_and_tells_of_it():
    _, _, problem = made()
    lines = []
    found = ask_teacher(problem, "auto", transfer=problem.inputs[:2], seed=1, watch=lines.append)
    assert found.out_of_fold
    assert found.transfer.shape == (2, 3)
    assert lines


def test_an_id_column_is_for_label_files_alone():
    x, y, problem = made()
    model = LogisticRegression().fit(x, y)
    assert ask_teacher(problem, model, id_column="patient").known.all()


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("forest", "teacher 'forest' is no teacher: a teacher is 'auto'"),
        ("Auto", "teacher 'Auto' is no teacher: a teacher is 'auto'"),
        ("nowhere/m.onnx", "no file 'nowhere/m.onnx' for a teacher"),
        ("nowhere/p.csv", "no file 'nowhere/p.csv'"),
        ("model.pkl", "'model.pkl' may hold code, which softlabel never loads"),
        ("notes.txt", "an .onnx file, a .csv, .parquet or .npy file of soft labels"),
        (3, "teacher of type int is not possible: a teacher is 'auto'"),
        (None, "teacher of type NoneType is not possible"),
        (LinearSVC(), "teacher of type LinearSVC has no predict_proba: a teacher is 'auto'"),
    ],
)
def test_what_is_no_teacher(teacher, message):
    _, _, problem = made(60)
    with pytest.raises(InputError, match=message) as caught:
        ask_teacher(problem, teacher)
    assert "\n" not in str(caught.value)


def test_folders_and_empty_files(tmp_path):
    _, _, problem = made(60)
    with pytest.raises(InputError, match="is a folder"):
        ask_teacher(problem, tmp_path)
    (tmp_path / "m.onnx").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        ask_teacher(problem, tmp_path / "m.onnx")
    (tmp_path / "e.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        ask_teacher(problem, tmp_path / "e.npy")


def test_options_that_do_not_belong_to_a_teacher(tmp_path):
    x, y, problem = made(60)
    model = LogisticRegression().fit(x, y)
    np.save(tmp_path / "p.npy", model.predict_proba(x))
    for teacher in ("auto", model, tmp_path / "p.npy"):
        with pytest.raises(InputError, match="output 'z' is for ONNX teachers alone"):
            ask_teacher(problem, teacher, output="z")
    with pytest.raises(InputError, match="kind 'logits' is for teachers that are given"):
        ask_teacher(problem, "auto", kind="logits")
    with pytest.raises(InputError, match="logits or probabilities, not 'classes'"):
        ask_teacher(problem, model, kind="classes")
    with pytest.raises(InputError, match="cannot label the unlabelled rows"):
        ask_teacher(problem, tmp_path / "p.npy", transfer=x[:3])


@pytest.mark.parametrize(
    ("transfer", "message"),
    [
        (np.zeros((3, 2)), "must have the data's 3 columns, they have 2"),
        (np.zeros((0, 3)), r"got shape \(0, 3\)"),
        (np.zeros(3), r"got shape \(3,\)"),
        (np.array([[0, 1, np.nan]]), r"missing or infinite values \(first in row 1, column 3\)"),
        (np.array([["a", "b", "c"]]), "must be numbers"),
    ],
)
def test_unlabelled_rows_that_do_not_fit(transfer, message):
    x, y, problem = made(60)
    with pytest.raises(InputError, match=message):
        ask_teacher(problem, LogisticRegression().fit(x, y), transfer=transfer)


def test_unlabelled_rows_with_names():
    x, y, _ = made(60)
    frame = pl.DataFrame(dict(zip("uvw", x.T, strict=True)))
    problem, model = Problem.of(frame, y), LogisticRegression().fit(frame, y)
    found = ask_teacher(problem, model, transfer=frame.head(4))
    assert softmax(found.transfer, axis=1) == pytest.approx(found.probabilities[:4], abs=1e-6)
    with pytest.raises(InputError, match="columns in order: 'v' is not 'u'"):
        ask_teacher(problem, model, transfer=frame.select(["v", "u", "w"]))
