"""One function for every teacher, and one line for what is not a teacher."""

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
from softlabel.teachers.sources import TeacherOptions, query_teacher, teacher_specification


def made(rows=150):
    x = np.random.default_rng(0).normal(size=(rows, 3)).astype(np.float32)
    y = np.array(["a", "b", "c"])[softmax(2 * x, axis=1).argmax(axis=1)]
    return x, y, Problem.from_arrays(x, y)


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
        assert query_teacher(problem, teacher).probabilities == pytest.approx(said, abs=1e-4)


def test_it_is_public():
    assert softlabel.query_teacher is query_teacher
    assert softlabel.audit_teacher.__module__ == "softlabel.teachers.audit"


def test_auto_trains_one_and_logs_it(caplog):
    _, _, problem = made()
    with caplog.at_level("INFO", logger="softlabel"):
        found = query_teacher(problem, "auto", transfer=problem.X[:2], seed=1)
    assert found.out_of_fold
    assert found.transfer.shape == (2, 3)
    assert "teacher: training a network of width 512 on 90 rows" in caplog.messages


def test_what_a_trained_teacher_depends_on():
    assert teacher_specification("auto", 3)["seed"] == 3
    assert teacher_specification("model.onnx", 3) is None


def test_an_id_column_is_for_label_files_alone():
    x, y, problem = made()
    model = LogisticRegression().fit(x, y)
    assert query_teacher(problem, model, options=TeacherOptions(id_column="patient")).known.all()


@pytest.mark.parametrize(
    ("teacher", "message"),
    [
        ("forest", "teacher 'forest' is not a teacher: a teacher is 'auto'"),
        ("Auto", "teacher 'Auto' is not a teacher: a teacher is 'auto'"),
        ("nowhere/m.onnx", "no file 'nowhere/m.onnx' for a teacher"),
        ("nowhere/p.csv", "no file 'nowhere/p.csv'"),
        ("model.pkl", "'model.pkl' may run code when it is loaded, so softlabel does not load it: load it in Python"),
        ("notes.md", "an .onnx file, a .csv, .parquet or .npy file of soft labels"),
        (3, "teacher of type int is not possible: a teacher is 'auto'"),
        (None, "teacher of type NoneType is not possible"),
        (LinearSVC(), "teacher of type LinearSVC has no predict_proba: if its predict returns"),
    ],
)
def test_what_is_no_teacher(teacher, message):
    _, _, problem = made(60)
    with pytest.raises(InputError, match=message) as caught:
        query_teacher(problem, teacher)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "why", "load", "convert"),
    [
        ("m.pkl", "may run code", "joblib.load or pickle.load", "skl2onnx.to_onnx(model, X[:1])"),
        ("m.pickle", "may run code", "joblib.load or pickle.load", "skl2onnx.to_onnx(model, X[:1])"),
        ("m.JOBLIB", "may run code", "joblib.load or pickle.load", "skl2onnx.to_onnx(model, X[:1])"),
        ("m.pt", "may run code", "torch.load", "torch.onnx.export(module, inputs, 'teacher.onnx')"),
        ("m.pth", "may run code", "torch.load", "torch.onnx.export(module, inputs, 'teacher.onnx')"),
        ("m.keras", "may run code", "keras.models.load_model", "model.export('teacher.onnx', format='onnx')"),
        ("m.h5", "may run code", "keras.models.load_model", "model.export('teacher.onnx', format='onnx')"),
        ("m.cbm", "of CatBoost alone", "CatBoostClassifier.load_model", "model.save_model('teacher.onnx', format="),
        ("m.json", "of XGBoost alone", "XGBClassifier.load_model", "onnxmltools.convert_xgboost"),
        ("m.txt", "of LightGBM alone", "lightgbm.Booster(model_file=...).predict", "onnxmltools.convert_lightgbm"),
    ],
)
def test_files_of_other_libraries_are_refused_with_the_way_to_convert_them(tmp_path, name, why, load, convert):
    _, _, problem = made(60)
    (tmp_path / name).write_bytes(b"anything")
    with pytest.raises(InputError) as caught:
        query_teacher(problem, tmp_path / name)
    message = str(caught.value)
    assert all(part in message for part in (f"'{tmp_path / name}'", why, f"load it in Python ({load})", convert))
    assert "\n" not in message
    assert "`" not in message


def test_folders_and_empty_files(tmp_path):
    _, _, problem = made(60)
    with pytest.raises(InputError, match="is a directory"):
        query_teacher(problem, tmp_path)
    (tmp_path / "m.onnx").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        query_teacher(problem, tmp_path / "m.onnx")
    (tmp_path / "e.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        query_teacher(problem, tmp_path / "e.npy")


def test_options_that_do_not_belong_to_a_teacher(tmp_path):
    x, y, problem = made(60)
    model = LogisticRegression().fit(x, y)
    np.save(tmp_path / "p.npy", model.predict_proba(x))
    for teacher in ("auto", model, tmp_path / "p.npy"):
        with pytest.raises(InputError, match="`output` 'z' is for ONNX teachers only"):
            query_teacher(problem, teacher, options=TeacherOptions(output="z"))
    with pytest.raises(InputError, match="`kind` 'logits' does not apply to teacher 'auto'"):
        query_teacher(problem, "auto", options=TeacherOptions(kind="logits"))
    with pytest.raises(InputError, match="logits or probabilities, not 'classes'"):
        query_teacher(problem, model, options=TeacherOptions(kind="classes"))
    with pytest.raises(InputError, match="cannot label the unlabeled rows"):
        query_teacher(problem, tmp_path / "p.npy", transfer=x[:3])


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
        query_teacher(problem, LogisticRegression().fit(x, y), transfer=transfer)


def test_unlabelled_rows_with_names():
    x, y, _ = made(60)
    frame = pl.DataFrame(dict(zip("uvw", x.T, strict=True)))
    problem, model = Problem.from_arrays(frame, y), LogisticRegression().fit(frame, y)
    found = query_teacher(problem, model, transfer=frame.head(4))
    assert softmax(found.transfer, axis=1) == pytest.approx(found.probabilities[:4], abs=1e-6)
    with pytest.raises(InputError, match="columns in order: 'v' is not 'u'"):
        query_teacher(problem, model, transfer=frame.select(["v", "u", "w"]))
