"""Wherever a public function takes a path, a string does as well."""

import numpy as np
import polars as pl
import pytest

import softlabel as sl
from softlabel.errors import InputError
from softlabel.export import export_onnx, load_student, save_student
from softlabel.networks.deep.prepared import prepared_for
from softlabel.studies.distilling import Parts
from softlabel.studies.running import open_ledger, rebuild, study_settings
from tests.export.students import inputs, student
from tests.networks.deep.small import images
from tests.studies.practice.toy import Toy

QUICK = {"epochs": 1, "batch": 128}
TOY = Toy(rows=300)


@pytest.fixture
def table(tmp_path):
    """The toy's rows as a CSV file with a label column of words."""
    frame = pl.DataFrame(TOY.inputs, schema=["a", "b", "c", "d"])
    frame = frame.with_columns(pl.Series("y", ["yes" if label else "no" for label in TOY.labels]))
    frame.write_csv(tmp_path / "data.csv")
    frame.drop("y").write_csv(tmp_path / "more.csv")
    return tmp_path / "data.csv"


def test_distill_writes_into_a_folder_given_as_a_string(tmp_path):
    sets = [images(), images(30, seed=1), images(30, seed=2)]
    parts = Parts(*sets, tuple(np.arange(len(one)) for one in sets))  # type: ignore[arg-type]
    net = sl.build_network("resnet8", 2, (1, 8, 8), 0.25, seed=1)
    about = {"network": "resnet8", "width": 0.25, "classes": ["a", "b"]}
    found = sl.distill(
        parts, sl.build_network("resnet8", 2, (1, 8, 8), 0.5), net, training=sl.Training(epochs=1), about=about,
        folder=f"{tmp_path}/run",
    )  # fmt: skip
    assert (tmp_path / "run" / "results.json").is_file()
    assert found.document["exported"]["soft"]["onnx"] == str(tmp_path / "run" / "students" / "soft.onnx")


def test_verdict_and_plan_take_a_file_and_its_label_column(tmp_path, table):
    settings = QUICK | {"teacher": TOY.truth, "seeds": 3}
    given = sl.verdict(str(table), "y", width=2, folder=f"{tmp_path}/one", transfer=f"{tmp_path}/more.csv", **settings)
    assert given.document["settings"]["data"].startswith(f"{sl.load_problem(table, 'y').name}: 4 inputs")
    assert set(given.document["arms"]) == {"hard", "soft", "smooth", "transfer"}
    rebuild(f"{tmp_path}/one")
    open_ledger(f"{tmp_path}/one").close()
    frame = pl.read_csv(table)
    framed = sl.verdict(frame, "y", width=2, folder=tmp_path / "two", **settings)
    apart = sl.verdict(frame.drop("y"), frame["y"], width=2, folder=tmp_path / "three", **settings)
    assert framed.document["gap"] == apart.document["gap"]
    planned = sl.plan(
        table, "y", accuracy=0.6, widths=[1, 2], confirm=0, rival=False, folder=f"{tmp_path}/p", **settings
    )
    assert planned.document["settings"]["inputs"] == 4


def test_files_without_a_label_column_are_told_what_is_missing(table):
    for ask in (sl.verdict, lambda *words: sl.plan(*words, accuracy=0.9)):
        with pytest.raises(InputError, match="needs to know its label column: pass its name as labels"):
            ask(str(table))
        with pytest.raises(InputError, match="has no column 'z'"):
            ask(str(table), "z")
        with pytest.raises(InputError, match="labels must be the name of the label column where inputs is a file"):
            ask(table, np.zeros(300))
        with pytest.raises(InputError, match="inputs have no column 'z' for the labels"):
            ask(pl.read_csv(table), "z")
        with pytest.raises(InputError, match="labels are missing"):
            ask(TOY.inputs)
        with pytest.raises(InputError, match="has its labels already"):
            ask(TOY.problem(), TOY.labels)


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
    sl.train_network(net, images(), images(30, seed=1), sl.Training(epochs=1), checkpoint=f"{tmp_path}/c.safetensors")
    assert (tmp_path / "c.safetensors").is_file()


def test_studies_take_settings_and_folders(tmp_path):
    (tmp_path / "s.toml").write_text("runs = 2\n")
    assert study_settings("figure1", "quick", f"{tmp_path}/s.toml") is not None
