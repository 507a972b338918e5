"""`softlabel distill`: what it prints and leaves, how it goes on, and what it says to bad input."""

import json

import numpy as np
import onnxruntime
import pytest

from softlabel.cli.main import run
from softlabel.data.image_sets import load_images
from softlabel.export import load_student

FAST = ["--student", "resnet8", "--width", "0.25", "--epochs", "2", "--precision", "float32"]


@pytest.fixture(scope="module")
def arrays(tmp_path_factory):
    """Digits 3 and 8 as arrays, and logits of a teacher that knows the truth."""
    folder = tmp_path_factory.mktemp("arrays")
    held = load_images("digits", "3,8")
    np.savez(folder / "images.npz", images=held.pixels, labels=held.labels)
    np.save(folder / "logits.npy", np.where(np.eye(2)[held.labels] > 0, 2.0, -2.0).astype(np.float32))
    return folder


def test_a_trained_teacher_files_and_resumption(capsys, tmp_path):
    call = ["distill", "digits", "--classes", "3,8", "--teacher", "resnet14", "--teacher-width", "0.5", *FAST,
            "--smoothing", "0.1", "--out", str(tmp_path / "run"), "--json"]  # fmt: skip
    assert run(call) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert set(found["arms"]) == {"hard", "smooth", "soft"}
    for entry in found["arms"].values():
        assert 0 <= entry["accuracy"] <= 1
        assert 0 <= entry["agreement"] <= 1
        assert entry["kl"] >= 0
        assert entry["milliseconds"] > 0
    assert found["teacher"]["parameters"] > found["arms"]["soft"]["parameters"]
    assert "soft, epoch 2" in captured.err
    for arm in found["arms"]:
        assert found["exported"][arm]["onnx_parity"] < 1e-3
        session = onnxruntime.InferenceSession(found["exported"][arm]["onnx"], providers=["CPUExecutionProvider"])
        assert session.run(None, {"images": np.zeros((5, 1, 8, 8), np.float32)})[0].shape == (5, 2)
        _, about = load_student(found["exported"][arm]["weights"])
        assert (about["network"], about["classes"], about["arm"]) == ("resnet8", ["3", "8"], arm)
    assert run(call) == 0  # again: nothing is left to train
    again = capsys.readouterr()
    assert "epoch" not in again.err
    assert json.loads(again.out)["arms"]["soft"]["accuracy"] == found["arms"]["soft"]["accuracy"]
    assert run([*call, "--temperature", "3"]) == 2
    assert "holds a run with other settings (temperature = 4.0, now 3.0)" in capsys.readouterr().err


def test_logits_and_onnx_as_teachers(capsys, arrays, tmp_path):
    data = str(arrays / "images.npz")
    call = ["distill", data, "--teacher", str(arrays / "logits.npy"), *FAST, "--out", str(tmp_path / "run")]
    assert run(call) == 0
    text = capsys.readouterr().out
    assert "agreement" in text
    assert "100.00%" in text  # the teacher knows the truth
    model = str(tmp_path / "run" / "students" / "soft.onnx")
    assert run(["distill", data, "--teacher", model, *FAST, "--augment", "--views", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["teacher"]["accuracy"] > 0.3
    assert run(["distill", data, "--teacher", model, *FAST, "--online", "--soft-share", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["objective"]["soft_share"] == 0.5


def test_matched_features_change_the_student(capsys):
    call = ["distill", "digits", "--classes", "3,8", "--teacher", "resnet8", *FAST, "--json"]
    losses = []
    for further in ([], ["--match", "norm:norm", "--feature-weight", "10"]):
        assert run([*call, *further]) == 0
        losses.append(json.loads(capsys.readouterr().out)["arms"])
    assert losses[0]["hard"]["loss"] == losses[1]["hard"]["loss"]
    assert losses[0]["soft"]["loss"] != losses[1]["soft"]["loss"]


def test_a_run_knows_its_teacher_and_its_logits_teach_again(capsys, arrays, tmp_path):
    data, first = str(arrays / "images.npz"), tmp_path / "first"
    assert run(["distill", data, "--teacher", str(arrays / "logits.npy"), *FAST, "--epochs", "12",
                "--out", str(first)]) == 0  # fmt: skip
    model = str(first / "students" / "hard.onnx")
    call = ["distill", data, "--teacher", model, *FAST, "--out", str(tmp_path / "second")]
    capsys.readouterr()
    assert run([*call, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["teacher"]
    assert found["parameters"] > 1000
    assert found["milliseconds"] > 0
    assert run([*call, "--teacher-scale", "255"]) == 2
    assert "(teacher_scale = 1.0, now 255.0)" in capsys.readouterr().err
    (logits,) = (tmp_path / "second").glob("logits-*.safetensors")
    assert run(["distill", data, "--teacher", str(logits), *FAST, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["teacher"]["accuracy"] is not None


def test_what_cannot_work_is_refused_before_the_folder_is_made(capsys, arrays, tmp_path):
    for further, message in (
        (["--teacher", "resnet8", "--smoothing", "1.5"], "smoothing must lie"),
        (["--teacher", "resnet8", "--match", "norm:norm", "--feature-weight", "0"], "feature weight above 0"),
        (["--teacher", "resnet8", "--teacher-width", "0.1", "--match", "norm:norm"], "the teacher's only 2"),
        (["--teacher", str(arrays / "logits.npy"), "--online"], "neither run online"),
    ):
        assert run(["distill", str(arrays / "images.npz"), *FAST, *further, "--out", str(tmp_path / "run")]) == 2
        assert message in capsys.readouterr().err.splitlines()[-1]
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["digits", "--teacher", "vgg8+3"], "needs 32 × 32 pixels or more, got 8 × 8"),
        (["digits", "--teacher", "resnet9"], "8, 14, 20"),
        (["digits", "--teacher", "nobody"], "unknown network 'nobody'"),
        (["digits", "--teacher", "none.onnx"], "teacher 'none.onnx' does not exist"),
        (["digits", "--teacher", "{logits}"], "shape (357, 2), there are 1797 images of 10 classes"),
        (["nothing", "--teacher", "resnet8"], "unknown data set 'nothing'"),
        (["digits", "--teacher", "resnet8", "--soft-share", "2"], "--soft-share must lie in [0, 1]"),
        (["digits", "--teacher", "resnet8", "--temperature", "0"], "temperature must be a positive number"),
        (["digits", "--teacher", "resnet8", "--temperature-on", "x"], "unknown temperature_on 'x'"),
        (["digits", "--teacher", "resnet8", "--match", "a"], "STUDENT_LAYER:TEACHER_LAYER"),
        (["digits", "--teacher", "resnet8", "--precision", "half"], "unknown precision 'half'"),
        (["digits", "--teacher", "resnet8", "--views", "2"], "views need augment=True"),
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


def test_a_folder_with_other_things_is_left_alone(capsys, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    assert run(["distill", "digits", "--teacher", "resnet8", *FAST, "--out", str(tmp_path)]) == 2
    assert "holds other things (thesis.txt)" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
