"""Wherever a public function takes a path, a string does as well."""

import numpy as np
import polars as pl
import pytest

import softlabel as sl
from softlabel.errors import InputError
from softlabel.export import export_onnx, load_student, save_student
from softlabel.networks.deep.prepared import prepared_for
from softlabel.studies.reproduce import study_settings
from softlabel.studies.run import open_ledger
from softlabel.studies.students import theory
from tests.export.students import inputs, student
from tests.networks.deep.small import images
from tests.studies.students.toy import Toy

TOY = Toy(rows=300)


@pytest.fixture
def table(tmp_path):
    """The toy's rows as a CSV file with a label column of words."""
    frame = pl.DataFrame(TOY.inputs, schema=["a", "b", "c", "d"])
    frame = frame.with_columns(pl.Series("y", ["yes" if label else "no" for label in TOY.labels]))
    frame.write_csv(tmp_path / "data.csv")
    frame.drop("y").write_csv(tmp_path / "more.csv")
    return tmp_path / "data.csv"


def test_verdict_and_plan_take_a_file_and_its_label_column(tmp_path, table, monkeypatch):
    for name in ("WORK", "MIN_WORK"):
        monkeypatch.setattr(theory, name, 1e8)
    options = sl.VerdictOptions(epochs=1, batch_size=128, transfer=f"{tmp_path}/more.csv")
    settings = {"teacher": TOY.truth, "seeds": 3}
    result = sl.verdict(str(table), "y", width=2, out=f"{tmp_path}/one", options=options, **settings)
    document = result.to_dict()
    assert document["settings"]["data"].startswith(f"{sl.load(table, 'y').name}: 4 inputs")
    assert set(document["arms"]) == {"hard", "soft", "smooth", "transfer"}
    assert sl.read_run(f"{tmp_path}/one").to_dict()["gap"] == document["gap"]
    open_ledger(f"{tmp_path}/one").close()
    options = sl.VerdictOptions(epochs=1, batch_size=128)
    frame = pl.read_csv(table)
    framed = sl.verdict(frame, "y", width=2, out=tmp_path / "two", options=options, **settings)
    apart = sl.verdict(frame.drop("y"), frame["y"], width=2, out=tmp_path / "three", options=options, **settings)
    assert framed.to_dict()["gap"] == apart.to_dict()["gap"]
    planned = sl.plan(
        table, "y", accuracy=0.6, widths=[1, 2], out=f"{tmp_path}/p",
        options=sl.PlanOptions(epochs=1, batch_size=128, confirm=0, rival=False), **settings,
    )  # fmt: skip
    assert planned.to_dict()["settings"]["inputs"] == 4


def test_files_without_a_label_column_raise(table):
    for function in (sl.verdict, lambda *arguments: sl.plan(*arguments, accuracy=0.9)):
        with pytest.raises(InputError, match="needs a label column: pass `label`"):
            function(str(table))
        with pytest.raises(InputError, match="has no column 'z'"):
            function(str(table), "z")
        with pytest.raises(InputError, match="`y` must be the name of the label column if `X` is a file"):
            function(table, np.zeros(300))
        with pytest.raises(InputError, match="no column 'z'"):
            function(pl.read_csv(table), "z")
        with pytest.raises(InputError, match="labels are missing"):
            function(TOY.inputs)
        with pytest.raises(InputError, match="has its labels already"):
            function(sl.Problem.from_arrays(TOY.inputs, TOY.labels), TOY.labels)


def test_students_and_networks_are_saved_and_read(tmp_path):
    model = student(2)
    model.save(f"{tmp_path}/s.safetensors")
    assert sl.StudentModel.load(f"{tmp_path}/s.safetensors").classes == model.classes
    model.network.save(f"{tmp_path}/n.safetensors")
    assert sl.TwoLayer.load(f"{tmp_path}/n.safetensors").width == model.network.width
    files = sl.export_student(model, f"{tmp_path}/files", "s", inputs())
    assert all(path.is_file() for path in files.paths)
    assert {path.stat().st_mode & 0o777 for path in files.paths} == {
        (tmp_path / "s.safetensors").stat().st_mode & 0o777
    }
    net = prepared_for(sl.build_network("resnet8", 2, (1, 8, 8), 0.25, seed=1), images()).eval()
    export_onnx(net, images().pixels, f"{tmp_path}/d.onnx")
    about = {"network": "resnet8", "width": 0.25, "classes": ["a", "b"], "image": [1, 8, 8]}
    save_student(f"{tmp_path}/d.safetensors", net, about)
    load_student(f"{tmp_path}/d.safetensors")
    sl.train_network(
        net, images(), images(30, seed=1), sl.DeepTraining(epochs=1), checkpoint=f"{tmp_path}/c.safetensors"
    )
    assert (tmp_path / "c.safetensors").is_file()


def test_studies_take_settings_files(tmp_path):
    (tmp_path / "s.toml").write_text("runs = 2\n")
    assert study_settings("figure1", "quick", f"{tmp_path}/s.toml") is not None
