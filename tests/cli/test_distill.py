"""`softlabel distill`: what it prints and writes, how it resumes, and its messages about bad input."""

import json
import os

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from softlabel.cli.main import run
from softlabel.data import load
from softlabel.export import load_student
from softlabel.networks.deep import CachedLogits, Images
from softlabel.teachers.logit_files import save_logits

FAST = ["--student", "resnet8", "--width-multiplier", "0.25", "--epochs", "2", "--precision", "float32"]


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """Digits 3 and 8 as arrays, and logits of a teacher that knows the truth."""
    folder = tmp_path_factory.mktemp("arrays")
    problem = load("digits", classes="3,8")
    np.savez(folder / "images.npz", images=problem.images, labels=problem.y)
    np.save(folder / "logits.npy", np.where(np.eye(2)[problem.y] > 0, 2.0, -2.0).astype(np.float32))
    return folder


def test_a_trained_teacher_files_and_resumption(capsys, tmp_path):
    call = ["distill", "digits", "--classes", "3,8", "--teacher", "resnet14", "--teacher-width-multiplier", "0.5",
            *FAST, "--smoothing", "0.1", "--out", str(tmp_path / "run"), "--json"]  # fmt: skip
    assert run(call) == 0
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert set(document["arms"]) == {"hard", "smooth", "soft"}
    for entry in document["arms"].values():
        assert 0 <= entry["accuracy"] <= 1
        assert 0 <= entry["agreement"] <= 1
        assert entry["kl"] >= 0
        assert entry["milliseconds"] > 0
    assert document["teacher"]["parameters"] > document["arms"]["soft"]["parameters"]
    assert "soft, epoch 2" in captured.err
    for arm in document["arms"]:
        assert document["exported"][arm]["onnx_parity"] < 1e-3
        session = onnxruntime.InferenceSession(document["exported"][arm]["onnx"], providers=["CPUExecutionProvider"])
        assert session.run(None, {"images": np.zeros((5, 1, 8, 8), np.float32)})[0].shape == (5, 2)
        _, about = load_student(document["exported"][arm]["weights"])
        assert (about["network"], about["classes"], about["arm"]) == ("resnet8", ["3", "8"], arm)
    assert run(call) == 0  # nothing is left to train
    second = capsys.readouterr()
    assert "epoch" not in second.err
    assert json.loads(second.out)["arms"]["soft"]["accuracy"] == document["arms"]["soft"]["accuracy"]
    assert run([*call, "--temperature", "3"]) == 2
    assert "contains a run with other settings (temperature = 4.0, now 3.0)" in capsys.readouterr().err


def test_logits_and_onnx_as_teachers(capsys, arrays, tmp_path):
    data = str(arrays / "images.npz")
    call = ["distill", data, "--teacher", str(arrays / "logits.npy"), *FAST, "--out", str(tmp_path / "run")]
    assert run(call) == 0
    text = capsys.readouterr().out
    assert "agreement" in text
    assert "100.00%" in text  # the teacher knows the truth
    model = str(tmp_path / "run" / "students" / "soft.onnx")
    assert run(["distill", data, "--teacher", model, *FAST, "--augment", "--views", "1", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["teacher"]["accuracy"] > 0.3
    assert run(["distill", data, "--teacher", model, *FAST, "--online", "--soft-share", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"]["soft_share"] == 0.5


def test_matched_features_change_the_student(capsys):
    call = ["distill", "digits", "--classes", "3,8", "--teacher", "resnet8", *FAST, "--json"]
    losses = []
    for more in ([], ["--match", "norm:norm", "--feature-weight", "10"]):
        assert run([*call, *more]) == 0
        losses.append(json.loads(capsys.readouterr().out)["arms"])
    assert losses[0]["hard"]["loss"] == losses[1]["hard"]["loss"]
    assert losses[0]["soft"]["loss"] != losses[1]["soft"]["loss"]


def test_a_run_belongs_to_its_teacher_and_its_logits_can_be_used(capsys, arrays, tmp_path):
    data, first = str(arrays / "images.npz"), tmp_path / "first"
    assert run(["distill", data, "--teacher", str(arrays / "logits.npy"), *FAST, "--epochs", "12",
                "--out", str(first)]) == 0  # fmt: skip
    model = str(first / "students" / "hard.onnx")
    call = ["distill", data, "--teacher", model, *FAST, "--out", str(tmp_path / "second")]
    capsys.readouterr()
    assert run([*call, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["teacher"]
    assert document["parameters"] > 1000
    assert document["milliseconds"] > 0
    assert run([*call, "--teacher-scale", "255"]) == 2
    assert "(teacher_scale = 1.0, now 255.0)" in capsys.readouterr().err
    (logits,) = (tmp_path / "second").glob("logits-*.safetensors")
    assert run(["distill", data, "--teacher", str(logits), *FAST, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["teacher"]["accuracy"] is not None


def test_impossible_settings_are_refused_before_the_directory_is_made(capsys, arrays, tmp_path):
    for more, message in (
        (["--teacher", "resnet8", "--smoothing", "1.5"], "smoothing must lie"),
        (["--teacher", "resnet8", "--match", "norm:norm", "--feature-weight", "0"], "--feature-weight must be above 0"),
        (["--teacher", "resnet8", "--teacher-width-multiplier", "0.1", "--match", "norm:norm"], "the teacher's only 2"),
        (["--teacher", str(arrays / "logits.npy"), "--online"], "neither run online"),
    ):
        assert run(["distill", str(arrays / "images.npz"), *FAST, *more, "--out", str(tmp_path / "run")]) == 2
        assert message in capsys.readouterr().err.splitlines()[-1]
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--teacher", "vgg8+3"], "needs at least 32 × 32 pixels, got 8 × 8"),
        (["digits", "--teacher", "resnet9"], "8, 14, 20"),
        (["digits", "--teacher", "nobody"], "unknown network 'nobody'"),
        (["digits", "--teacher", "none.onnx"], "teacher 'none.onnx' does not exist"),
        (["digits", "--teacher", "{logits}"], "shape (357, 2), there are 1797 images of 10 classes"),
        (["nothing", "--teacher", "resnet8"], "unknown data set 'nothing'"),
        (["heart.csv", "--teacher", "resnet8"], "'heart.csv' is a table and has no images: use a data set of images"),
        (["digits", "--teacher", "resnet8", "--soft-share", "2"], "--soft-share must lie in [0, 1]"),
        (["digits", "--teacher", "resnet8", "--temperature", "0"], "temperature must be a positive number"),
        (["digits", "--teacher", "resnet8", "--temperature-on", "x"], "unknown --temperature-on 'x'"),
        (["digits", "--teacher", "resnet8", "--match", "a"], "STUDENT_LAYER:TEACHER_LAYER"),
        (["digits", "--teacher", "resnet8", "--precision", "half"], "unknown precision 'half'"),
        (["digits", "--teacher", "resnet8", "--views", "2"], "--views need --augment"),
        (["{images}", "--teacher", "{logits}", "--augment"], "neither run online nor label augmented images"),
        (["{images}", "--teacher", "{logits}", "--match", "norm:norm"], "with a torch network as teacher only"),
        (["digits", "--teacher", "resnet8", "--match", "norm:far"], "unknown layer 'far'"),
        (["{images}", "--teacher", "{images}"], "neither an ONNX file nor logits"),
    ],
)
def test_bad_input_is_one_line(capsys, arrays, arguments, message):
    places = {"logits": arrays / "logits.npy", "images": arrays / "images.npz"}
    code = run(["distill", *FAST, *(argument.format(**places) for argument in arguments)])
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err.splitlines()[-1]
    assert captured.out == ""


def test_an_unknown_layer_is_named(capsys):
    call = ["distill", "digits", "--classes", "3,8", "--teacher", "resnet8", "--match", "nowhere:norm", *FAST]
    assert run(call) == 2
    assert "unknown layer 'nowhere'" in capsys.readouterr().err.splitlines()[-1]


def test_a_directory_with_other_files_is_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert run(["distill", "digits", "--teacher", "resnet8", *FAST, "--out", str(tmp_path)]) == 2
    assert "contains other files (thesis.txt)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("suffix", "fault"),
    [(".npy", "swapped"), (".npy", "shuffled"), (".safetensors", "swapped"), (".safetensors", "shuffled"),
     (".onnx", "swapped")],
)  # fmt: skip
def test_a_teacher_of_other_rows_or_classes_is_refused(capsys, arrays, tmp_path, suffix, fault):
    problem = load("digits", classes="3,8")
    logits = np.where(np.eye(2)[problem.y] > 0, 2.0, -2.0).astype(np.float32)
    logits = logits[:, ::-1] if fault == "swapped" else np.random.default_rng(0).permutation(logits)
    path = tmp_path / f"teacher{suffix}"
    if suffix == ".npy":
        np.save(path, logits)
    elif suffix == ".safetensors":
        images = Images.from_arrays(problem.images, problem.y, 2)
        save_logits(path, CachedLogits(torch.from_numpy(logits.copy()), images.fingerprint), "mine")
    else:
        write_linear(path, problem)
    assert (
        run(["distill", str(arrays / "images.npz"), "--teacher", str(path), *FAST, "--out", str(tmp_path / "o")]) == 2
    )
    captured = capsys.readouterr()
    assert f"teacher '{path}' agrees with the given labels in" in captured.err.splitlines()[-1]
    message = {"swapped": "columns in the order of the classes", "shuffled": "in another order"}[fault]
    assert message in captured.err.splitlines()[-1]
    assert not (tmp_path / "o").exists()


def write_linear(path, problem):
    """The least-squares classifier of the images as an ONNX model, with its columns swapped."""
    flat = problem.images.reshape(len(problem), -1)
    weights = np.linalg.lstsq(flat, 2.0 * problem.y - 1, rcond=1e-3)[0].astype(np.float32)
    table = np.stack([weights, -weights], axis=1)
    nodes = [helper.make_node("Flatten", ["x"], ["flat"], axis=1), helper.make_node("MatMul", ["flat", "w"], ["z"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 2])], [numpy_helper.from_array(table, "w")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)


@pytest.mark.parametrize("labels", [np.array([0.0, np.nan] * 20), np.array([0.5, 1.0] * 20)])
def test_labels_of_images_that_are_not_classes(capsys, tmp_path, labels):
    np.savez(tmp_path / "i.npz", images=np.random.default_rng(0).random((40, 8, 8)), labels=labels)
    assert run(["distill", str(tmp_path / "i.npz"), "--teacher", "resnet8", *FAST]) == 2
    assert "20 labels are missing, infinite or not integers" in capsys.readouterr().err.splitlines()[-1]


def test_a_pipe_is_no_teacher(capsys, arrays, tmp_path):
    for suffix in (".npy", ".safetensors", ".onnx"):
        os.mkfifo(tmp_path / f"t{suffix}")
        call = ["distill", str(arrays / "images.npz"), "--teacher", str(tmp_path / f"t{suffix}"), *FAST]
        assert run(call) == 2
        assert "is a named pipe, and only regular files are read" in capsys.readouterr().err.splitlines()[-1]


def test_a_temperature_on_the_labels_only_is_reported_and_recorded(capsys, arrays, tmp_path):
    call = ["distill", str(arrays / "images.npz"), "--teacher", str(arrays / "logits.npy"), *FAST, "--epochs", "1",
            "--temperature", "4", "--temperature-on", "labels", "--out", str(tmp_path / "run")]  # fmt: skip
    assert run(call) == 0
    assert "Outputs of the arm 'soft' are softened (label temperature 4), not probabilities." in capsys.readouterr().out
    document = json.loads((tmp_path / "run" / "results.json").read_text())
    assert document["arms"]["soft"]["probabilities_are"] == "softened (label temperature 4)"
    assert document["arms"]["hard"]["probabilities_are"] == "probabilities"
    assert document["size"]["smaller"] is None  # logits alone: the teacher's size is unknown
    for ending in ("onnx", "safetensors"):
        model = tmp_path / "run" / "students" / f"soft.{ending}"
        assert run(["predict", str(model), str(arrays / "images.npz"), "--json"]) == 0
        captured = capsys.readouterr()
        assert "note: outputs are softened (label temperature 4)" in captured.err
        assert json.loads(captured.out)["classes"] == ["0", "1"]
