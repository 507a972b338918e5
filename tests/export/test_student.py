"""Two-layer students as files: every file says what the student says, and only whole and right files are left."""

import ast
import importlib.util
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from softlabel.data.scaling import SCALES, Scaler
from softlabel.errors import InputError, SoftlabelError
from softlabel.export import export_student
from softlabel.export import student as module
from softlabel.networks.activations import ACTIVATIONS
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics.files import WriteError
from tests.export.students import COLUMNS, NAMES, inputs, network, student
from tests.faults.disks import files_up_to


def run_onnx(path, x):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    label, p = session.run(["label", "probabilities"], {"inputs": np.asarray(x, dtype=np.float32)})
    return np.asarray(label).tolist(), np.asarray(p)


def run_numpy(path, x):
    spec = importlib.util.spec_from_file_location("predictor", path)
    assert spec is not None
    assert spec.loader is not None
    stored = importlib.util.module_from_spec(spec)
    with_cache, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec.loader.exec_module(stored)
    sys.dont_write_bytecode = with_cache
    return stored.classes, stored.predict_proba(x)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("classes", [2, 5])
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**31),
    size=st.floats(0.1, 5.0),
    biases=st.booleans(),
    width=st.integers(1, 9),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_every_file_says_what_the_student_says(tmp_path, activation, scale, classes, seed, size, biases, width, dtype):
    model = student(
        classes, scale, activation=activation, seed=seed, size=size, biases=biases, width=width, dtype=dtype
    )
    result = export_student(model, tmp_path, "s", inputs(seed=seed))
    x = inputs(25, seed=seed + 1)  # others than those compared at export
    truth = model.probabilities(x)
    label, p = run_onnx(result.path("onnx"), x)
    assert p.dtype == np.float32
    assert p == pytest.approx(truth, abs=1e-5)
    clear = np.sort(truth, axis=1)[:, -1] - np.sort(truth, axis=1)[:, -2] > 1e-4
    assert [name for name, sure in zip(label, clear, strict=True) if sure] == [
        model.classes[place] for place, sure in zip(model.predict(x), clear, strict=True) if sure
    ]
    assert max(result.parity.values()) < 1e-5
    assert np.array_equal(StudentModel.load(result.path("safetensors")).probabilities(x), truth)
    assert (result.path("py") is not None) == (activation in ("relu", "softplus", "tanh"))
    if result.path("py") is not None:
        names, p = run_numpy(result.path("py"), x)
        assert tuple(names) == model.classes
        assert p == pytest.approx(truth, abs=1e-5)
    else:
        assert result.notes == (f"no NumPy predictor: NumPy has no {activation}",)
        assert set(result.parity) == {"onnx", "safetensors"}


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(centre=st.sampled_from([1e4, -1e6, 1.2e7]), spread=st.sampled_from([1.0, 30.0]), seed=st.integers(0, 1000))
def test_large_columns_keep_their_digits(tmp_path, centre, spread, seed):
    """Mean 10⁶, deviation 1: a file that rounds the shift to float32, or moves it into the weights, errs visibly."""
    x = (centre + spread * np.random.default_rng(seed).standard_normal((60, 3))).astype(np.float32)
    scaler = Scaler.fit(x, "standard")
    model = StudentModel(network(5, seed=seed, size=1.0, dtype=torch.float64), scaler, NAMES)
    result = export_student(model, tmp_path, "s", x[:5])
    truth = model.probabilities(x)
    assert run_onnx(result.path("onnx"), x)[1] == pytest.approx(truth, abs=3e-6)
    assert run_numpy(result.path("py"), x)[1] == pytest.approx(truth, abs=1e-12)


def test_a_shift_in_float32_would_be_noticed():
    """The test above can fail: the same student with its shift rounded to float32 is far off."""
    x = (1.2e7 + np.random.default_rng(0).standard_normal((60, 3))).astype(np.float32)
    scaler = Scaler.fit(x, "standard")
    rounded = Scaler("standard", scaler.factor, tuple(np.float32(scaler.shift).tolist()), scaler.spread)
    stored = network(5, size=1.0, dtype=torch.float64)
    differences = StudentModel(stored, scaler, NAMES).probabilities(x) - StudentModel(
        stored, rounded, NAMES
    ).probabilities(x)
    assert np.abs(differences).max() > 1e-3


def test_float64_weights_are_kept_where_float32_is_not_enough(tmp_path):
    """Raw columns of mean 10⁶ that the hidden bias takes away again: only float64 products keep what is left."""
    x = inputs(centre=1e6)
    hidden = network(2, size=1.0, dtype=torch.float64).hidden
    stored = TwoLayer(hidden, torch.ones(1, 8, dtype=torch.float64), -1e6 * hidden.sum(1))
    for activation in ("relu", "softplus", "tanh", "erf", "gelu"):
        network64 = TwoLayer(stored.hidden, stored.output, stored.hidden_bias, activation=activation)
        model = StudentModel(network64, Scaler("none"), ("a", "b"))
        result = export_student(model, tmp_path, activation, x)
        assert run_onnx(result.path("onnx"), x)[1] == pytest.approx(model.probabilities(x), abs=1e-6)
        weights = {tensor.data_type for tensor in onnx.load(result.path("onnx")).graph.initializer}
        assert onnx.TensorProto.FLOAT not in weights
    model = StudentModel(
        TwoLayer(stored.hidden.float(), stored.output.float(), stored.hidden_bias.float()), Scaler("none"), ("a", "b")
    )
    with pytest.raises(SoftlabelError, match="`scale` 'standard' keeps rounding small"):
        export_student(model, tmp_path, "single", x)  # the student itself is rounding noise


def test_inputs_of_any_size_have_a_norm(tmp_path):
    for factor in (1e-25, 1.0, 1e30):
        x = (factor * inputs()).astype(np.float32)
        for scale in ("unit", "max", "standard"):
            model = StudentModel(network(), Scaler.fit(x, scale), ("a", "b"))
            result = export_student(model, tmp_path, "s", x)
            assert run_onnx(result.path("onnx"), x)[1] == pytest.approx(model.probabilities(x), abs=1e-5)


def test_the_onnx_file_is_one_piece_and_says_what_it_is(tmp_path):
    model = student(5)
    result = export_student(model, tmp_path / "deep" / "down", "a.b", inputs())
    assert sorted(path.name for path in (tmp_path / "deep" / "down").iterdir()) == [
        "a.b.npz", "a.b.onnx", "a.b.py", "a.b.safetensors",
    ]  # fmt: skip
    assert sorted(result.paths) == sorted((tmp_path / "deep" / "down").iterdir())
    assert result.paths[0] == result.path("onnx")
    assert result.bytes == result.paths[0].stat().st_size
    stored = onnx.load(str(result.path("onnx")), load_external_data=False)
    onnx.checker.check_model(stored, full_check=True)
    assert all(tensor.data_location == onnx.TensorProto.DEFAULT for tensor in stored.graph.initializer)
    assert [(entry.domain, entry.version) for entry in stored.opset_import] == [("", 17)]
    about = {prop.key: prop.value for prop in stored.metadata_props}
    assert json.loads(about["classes"]) == list(NAMES)
    assert json.loads(about["columns"]) == list(COLUMNS)
    assert about["made_by"].startswith("softlabel ")
    assert about["fingerprint"] == model.fingerprint
    assert "8 neurons, relu" in about["student"]
    (input_,) = stored.graph.input
    assert (input_.name, input_.type.tensor_type.elem_type) == ("inputs", onnx.TensorProto.FLOAT)
    assert [output.name for output in stored.graph.output] == ["label", "probabilities"]
    for rows in (1, 3000):  # any batch
        label, p = run_onnx(result.path("onnx"), inputs(rows))
        assert p.shape == (rows, 5)
        assert set(label) <= set(NAMES)


def test_the_same_student_gives_the_same_bytes(tmp_path):
    for folder in ("a", "b"):
        export_student(student(), tmp_path / folder, "s", inputs())
    for ending in ("onnx", "npz", "py"):  # safetensors orders its metadata by chance
        assert (tmp_path / "a" / f"s.{ending}").read_bytes() == (tmp_path / "b" / f"s.{ending}").read_bytes()


def test_a_tie_is_the_first_class_as_in_the_student(tmp_path):
    nothing = TwoLayer(torch.zeros(2, 3), torch.zeros(1, 2))
    model = StudentModel(nothing, Scaler("none"), ("first", "second"))
    result = export_student(model, tmp_path, "s", inputs(3))
    label, p = run_onnx(result.path("onnx"), inputs(3))
    assert label == ["first"] * 3
    assert p.tolist() == [[0.5, 0.5]] * 3
    assert model.predict(inputs(3)).tolist() == [0, 0, 0]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("activation", ["relu", "softplus", "tanh"])
def test_the_predictor_is_ten_lines_and_needs_numpy_alone(tmp_path, scale, activation):
    model = student(5, scale, activation=activation)
    path = export_student(model, tmp_path, "s", inputs()).path("py")
    source = path.read_text()
    tree = ast.parse(source)
    text = ast.get_docstring(tree)
    assert text is not None
    code = [line for line in source.splitlines() if line.strip() and not line.startswith('"""')]
    assert len(code) <= 10
    assert all(len(line) <= 120 for line in source.splitlines())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [alias.name for node in imports for alias in node.names] == ["numpy"]


def test_the_predictor_runs_in_a_fresh_python(tmp_path):
    model = student(5)
    export_student(model, tmp_path, "mine", inputs())
    np.save(tmp_path / "x.npy", inputs(7, seed=3))
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); sys.dont_write_bytecode = True\n"
        "class Refuse:\n"
        "    def find_spec(self, name, *rest):\n"
        "        assert name.split('.')[0] not in ('softlabel', 'torch', 'scipy', 'onnx', 'onnxruntime'), name\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import numpy, mine; p = mine.predict_proba(numpy.load(sys.argv[1] + '/x.npy'))\n"
        "print(mine.classes); numpy.save(sys.argv[1] + '/p.npy', p)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(list(NAMES))
    assert done.stderr == ""
    assert np.load(tmp_path / "p.npy") == pytest.approx(model.probabilities(inputs(7, seed=3)), abs=1e-6)


def test_large_students_have_no_predictor(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "SMALL", 100)
    result = export_student(student(), tmp_path, "s", inputs())
    assert [path.name for path in result.paths] == ["s.onnx", "s.safetensors"]
    assert result.path("py") is None
    assert "bytes, more than 100" in result.notes[0]


def test_an_earlier_predictor_of_the_name_does_not_outlive_its_student(tmp_path):
    export_student(student(), tmp_path, "s", inputs())
    export_student(student(seed=1), tmp_path, "s", inputs())
    assert (tmp_path / "s.py").exists()
    export_student(student(activation="erf"), tmp_path, "s", inputs())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s.onnx", "s.safetensors"]


@pytest.mark.parametrize("ending", ["py", "npz"])
def test_a_users_own_script_or_data_are_not_overwritten(tmp_path, ending):
    (tmp_path / f"s.{ending}").write_text("mine")
    with pytest.raises(InputError, match="was not written by softlabel: choose another name"):
        export_student(student(), tmp_path, "s", inputs())
    export_student(student(activation="erf"), tmp_path, "s", inputs())  # needs no such file
    assert (tmp_path / f"s.{ending}").read_text() == "mine"


@pytest.mark.parametrize("what", ["student_onnx", "numpy_code", "numpy_weights"])
def test_a_file_that_differs_is_removed(tmp_path, monkeypatch, what):
    right = getattr(module, what)
    monkeypatch.setattr(module, what, lambda model, *rest: right(student(seed=9, activation="tanh"), *rest))
    with pytest.raises(SoftlabelError, match=r"differs from the student by .* and was removed"):
        export_student(student(seed=1), tmp_path, "s", inputs())
    assert list(tmp_path.iterdir()) == []


def test_wrong_class_names_are_noticed(tmp_path, monkeypatch):
    right = module.student_onnx

    def turned(model, *rest):
        return right(StudentModel(model.network, model.scaler, model.classes[::-1]), *rest)

    monkeypatch.setattr(module, "student_onnx", turned)
    with pytest.raises(SoftlabelError, match="differs from the student by inf"):
        export_student(student(), tmp_path, "s", inputs())


def test_what_was_there_stays_when_an_export_fails(tmp_path, monkeypatch):
    before = export_student(student(), tmp_path, "s", inputs())
    stored = [path.read_bytes() for path in before.paths]
    monkeypatch.setattr(module, "TOLERANCE", -1.0)
    with pytest.raises(SoftlabelError):
        export_student(student(seed=1), tmp_path, "s", inputs())
    assert [path.read_bytes() for path in before.paths] == stored
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.parametrize("ending", ["onnx", "safetensors", "npz"])
def test_a_disk_that_fails_is_one_line_and_leaves_nothing(tmp_path, ending):
    """The disk takes what comes before the file of this ending, but not that file."""
    model = student(5, dtype=torch.float64, width=60)
    complete = export_student(model, tmp_path / "whole", "s", inputs()).paths
    sizes = {path.suffix[1:]: path.stat().st_size for path in complete}
    assert sizes["onnx"] < sizes["safetensors"] < sizes["npz"]
    folder = tmp_path / "full"
    with files_up_to(sizes[ending] - 1), pytest.raises(WriteError, match=f"'{folder}' cannot be written: ") as caught:
        export_student(model, folder, "s", inputs())
    assert "\n" not in str(caught.value)
    assert list(folder.iterdir()) == []


def test_folders_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"file/sub' cannot be written: Not a directory; choose"):
        export_student(student(), tmp_path / "file" / "sub", "s", inputs())
    (tmp_path / "s.onnx").mkdir()
    with pytest.raises(InputError, match=r"s.onnx' is a folder: choose another name"):
        export_student(student(), tmp_path, "s", inputs())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "s.onnx"]


@pytest.mark.parametrize("name", ["", "..", "a/b", "."])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(InputError, match="name must be a file name"):
        export_student(student(), tmp_path, name, inputs())


@pytest.mark.parametrize(
    ("example", "message"),
    [
        (np.zeros((0, 3)), "at least one row"),
        (np.zeros((2, 4)), r"got \(2, 4\)"),
        (np.zeros(3), r"got \(3,\)"),
        (np.array([[1.0, np.nan, 2.0]]), "missing or infinite"),
        (np.array([[1.0, 1e300, 2.0]]), "missing or infinite"),
    ],
)
def test_examples_that_cannot_be(tmp_path, example, message):
    with pytest.raises(InputError, match=message):
        export_student(student(), tmp_path, "s", example)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("temperature", "word"), [(8.0, "softened"), (0.5, "sharpened"), (1.0, "")])
def test_every_file_says_whether_its_outputs_are_probabilities(tmp_path, temperature, word):
    model = replace(student(5), softening=Softening(temperature))
    result = export_student(model, tmp_path, "s", inputs())
    assert max(result.parity.values()) < 1e-4
    meaning = f"{word} (label temperature {temperature:g})" if word else "probabilities"
    stored = onnx.load(tmp_path / "s.onnx")
    about = {prop.key: prop.value for prop in stored.metadata_props}
    assert (about["probabilities_are"], about["label_temperature"]) == (meaning, str(temperature))
    assert stored.graph.output[1].name == (f"{word}_probabilities" if word else "probabilities")
    assert meaning in stored.graph.output[1].doc_string
    code = " ".join((tmp_path / "s.py").read_text().split())
    assert (meaning in code) == bool(word)
    assert float(np.load(tmp_path / "s.npz")["label_temperature"]) == temperature
    assert StudentModel.load(tmp_path / "s.safetensors").softening == Softening(temperature)
    assert model.fingerprint != replace(model, softening=Softening(3.0)).fingerprint
