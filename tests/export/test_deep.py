"""Deep students as files: the same answers from ONNX and safetensors, and refusals."""

import json

import pytest
import torch
from torch import nn

from softlabel import export
from softlabel.errors import InputError, SoftlabelError
from softlabel.export import deep
from softlabel.networks.deep import build_network, network_logits
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
        found = OnnxTeacher(tmp_path / "a" / "s.onnx", 2)(images().pixels[:rows])
        assert found.numpy() == pytest.approx(network_logits(net, images().pixels[:rows]).numpy(), abs=1e-3)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["s.onnx"]  # one file


def test_a_file_that_differs_is_removed_and_said(tmp_path, monkeypatch):
    monkeypatch.setattr(deep, "LARGEST", -1.0)
    with pytest.raises(SoftlabelError, match="differs from the network"):
        export.export_onnx(student(), images().pixels, tmp_path / "s.onnx")
    assert not (tmp_path / "s.onnx").exists()


def test_weights_come_back_with_what_was_said(tmp_path):
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
def test_a_student_that_is_not_whole_is_refused(tmp_path, change, message):
    tensors, about = dict(student().state_dict()), dict(ABOUT)
    change(tensors, about)
    save_tensors(tmp_path / "s.safetensors", tensors, deep.KIND, {"about": json.dumps(about)})
    with pytest.raises(InputError, match=message) as said:
        export.load_student(tmp_path / "s.safetensors")
    assert "\n" not in str(said.value)
