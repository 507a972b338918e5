"""Deep students as files: the same answers from ONNX and safetensors, and refusals."""

import json

import onnx
import onnxruntime
import pytest
import torch
from torch import nn

from softlabel import export
from softlabel.errors import InputError, SoftlabelError
from softlabel.export import deep
from softlabel.networks.deep import Objective, build_network, network_logits
from softlabel.networks.deep.prepared import prepared_for
from softlabel.numerics import save_tensors
from softlabel.teachers.onnx_file import OnnxTeacher
from tests.networks.deep.small import images

ABOUT = {"network": "resnet8", "width": 0.25, "classes": ["a", "b"], "image": [1, 8, 8]}


def student():
    return prepared_for(build_network("resnet8", 2, (1, 8, 8), 0.25, seed=1), images()).eval()


def test_onnx_says_what_the_network_says(tmp_path):
    net = student()
    parity = export.export_onnx(net, images().pixels, tmp_path / "a" / "s.onnx")
    assert parity < 1e-4
    for rows in (1, 60):  # any batch
        outputs = OnnxTeacher(tmp_path / "a" / "s.onnx", 2)(images().pixels[:rows])
        assert outputs.numpy() == pytest.approx(network_logits(net, images().pixels[:rows]).numpy(), abs=1e-3)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["s.onnx"]  # one file


def test_onnx_has_class_names_probabilities_and_what_is_done_to_pixels(tmp_path):
    net, pixels = student(), images().pixels
    export.export_onnx(net, pixels, tmp_path / "s.onnx", ("cat", "dog"))
    session = onnxruntime.InferenceSession(str(tmp_path / "s.onnx"), providers=["CPUExecutionProvider"])
    assert [output.name for output in session.get_outputs()] == ["logits", "probabilities", "label"]
    logits, likely, label = session.run(None, {"images": pixels.numpy()})
    truth = network_logits(net, pixels)
    assert logits == pytest.approx(truth.numpy(), abs=1e-3)
    assert likely == pytest.approx(truth.softmax(1).numpy(), abs=1e-4)
    assert label.tolist() == [("cat", "dog")[place] for place in truth.argmax(1).tolist()]
    about = session.get_modelmeta().custom_metadata_map
    assert json.loads(about["classes"]) == ["cat", "dog"]
    assert json.loads(about["image"]) == [1, 8, 8]
    assert json.loads(about["mean"]) == pytest.approx(net.mean.flatten().tolist())
    assert json.loads(about["spread"]) == pytest.approx(net.spread.flatten().tolist())
    assert "in the graph" in about["preprocessing"]
    assert about["probabilities_are"] == "probabilities"
    with pytest.raises(InputError, match="2 outputs, got 3 classes"):
        export.export_onnx(net, pixels, tmp_path / "t.onnx", ("a", "b", "c"))
    changed = onnx.load(tmp_path / "s.onnx")
    changed.graph.initializer[0].raw_data = bytes(len(changed.graph.initializer[0].raw_data))
    onnx.save(changed, tmp_path / "c.onnx")
    with pytest.raises(InputError, match="was changed after softlabel wrote it"):
        export.load_model(tmp_path / "c.onnx")


def test_onnx_of_a_single_output_has_two_columns(tmp_path):
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 1)).eval()
    export.export_onnx(net, images().pixels, tmp_path / "s.onnx")
    outputs = export.load_model(tmp_path / "s.onnx").probabilities(images().pixels.numpy())
    assert outputs[:, 1] == pytest.approx(net(images().pixels)[:, 0].detach().sigmoid().numpy(), abs=1e-4)


@pytest.mark.parametrize(
    ("objective", "meaning"),
    [
        (Objective(1.0, 4.0), "probabilities"),  # on both sides: its logits are the teacher's at temperature 1
        (Objective(1.0, 4.0, "labels"), "softened (label temperature 4)"),
        (Objective(0.5, 0.5, "labels"), "sharpened (label temperature 0.5)"),
        (Objective(), "probabilities"),
        (Objective(smoothing=0.1), "softened (label smoothing 0.1)"),
        (Objective(1.0, 1.0, "labels"), "probabilities"),
    ],
)
def test_files_say_what_their_outputs_are(tmp_path, objective, meaning):
    net, softening = student(), objective.softening
    assert softening.meaning == meaning
    export.export_onnx(net, images().pixels, tmp_path / "s.onnx", ("a", "b"), softening, f"resnet8; {objective}")
    export.save_student(tmp_path / "s.safetensors", net, ABOUT | softening.to_dict())
    stored = onnx.load(tmp_path / "s.onnx")
    about = {prop.key: prop.value for prop in stored.metadata_props}
    assert about["probabilities_are"] == meaning
    word = meaning.split()[0]
    name = "probabilities" if word == "probabilities" else f"{word}_probabilities"
    assert stored.graph.output[1].name == name
    assert meaning in stored.graph.output[1].doc_string
    assert meaning in stored.doc_string
    if objective.soft_share and objective.temperature_on == "both":
        assert "temperature 4 on both sides" in about["student"]
    for ending in ("onnx", "safetensors"):
        assert export.load_model(tmp_path / f"s.{ending}").softening == softening


def test_a_file_that_does_not_record_its_labels_says_so(tmp_path):
    export.save_student(tmp_path / "s.safetensors", student(), ABOUT)
    softening = export.load_model(tmp_path / "s.safetensors").softening
    assert softening.temperature is None
    assert "does not record the temperature" in (softening.note or "")


def test_a_file_that_differs_is_removed(tmp_path, monkeypatch):
    monkeypatch.setattr(deep, "LARGEST", -1.0)
    with pytest.raises(SoftlabelError, match="differs from the network"):
        export.export_onnx(student(), images().pixels, tmp_path / "s.onnx")
    assert not (tmp_path / "s.onnx").exists()


def test_weights_come_back_with_their_description(tmp_path):
    net = student()
    export.save_student(tmp_path / "s.safetensors", net, ABOUT)
    again, about = export.load_student(tmp_path / "s.safetensors")
    assert about == ABOUT
    assert torch.equal(network_logits(again, images().pixels), network_logits(net, images().pixels))
    assert not again.training


def test_other_files_are_refused(tmp_path):
    (tmp_path / "no.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="cannot be read"):
        export.load_student(tmp_path / "no.safetensors")
    from safetensors.torch import save_file

    save_file({"a": torch.zeros(1)}, tmp_path / "other.safetensors")
    with pytest.raises(InputError, match="not one of a deep student"):
        export.load_student(tmp_path / "other.safetensors")
    assert isinstance(student(), nn.Module)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensors, about: about.pop("width"), "not a complete deep student"),
        (lambda tensors, about: about.update(classes=["a", "b", "c"]), "not a complete deep student"),
        (lambda tensors, about: about.update(network="resnet9"), "not a complete deep student"),
        (lambda tensors, about: tensors.pop("mean"), "not a complete deep student"),
    ],
)
def test_an_incomplete_student_is_refused(tmp_path, change, message):
    tensors, about = dict(student().state_dict()), dict(ABOUT)
    change(tensors, about)
    save_tensors(tmp_path / "s.safetensors", tensors, deep.KIND, {"about": json.dumps(about)})
    with pytest.raises(InputError, match=message) as caught:
        export.load_student(tmp_path / "s.safetensors")
    assert "\n" not in str(caught.value)
