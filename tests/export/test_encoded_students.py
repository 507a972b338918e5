"""Students of tables with text, dates and gaps: every file takes raw columns and says what the student says."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pandas
import polars as pl
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softlabel.errors import InputError, SoftlabelError
from softlabel.export import export_student, load_model
from softlabel.export import student as module
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.studies.predict import predict
from tests.export.tables import encoded_student, mixed_frame
from tests.export.test_student import run_numpy

FRAME = mixed_frame()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A student and its files."""
    model = encoded_student(FRAME)
    return model, export_student(model, tmp_path_factory.mktemp("files"), "s", FRAME)


def as_pandas(frame):
    return pandas.DataFrame({name: frame[name].to_list() for name in frame.columns})


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    columns=st.lists(st.sampled_from(FRAME.columns), min_size=1, unique=True),
    classes=st.sampled_from([2, 3]),
    scale=st.sampled_from(["standard", "max", "none"]),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 1000),
)
def test_every_file_says_what_the_student_says(tmp_path, columns, classes, scale, dtype, seed):
    frame, others = mixed_frame(80, seed).select(columns), mixed_frame(40, seed + 1)
    model = encoded_student(frame, classes, scale, dtype, seed)
    try:
        result = export_student(model, tmp_path, "s", frame)
    except SoftlabelError as problem:  # numbers that are not scaled may be too large for float32, which is said
        if scale != "none" or "keeps rounding small" not in str(problem):
            raise
        return
    within = 1e-4 if scale == "none" else 1e-5
    assert max(result.parity.values()) < within
    truth = model.probabilities(others)
    for ending in ("onnx", "safetensors", "npz"):
        loaded = load_model(result.path(ending))
        assert (loaded.columns, loaded.classes) == (model.columns, model.classes)
        assert loaded.probabilities(others) == pytest.approx(truth, abs=2 * within)
    classes_of_code, p = run_numpy(result.path("py"), others.to_dicts())
    assert (tuple(classes_of_code), p) == (model.classes, pytest.approx(truth, abs=2 * within))


def test_any_form_of_the_rows(files):
    model, result = files
    rows, truth = mixed_frame(30, 5), model.probabilities(mixed_frame(30, 5))
    shuffled = rows.select(reversed(rows.columns)).with_columns(extra=pl.lit("?"))
    for form in (shuffled, as_pandas(rows), rows.to_dict(as_series=False), rows.to_dicts()):
        assert model.probabilities(form) == pytest.approx(truth, abs=1e-12)
        assert run_numpy(result.path("py"), form)[1] == pytest.approx(truth, abs=1e-6)
        for ending in ("onnx", "safetensors"):
            assert load_model(result.path(ending)).probabilities(form) == pytest.approx(truth, abs=1e-5)
    np.testing.assert_array_equal(model.probabilities(model.encoder.transform(rows)), truth)


def test_the_safetensors_file_gives_back_every_bit(files):
    model, result = files
    again = StudentModel.load(result.path("safetensors"))
    assert again.fingerprint == model.fingerprint
    assert again.encoder.to_dict() == model.encoder.to_dict()
    np.testing.assert_array_equal(again.logits(FRAME), model.logits(FRAME))


def test_the_fingerprint_covers_the_encoder():
    model = encoded_student(FRAME)
    step = replace(model.encoder.steps[0], fill=7.0)
    other = replace(model, encoder=replace(model.encoder, steps=(step, *model.encoder.steps[1:])))
    assert other.fingerprint != model.fingerprint


def test_inputs_of_the_onnx_file(files):
    """Columns may be called like outputs."""
    _, result = files
    session = onnxruntime.InferenceSession(str(result.path("onnx")))
    kinds = {one.name: one.type for one in session.get_inputs()}
    text, number = "tensor(string)", "tensor(float)"
    assert kinds == {
        "size": number, "rooms": number, "sold": number, "label": text, "price": number, "built": "tensor(double)",
        "seen": "tensor(double)", "note": text, "code": text,
    }  # fmt: skip
    assert [one.name for one in session.get_outputs()] == ["predicted_label", "probabilities"]
    assert all(one.shape[1] == 1 for one in session.get_inputs())
    docs = {one.name: one.doc_string for one in onnx.load(result.path("onnx")).graph.input}
    assert docs["built"] == "days since 1970-01-01, NaN if missing"


@pytest.mark.parametrize("name", ["", "inputs", "_constant0", "probabilities", "naïve 名前", "constant0", "a.b c"])
def test_any_column_name(tmp_path, name):
    frame = pl.DataFrame({name: ["u", "v", "v", None] * 10, "other": [1.5, None, 2.0, 4.0] * 10})
    model = encoded_student(frame, 2)
    result = export_student(model, tmp_path, "s", frame)
    assert load_model(result.path("onnx")).probabilities(frame) == pytest.approx(model.probabilities(frame), abs=1e-6)


def test_the_predictor_needs_numpy_alone(files, tmp_path):
    model, result = files
    for path in result.paths:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    rows = mixed_frame(5, 3).select(pl.all().cast(pl.String)).to_dicts()
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
        "class Refuse:\n"
        "    def find_spec(self, name, *rest):\n"
        "        assert name.split('.')[0] not in ('softlabel', 'polars', 'pandas', 'torch', 'onnx'), name\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import json, s; print(json.dumps(s.predict_proba(json.loads(sys.argv[2])).tolist()))"
    )
    for row in rows:
        row["sold"] = row["sold"] == "true"
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", script, str(tmp_path), json.dumps(rows)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == pytest.approx(model.probabilities(mixed_frame(5, 3)), abs=1e-6)


def test_the_predictor_names_what_it_cannot_read(files):
    _, result = files
    for column, entry in (("price", "12,34,5"), ("built", "2021-05-01"), ("size", "large"), ("size", float("inf"))):
        with pytest.raises(ValueError, match=str(entry)):
            run_numpy(result.path("py"), [FRAME.row(0, named=True) | {column: entry}])


@pytest.mark.parametrize("what", ["student_onnx", "numpy_code", "numpy_weights"])
def test_an_encoder_that_differs_is_noticed(tmp_path, monkeypatch, what):
    """Only rows with missing values, which the example does not have, are encoded otherwise."""
    frame = pl.DataFrame({"n": [1.0, 2.0, 3.0, None] * 5, "c": ["u", "v"] * 10})
    model = encoded_student(frame, 2)
    steps = (replace(model.encoder.steps[0], fill=30.0), *model.encoder.steps[1:])
    other, right = replace(model, encoder=replace(model.encoder, steps=steps)), getattr(module, what)
    monkeypatch.setattr(module, what, lambda model, *rest: right(other, *rest))
    if what == "numpy_code":  # has no constants of the encoder
        export_student(model, tmp_path, "s", frame[:2])
        return
    with pytest.raises(SoftlabelError, match="differs from the student"):
        export_student(model, tmp_path, "s", frame[:2])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop("rooms", "code"), "lacks 2 of the model's 9 columns: rooms, code; it has size"),
        (lambda f: f.with_columns(size=pl.lit("big")), "column 'size' has 'big' in row 1, which is not a number"),
        (lambda f: f.with_columns(built=pl.lit("2020")), "column 'built' has '2020' in row 1, which is not a date"),
        (lambda f: f.with_columns(rooms=pl.lit(float("inf"))), "column 'rooms' has an infinite value in row 1"),
        (lambda f: f.with_columns(rooms=pl.lit(1e300)), "'rooms' is beyond the range of float32 in row 1"),
        (lambda f: f.with_columns(note=pl.lit([1, 2])), "column 'note' has values of type"),
        (lambda f: f.head(0), "no rows"),
        (lambda f: [1, 2], "must be a polars or pandas frame or a dictionary with the columns"),
    ],
)
@pytest.mark.parametrize("ending", ["onnx", "safetensors"])
def test_rows_that_cannot_be_read_are_one_line(files, change, message, ending):
    with pytest.raises(InputError, match=message) as caught:
        load_model(files[1].path(ending)).probabilities(change(FRAME))
    assert "\n" not in str(caught.value)


def test_arrays_of_another_width_are_refused(files):
    for wrong in (np.zeros((2, 4)), np.zeros(3), np.array([["a"] * len(files[0].encoder.features)])):
        with pytest.raises(InputError, match="a frame with the columns size, rooms"):
            files[0].logits(wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: e["steps"][0].update(kind="other"),
        lambda e: e["steps"][0].update(fill=None),
        lambda e: e["steps"][0].update(gaps="yes"),
        lambda e: e["steps"][0].update(column=3),
        lambda e: e["steps"][3].update(categories=[1, 2]),
        lambda e: e["steps"][4].update(style="roman"),
        lambda e: e["steps"].append(e["steps"][0]),
        lambda e: e.update(steps=[]),
        lambda e: e.pop("dropped"),
        lambda e: e["steps"].pop(),
    ],
)
def test_a_damaged_encoder_is_one_line(files, tmp_path, change):
    _, result = files
    arrays = dict(np.load(result.path("npz")))
    encoder = json.loads(str(arrays["encoder"]))
    change(encoder)
    np.savez(tmp_path / "m.npz", **(arrays | {"encoder": np.array(json.dumps(encoder))}))
    with pytest.raises(InputError, match="is not a complete student") as caught:
        load_model(tmp_path / "m.npz")
    assert "\n" not in str(caught.value)


def test_predict_reads_files_as_in_training(files, tmp_path):
    """Codes stay text and 4.500 stays 4,500 although these rows alone look like numbers."""
    model, result = files
    rows = mixed_frame(8, 2).with_columns(
        code=pl.lit("01"), price=pl.lit("4.500"), seen=pl.lit(None, pl.Date), kind=pl.Series(["x", "y"] * 4),
        key=pl.Series(range(8)),
    )  # fmt: skip
    truth = model.probabilities(rows)
    rows.write_csv(tmp_path / "t.csv")
    rows.write_parquet(tmp_path / "t.parquet")
    for one in (model, *(result.path(ending) for ending in ("onnx", "safetensors", "npz"))):
        for name in ("t.csv", "t.parquet"):
            read = predict(one, tmp_path / name, label="kind", id_column="key")
            assert read.probabilities == pytest.approx(truth, abs=1e-5)
            assert read.ids.to_list() == list(range(8))
            assert read.accuracy is not None
        assert predict(one, rows).probabilities == pytest.approx(truth, abs=1e-5)
    assert predict(model, rows[:1]).summary[0].startswith("1 row, ")
    rows.with_columns(size=pl.lit("tall")).write_csv(tmp_path / "t.csv")
    with pytest.raises(InputError, match=r"t.csv': column 'size' has 'tall' in row 1, which is not a number"):
        predict(result.path("onnx"), tmp_path / "t.csv")
    np.save(tmp_path / "t.npy", np.zeros((3, 9)))
    with pytest.raises(InputError, match=r"has no column names, the model takes size, .* by name"):
        predict(model, tmp_path / "t.npy")


def test_softened_outputs_are_named(tmp_path):
    model = replace(encoded_student(FRAME), softening=Softening(4.0))
    result = export_student(model, tmp_path, "s", FRAME)
    names = [one.name for one in onnx.load(result.path("onnx")).graph.output]
    assert names == ["predicted_label", "softened_probabilities"]
    assert "Note: " in result.path("py").read_text()


def test_every_file_records_the_calibration(tmp_path):
    model = replace(encoded_student(FRAME), softening=Softening(4.0, 0.0, 1.5))
    result = export_student(model, tmp_path, "s", FRAME)
    for ending in ("onnx", "safetensors", "npz"):
        assert load_model(result.path(ending)).softening == model.softening


def test_columns_of_an_array_have_numbers(tmp_path):
    """An array with gaps has an encoder of numbered columns, which other arrays match by position."""
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[::5, 1] = np.nan
    model = encoded_student(pl.DataFrame(x, schema=["1", "2", "3"]), 2)
    np.save(tmp_path / "x.npy", x)
    pl.DataFrame(x, schema=list("abc")).write_csv(tmp_path / "x.csv")
    truth = model.probabilities({"1": x[:, 0], "2": x[:, 1], "3": x[:, 2]})
    for data in (x, tmp_path / "x.npy", tmp_path / "x.csv"):
        assert predict(model, data).probabilities == pytest.approx(truth, abs=1e-6)


@pytest.mark.parametrize("ending", ["onnx", "safetensors", "npz"])
def test_predict_says_which_entries_no_training_row_had(files, tmp_path, caplog, ending):
    _, exported = files
    path = tmp_path / "new.csv"
    FRAME.with_columns(pl.lit("Z9").alias("code")).write_csv(path)
    with caplog.at_level("INFO", logger="softlabel"):
        predict(exported.path(ending), path)
    assert f"column 'code' has {len(FRAME)} entries unlike any training row (first in row 1: 'Z9')" in caplog.text
