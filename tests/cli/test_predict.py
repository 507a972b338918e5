"""`softlabel predict`: what it prints and writes, how columns find their places, and what it says to bad input."""

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from PIL import Image

from softlabel.cli.main import run
from softlabel.data.loading import load_raw
from softlabel.data.scaling import Scaler
from softlabel.export import export_student, save_student
from softlabel.networks import TwoLayer
from softlabel.networks.deep import build_network, network_logits
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from tests.export.students import COLUMNS, NAMES, inputs, student
from tests.faults.disks import files_up_to
from tests.networks.deep.small import images

KEYS = {
    "model", "rows", "classes", "counts", "accuracy", "log_loss", "calibration_error", "probabilities_are",
    "label_temperature", "label_smoothing", "predictions", "out",
}  # fmt: skip


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Models and files that fit them; labels are what the model itself says, but for row 1."""
    place = tmp_path_factory.mktemp("shelf")
    for classes in (2, 5):
        export_student(student(classes), place, f"m{classes}", inputs())
    export_student(student(5, columns=None), place, "plain", inputs())
    x = inputs(30, seed=4)
    predicted = student(5).predict(x)
    predicted[0] = (predicted[0] + 1) % 5
    frame = pl.DataFrame(x, schema=list(COLUMNS)).with_columns(
        pl.Series("kind", [NAMES[one] for one in predicted]),
        pl.Series("nr", range(100, 130)),
        pl.lit("text").alias("remark"),
    )
    frame.select("remark", "height", "kind", "age", "nr", "weight").write_csv(place / "t.csv")
    frame.write_parquet(place / "t.parquet")
    frame.select(COLUMNS).write_csv(place / "bare.csv")
    np.save(place / "x.npy", x)
    np.save(place / "xy.npy", np.column_stack([predicted, x]))
    np.savez(place / "x.npz", X=x)
    np.savez(place / "xy.npz", X=x, y=np.array([NAMES[one] for one in predicted]))
    return place


@pytest.fixture
def here(shelf, tmp_path, monkeypatch):
    """A folder of its own with all of it."""
    shutil.copytree(shelf, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def answer(capsys, *words):
    assert run(["predict", *map(str, words), "--json"]) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert set(document) == KEYS
    return document, captured.err


TRUTH = student(5).probabilities(inputs(30, seed=4))


@pytest.mark.parametrize("model", ["m5.onnx", "m5.safetensors", "m5.npz"])
@pytest.mark.parametrize("data", ["t.csv", "t.parquet", "bare.csv", "x.npy", "x.npz"])
def test_json_has_what_scripts_rely_on(here, capsys, model, data):
    document, errors = answer(capsys, model, data)
    assert document["model"] == model
    assert document["rows"] == 30
    assert document["classes"] == list(NAMES)
    assert (document["accuracy"], document["log_loss"], document["out"]) == (None, None, None)
    p = np.array([entry["probabilities"] for entry in document["predictions"]])
    assert p == pytest.approx(TRUTH, abs=1e-5)
    assert [entry["class"] for entry in document["predictions"]] == [NAMES[one] for one in p.argmax(axis=1)]
    assert [entry["row"] for entry in document["predictions"]] == list(range(1, 31))
    assert list(document["counts"]) == list(NAMES)
    assert list(document["counts"].values()) == np.bincount(p.argmax(axis=1), minlength=5).tolist()
    ignored = "columns that the model does not use are ignored: "
    assert (ignored in errors) == data.startswith("t.")
    if data == "t.csv":
        assert ignored + "remark, kind, nr" in errors


@pytest.mark.parametrize(
    ("model", "data", "label", "extra"),
    [
        ("m5.onnx", "t.csv", "kind", []),
        ("m5.safetensors", "t.parquet", "kind", ["--id", "nr", "--drop", "remark"]),
        ("plain.onnx", "t.parquet", "kind", ["--id", "nr", "--drop", "remark"]),
        ("m5.onnx", "xy.npz", "y", []),
    ],
)
def test_labels_give_scores(here, capsys, model, data, label, extra):
    document, errors = answer(capsys, model, data, "--label", label, *extra)
    assert document["accuracy"] == pytest.approx(29 / 30)
    predicted = TRUTH.argmax(axis=1)
    predicted[0] = (predicted[0] + 1) % 5
    assert document["log_loss"] == pytest.approx(-np.log(TRUTH[np.arange(30), predicted]).mean(), abs=1e-4)
    if "--id" in extra:
        assert [entry["id"] for entry in document["predictions"]] == list(range(100, 130))
    assert ("ignored" in errors) == (data == "t.csv")


def test_labels_as_numbers_and_truths(here, capsys):
    """1.0 in a file is the class 1, and true is True."""
    x = inputs(30, seed=4)
    for classes, values in (
        (("0", "1"), lambda predicted: predicted.astype(float)),
        (("False", "True"), lambda predicted: predicted.astype(bool)),
        (("false", "true"), lambda predicted: predicted.astype(bool)),
    ):
        model = StudentModel(student().network, student().scaler, classes, COLUMNS)
        model.save(here / "n.safetensors")
        frame = pl.DataFrame(x, schema=list(COLUMNS)).with_columns(pl.Series("y", values(model.predict(x))))
        frame.write_csv(here / "n.csv")
        assert answer(capsys, "n.safetensors", "n.csv", "--label", "y")[0]["accuracy"] == 1
    np.save("n.npy", np.column_stack([x, StudentModel.load(here / "n.safetensors").predict(x)]))
    numbers = StudentModel(student().network, student().scaler, ("0", "1"))
    numbers.save(here / "n.safetensors")
    assert answer(capsys, "n.safetensors", "n.npy", "--label", "last")[0]["accuracy"] == 1


@pytest.mark.parametrize("ending", ["onnx", "safetensors", "npz"])
def test_outputs_of_a_student_of_softened_labels_are_not_called_probabilities(here, capsys, ending):
    model = replace(student(5), softening=Softening(8.0))
    export_student(model, here, "soft", inputs())
    document, errors = answer(capsys, f"soft.{ending}", "t.csv", "--label", "kind", "--out", "said.csv")
    assert document["probabilities_are"] == "softened (label temperature 8)"
    assert document["label_temperature"] == 8
    assert document["calibration_error"] > 0
    assert "note: outputs are softened (label temperature 8)" in errors
    assert pl.read_csv("said.csv").columns == ["row", "predicted", *(f"softened_{name}" for name in NAMES)]
    assert run(["predict", f"soft.{ending}", "t.csv", "--label", "kind"]) == 0
    shown = capsys.readouterr().out
    assert "softened" in shown.split("predicted classes")[0]
    assert "probability" not in shown
    assert "(of outputs that are softened (label temperature 8))" in " ".join(shown.split())
    hard, errors = answer(capsys, f"m5.{ending}", "t.csv", "--out", "said.csv")
    assert (hard["probabilities_are"], hard["label_temperature"]) == ("probabilities", 1)
    assert "softened" not in errors
    assert pl.read_csv("said.csv").columns[2:] == [f"p_{name}" for name in NAMES]


def test_a_certain_mistake_has_a_finite_loss(here, capsys):
    certain = StudentModel(student(size=1e3).network, Scaler("none"), ("0", "1"), COLUMNS)
    certain.save(here / "n.safetensors")
    x = 1e3 * inputs(4)
    wrong = 1 - certain.predict(x)
    pl.DataFrame(x, schema=list(COLUMNS)).with_columns(pl.Series("y", wrong)).write_csv(here / "n.csv")
    document, _ = answer(capsys, "n.safetensors", "n.csv", "--label", "y")
    assert document["accuracy"] == 0
    assert 30 < document["log_loss"] < 40


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_out_holds_every_row(here, capsys, ending):
    document, errors = answer(capsys, "m5.onnx", "t.parquet", "--id", "nr", "--out", f"new/p.{ending}")
    assert document["out"] == f"new/p.{ending}"
    assert f"30 predictions written to new/p.{ending}" in errors
    frame = (pl.read_csv if ending == "csv" else pl.read_parquet)(here / "new" / f"p.{ending}")
    assert frame.columns == ["nr", "predicted", *(f"p_{name}" for name in NAMES)]
    assert frame["nr"].to_list() == list(range(100, 130))
    assert frame["predicted"].to_list() == [entry["class"] for entry in document["predictions"]]
    assert frame[:, 2:].to_numpy() == pytest.approx(TRUTH, abs=1e-5)
    assert [path.name for path in (here / "new").iterdir()] == [f"p.{ending}"]
    answer(capsys, "m5.onnx", "x.npy", "--out", f"new/p.{ending}")  # written again, rows by number
    frame = (pl.read_csv if ending == "csv" else pl.read_parquet)(here / "new" / f"p.{ending}")
    assert frame["row"].to_list() == list(range(1, 31))


def test_out_as_npy_holds_probabilities(here, capsys):
    _, errors = answer(capsys, "m5.onnx", "t.csv", "--id", "nr", "--out", "p.npy")
    assert "without ids" in errors
    assert np.load("p.npy") == pytest.approx(TRUTH, abs=1e-5)


def test_what_people_see(here, capsys):
    assert run(["predict", "m5.onnx", "t.csv", "--label", "kind", "--id", "nr"]) == 0
    captured = capsys.readouterr()
    assert "first 10 of 30 rows" in captured.out
    assert "109" in captured.out
    assert "110" not in captured.out
    assert "[b]?" in captured.out  # a class name, not markup
    assert "Accuracy 96.67%, log loss" in captured.out
    assert "m5.onnx: ONNX model, inputs 3, 5 classes" in captured.err
    assert run(["predict", "m2.safetensors", "x.npy"]) == 0
    captured = capsys.readouterr()
    assert "Accuracy" not in captured.out
    assert "share" in captured.out


def test_dates_as_ids(here, capsys):
    frame = pl.read_parquet("t.parquet").with_columns(
        pl.date_range(pl.date(2024, 1, 1), pl.date(2024, 1, 30)).alias("day")
    )
    frame.write_parquet("d.parquet")
    document, _ = answer(capsys, "m5.onnx", "d.parquet", "--id", "day", "--out", "p.parquet")
    assert document["predictions"][0]["id"] == "2024-01-01"
    assert pl.read_parquet("p.parquet")["day"].dtype == pl.Date


def test_columns_by_number_are_taken_by_position(here, capsys):
    """A model of a file without names knows columns 0, 1, 2: any table of three columns will do."""
    StudentModel(student(5).network, student().scaler, NAMES, ("0", "1", "2")).save(here / "n.safetensors")
    for data in ("bare.csv", "x.npy"):
        document, _ = answer(capsys, "n.safetensors", data)
        assert np.array([entry["probabilities"] for entry in document["predictions"]]) == pytest.approx(TRUTH, abs=1e-5)


def test_an_id_may_be_an_input_too(here, capsys):
    document, _ = answer(capsys, "m5.onnx", "bare.csv", "--id", "age")
    assert np.array([entry["probabilities"] for entry in document["predictions"]]) == pytest.approx(TRUTH, abs=1e-5)


def digits_student(classes):
    rng = np.random.default_rng(0)
    import torch

    hidden, output = rng.standard_normal((6, 64)), rng.standard_normal((1 if len(classes) == 2 else len(classes), 6))
    return StudentModel(TwoLayer(torch.tensor(hidden), torch.tensor(output)), Scaler("unit"), classes)


def test_a_named_set_brings_its_labels(here, capsys):
    model = digits_student(tuple("0123456789"))
    model.save(here / "digits.safetensors")
    document, errors = answer(capsys, "digits.safetensors", "digits")
    raw = load_raw("digits")
    assert document["rows"] == 1797
    assert document["accuracy"] == pytest.approx((model.predict(raw.inputs) == raw.labels).mean())
    assert "including any that the model was trained on" in errors
    digits_student(("not label>4", "label>4")).save(here / "two.safetensors")
    document, _ = answer(capsys, "two.safetensors", "digits")
    two = StudentModel.load(here / "two.safetensors")
    assert document["accuracy"] == pytest.approx((two.predict(raw.inputs) == (raw.labels > 4)).mean())
    for classes in (("not label==cat", "label==cat"), ("a", "b")):
        digits_student(classes).save(here / "two.safetensors")
        document, errors = answer(capsys, "two.safetensors", "digits")
        assert document["accuracy"] is None
        assert "labels that are not classes of the model (0, 1, 2, 3, 4, 5, 6, 7 and 2 more): no scores" in errors


@pytest.mark.parametrize(
    ("rule", "labels", "sides"),
    [
        ("label>4", [3, 5, 7, 4], [0, 1, 1, 0]),
        ("label>4", [5, 6, 5, 6], [1, 1, 1, 1]),
        ("label in 0,2,4", ["0", "1", "2", "3"], [1, 0, 1, 0]),
        ("label==cat", ["dog", "cat", "bird", "cat"], [0, 1, 0, 1]),
        ("label!=cat", ["dog", "dog", "dog", "dog"], [1, 1, 1, 1]),
    ],
)
def test_a_rule_tells_its_sides_from_the_labels(here, capsys, rule, labels, sides):
    model = StudentModel(student().network, student().scaler, (f"not {rule}", rule), COLUMNS)
    model.save(here / "r.safetensors")
    x = inputs(4, seed=4)
    pl.DataFrame(x, schema=list(COLUMNS)).with_columns(pl.Series("y", labels)).write_csv(here / "r.csv")
    document, _ = answer(capsys, "r.safetensors", "r.csv", "--label", "y")
    assert document["accuracy"] == (model.predict(x) == sides).mean()


def test_a_rule_about_numbers_needs_numbers(here, capsys):
    StudentModel(student().network, student().scaler, ("not label>4", "label>4"), COLUMNS).save(here / "r.safetensors")
    assert run(["predict", "r.safetensors", "t.csv", "--label", "kind"]) == 2
    assert "task 'label>4' compares numbers, and class 'café' is not a number" in capsys.readouterr().err


def test_classes_that_differ_in_their_zeros_stay_apart(here, capsys):
    model = StudentModel(student().network, student().scaler, ("01", "1"), COLUMNS)
    model.save(here / "z.safetensors")
    x = inputs(20, seed=4)
    predicted = [("01", "1")[place] for place in model.predict(x)]
    pl.DataFrame(x, schema=list(COLUMNS)).with_columns(pl.Series("y", predicted)).write_parquet(here / "z.parquet")
    assert answer(capsys, "z.safetensors", "z.parquet", "--label", "y")[0]["accuracy"] == 1


@pytest.fixture(scope="module")
def album(tmp_path_factory):
    """Deep students of grey and colour images, and pictures."""
    place = tmp_path_factory.mktemp("album")
    for name, channels in (("grey", 1), ("colour", 3)):
        net = prepared_for(build_network("resnet8", 2, (channels, 8, 8), 0.25, seed=1), images(channels=channels))
        about = {"network": "resnet8", "width": 0.25, "classes": ["cat", "dog"], "image": [channels, 8, 8]}
        save_student(place / f"{name}.safetensors", net.eval(), about)
    pixels = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
    np.savez(place / "last.npz", images=pixels)
    np.savez(place / "first.npz", images=(pixels.transpose(0, 3, 1, 2) / 255).astype(np.float32), labels=["cat"] * 6)
    np.savez(place / "grey.npz", images=pixels[:, :, :, 0], labels=["bird"] * 6)
    for row, picture in enumerate(pixels):
        for folder in ("flat", f"sorted/{'dog' if row % 2 else 'cat'}"):
            (place / folder).mkdir(parents=True, exist_ok=True)
            Image.fromarray(picture).save(place / folder / f"{row}.png")
    (place / "large").mkdir()
    Image.fromarray(np.kron(pixels[0], np.ones((2, 3, 1), dtype=np.uint8))).save(place / "large" / "0.png")
    (place / "none").mkdir()
    (place / "bad").mkdir()
    (place / "bad" / "0.png").write_bytes(b"no picture")
    np.savez(place / "wide.npz", images=np.zeros((2, 8, 9), np.uint8))
    np.savez(place / "bright.npz", images=np.full((2, 8, 8), 7.0))
    np.savez(place / "short.npz", images=np.zeros((2, 8, 8), np.uint8), labels=[1])
    np.savez(place / "other.npz", X=np.zeros((2, 8, 8), np.uint8))
    (place / "cut.npz").write_bytes((place / "last.npz").read_bytes()[:200])
    (place / "both").mkdir()
    (place / "both" / "sub").mkdir()
    shutil.copy(place / "flat" / "0.png", place / "both" / "0.png")
    return place


def deep_truth(album, name, pixels):
    import torch

    from softlabel.export import load_student

    net, _ = load_student(album / f"{name}.safetensors")
    assert isinstance(net, Prepared)
    return network_logits(net, torch.from_numpy(pixels)).softmax(1).numpy()


def test_pictures(album, capsys):
    pixels = np.load(album / "first.npz")["images"]
    truth = deep_truth(album, "colour", pixels)
    for data in ("last.npz", "first.npz", "flat"):
        document, _ = answer(capsys, album / "colour.safetensors", album / data)
        p = np.array([entry["probabilities"] for entry in document["predictions"]])
        assert p == pytest.approx(truth, abs=1e-6)
        right = (truth.argmax(axis=1) == 0).mean() if data == "first.npz" else None
        assert document["accuracy"] == (None if right is None else pytest.approx(right))
    document, _ = answer(capsys, album / "colour.safetensors", album / "sorted")  # cats first
    p = np.array([entry["probabilities"] for entry in document["predictions"]])
    assert p == pytest.approx(truth[[0, 2, 4, 1, 3, 5]], abs=1e-6)
    assert document["accuracy"] == pytest.approx((truth.argmax(axis=1) == np.arange(6) % 2).mean())


def test_pictures_of_another_size_and_colour(album, capsys):
    document, errors = answer(capsys, album / "colour.safetensors", album / "large")
    assert "1 of 1 images were resized to 8 × 8 pixels" in errors
    assert document["rows"] == 1
    document, errors = answer(capsys, album / "grey.safetensors", album / "flat")
    assert document["rows"] == 6
    document, errors = answer(capsys, album / "grey.safetensors", album / "grey.npz")
    assert "labels that are not classes of the model (bird): no scores" in errors
    digits = answer(capsys, album / "grey.safetensors", "digits")[0]  # 8 × 8 and grey by luck
    assert digits["rows"] == 1797


@pytest.mark.parametrize(
    ("model", "data", "extra", "message"),
    [
        ("grey", "none", [], "contains no images"),
        ("grey", "bad", [], "cannot be read as an image"),
        ("grey", "both", [], "contains images and folders"),
        ("grey", "wide.npz", [], "contains images (1, 8, 9) (channels, height, width), the model takes (1, 8, 8)"),
        ("grey", "last.npz", [], "contains images (3, 8, 8)"),
        ("grey", "bright.npz", [], "or fractions from 0 to 1, got 7 to 7"),
        ("grey", "short.npz", [], "2 images, but labels have shape (1,)"),
        ("grey", "other.npz", [], "has no array 'images'; it contains X"),
        ("grey", "cut.npz", [], "is not a readable NPZ file"),
        ("grey", "missing.npz", [], "there is no file or folder"),
        ("grey", "grey.safetensors", [], "contains no images, which the model takes"),
        ("grey", "grey.npz", ["--label", "labels"], "--label applies to tables only"),
        ("grey", "grey.npz", ["--id", "nr"], "--id applies to tables only"),
        ("grey", "grey.npz", ["--drop", "a"], "--drop applies to tables only"),
        ("colour", "digits", [], "contains images (1, 8, 8) (channels, height, width), the model takes (3, 8, 8)"),
    ],
)
def test_pictures_that_cannot_be(album, capsys, model, data, extra, message):
    data = data if data == "digits" else str(album / data)
    check_refused(capsys, [str(album / f"{model}.safetensors"), data, *extra], message)


def check_refused(capsys, words, message):
    assert run(["predict", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert lines[-1].startswith("softlabel: ")
    assert message in lines[-1]
    assert "digits" not in words or lines[-1].endswith(message)  # a named data set has no --label and no --drop
    assert not any(line.startswith(("Traceback", "softlabel: ")) for line in lines[:-1])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("none.onnx t.csv", "there is no model 'none.onnx'"),
        (". t.csv", "is a directory: pass a model file in it"),
        ("t.csv t.csv", "'t.csv' is not a model"),
        ("m5.py t.csv", "is Python code, which is never executed: use m5.safetensors or m5.npz or m5.onnx"),
        ("m5.onnx none.csv", "there is no file 'none.csv'"),
        ("m5.onnx nothing", "unknown data set 'nothing'"),
        ("m5.onnx digits", "'digits' has 64 input columns, the model takes 3"),
        ("m5.onnx digits --label y", "--label applies to tables only: 'digits' has labels"),
        ("m5.onnx m5.onnx", "softlabel reads .csv, .tsv, .parquet, .npz, .npy"),
        ("m5.onnx .", "is a folder: name a file in it"),
        ("m5.onnx t.csv --label sort", "'t.csv' has no column 'sort': there are remark, height"),
        ("m5.onnx t.csv --id number", "'t.csv' has no column 'number'"),
        ("m5.onnx t.csv --drop number", "'t.csv' has no column 'number'"),
        ("m5.onnx t.csv --drop age", "the model needs column age: remove it from --drop"),
        ("m5.onnx t.csv --label kind --drop kind", "column 'kind' is both --label and in --drop"),
        ("m5.onnx t.csv --label age", "column 'age' is an input of the model and cannot be the label"),
        (
            "m5.onnx t.csv --label remark",
            "label 'remark' contains text, which the model does not know: its classes are no",
        ),
        ("m2.onnx t.csv --label kind", "which the model does not know: its classes are no, yes"),
        ("m5.onnx renamed.csv", "lacks 2 of the model's 3 columns: weight, height; it has age, mass, size"),
        ("plain.onnx t.csv", "'t.csv' has 6 input columns, the model takes 3; specify the label column"),
        ("plain.onnx digits", "'digits' has 64 input columns, the model takes 3"),
        ("plain.onnx numbers.csv", "its first line contains numbers"),
        ("m5.onnx xy.npy", "'xy.npy' has 4 input columns, the model takes 3; specify the label column"),
        ("m5.onnx xy.npy --label 7", "has no column '7'"),
        ("m5.onnx xy.npy --label last", "which the model does not know"),
        ("m5.onnx x.npy --label last", "'x.npy' has 2 input columns, the model takes 3"),
        ("m5.onnx x.npy --id nr", "has no column names: omit --id"),
        ("m5.onnx x.npz --label y", "has no array of labels called 'y'"),
        ("m5.onnx gaps.csv", "has missing or infinite values in 'weight' (2, first in row 3): the model needs every"),
        ("m5.onnx gaps.npy", "has missing or infinite values in '1' (1, first in row 2)"),
        ("m5.onnx infinite.npy", "has missing or infinite values in '0'"),
        ("m5.onnx words.csv", "has columns that are not numbers: weight ('weight' contains 'heavy')"),
        ("m5.onnx unlabelled.csv --label kind", "label 'kind' has 1 missing value (first in row 2)"),
        ("m5.onnx header.csv", "has 0 rows"),
        ("m5.onnx empty.csv", "is empty (0 bytes)"),
        ("m5.onnx cut.parquet", "is not a readable Parquet file"),
        ("m5.onnx objects.npy", "never unpickles"),
        ("m5.onnx t.csv --out p.txt", "--out must end in .csv, .parquet, .npy, got 'p.txt'"),
        ("m5.onnx t.csv --out folder.csv", "--out must be a file that can be written: 'folder.csv' is a folder"),
        ("m5.onnx t.csv --out t.csv", "--out must not overwrite 't.csv', got 't.csv'"),
        ("m5.onnx t.csv --out empty.csv/p.csv", "cannot be made, since 'empty.csv' is not a folder"),
        ("m5.onnx clash.csv --id predicted --out p.csv", "the id column cannot be called 'predicted'"),
        ("changed.onnx t.csv", "was changed after softlabel wrote it"),
        ("unit.safetensors zero.npy", "zero inputs"),
        ("unit.onnx zero.npy", "has no finite output for 1 of 2 inputs (first in row 2)"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(here, capsys, words, message):
    (here / "renamed.csv").write_text("age,mass,size\n1,2,3\n")
    (here / "numbers.csv").write_text("1.5,2.5,3.5\n1,2,3\n")
    (here / "gaps.csv").write_text("age,weight,height\n1,2,3\n1,2,3\n1,NA,3\n1,,3\n")
    (here / "words.csv").write_text("age,weight,height\n1,heavy,3\n")
    (here / "unlabelled.csv").write_text("age,weight,height,kind\n1,2,3,no\n1,2,3,\n")
    (here / "header.csv").write_text("age,weight,height\n")
    (here / "empty.csv").write_text("")
    (here / "clash.csv").write_text("age,weight,height,predicted\n1,2,3,4\n")
    (here / "cut.parquet").write_bytes((here / "t.parquet").read_bytes()[:100])
    (here / "folder.csv").mkdir()
    np.save("gaps.npy", np.array([[1, 2, 3], [1, np.nan, 3]]))
    np.save("infinite.npy", np.array([[1e300, 2, 3]]))
    np.save("objects.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    np.save("zero.npy", np.array([[1.0, 2, 3], [0, 0, 0]]))
    export_student(student(scale="unit"), here, "unit", inputs())
    content = (here / "m5.onnx").read_bytes()
    (here / "changed.onnx").write_bytes(content.replace(b'"yes"', b'"yep"'))
    before = (here / "t.csv").read_bytes()
    check_refused(capsys, words.split(), message)
    assert (here / "t.csv").read_bytes() == before
    assert not (here / "p.csv").exists()


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy"])
def test_a_disk_that_fails_leaves_no_half_file(here, capsys, ending):
    with files_up_to(200):
        code = run(["predict", "m5.onnx", "x.npy", "--out", f"new/p.{ending}"])
    assert code == 1
    assert f"'new/p.{ending}' cannot be written: File too large" in capsys.readouterr().err.splitlines()[-1]
    assert list((here / "new").iterdir()) == []


def test_help_shows_examples(capsys):
    assert run(["predict", "--help"]) == 0
    assert capsys.readouterr().out.count("Example: softlabel predict") == 3
