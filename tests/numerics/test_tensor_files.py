"""safetensors files with wrong metadata, types, shapes and numbers: refused in one line, whoever reads them."""

import json
import os
import struct

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.export import load_model, load_student, save_student
from softlabel.export.deep import KIND as DEEP
from softlabel.networks.deep import build_network
from softlabel.networks.deep.checkpoint import KIND as CHECKPOINT
from softlabel.networks.deep.checkpoint import read_checkpoint
from softlabel.networks.deep.prepared import prepared_for
from softlabel.networks.student_model import FORMAT as STUDENT
from softlabel.networks.student_model import StudentModel, _fingerprint
from softlabel.networks.two_layer import FORMAT as NETWORK
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics.tensor_files import read_tensors, save_tensors
from softlabel.teachers.kernel_limit import FORMAT as LIMIT
from softlabel.teachers.kernel_limit import KernelLimitTeacher
from softlabel.teachers.logit_files import KIND as LOGITS
from softlabel.teachers.logit_files import load_logits
from tests.export.students import inputs, student
from tests.mutations import refusals
from tests.networks.deep.small import images

ABOUT = {"activation": "relu", "scale": "none", "factor": 1.0, "classes": ["a", "b"], "columns": ["p", "q", "r"]}
PICTURES = {"network": "resnet8", "width": 0.25, "classes": ["a", "b"], "image": [1, 8, 8]}


def weights(**others):
    stored = {"hidden": torch.ones(4, 3), "output": torch.ones(1, 4)} | others
    return {name: tensor for name, tensor in stored.items() if tensor is not None}


def write_student(path, tensors=None, about=None):
    """A student whose fingerprint is right, whatever it holds."""
    tensors, text = weights() if tensors is None else tensors, json.dumps(ABOUT | (about or {}))
    try:
        mark = _fingerprint(text, tensors)
    except TypeError:
        mark = ""
    save_tensors(path, tensors, STUDENT, {"about": text, "fingerprint": mark})


def write_deep(path, tensors=None, about=None):
    stored = prepared_for(build_network("resnet8", 2, (1, 8, 8), 0.25), images()).state_dict()
    save_tensors(path, dict(stored) | (tensors or {}), DEEP, {"about": json.dumps(PICTURES | (about or {}))})


STUDENTS = [
    ({"tensors": weights(hidden=torch.full((4, 3), torch.nan))}, "'hidden' holds values that are not finite"),
    ({"tensors": weights(hidden=torch.ones(4, 3, dtype=torch.bfloat16))}, "values of type torch.bfloat16"),
    ({"tensors": weights(hidden=torch.ones(4, 3, dtype=torch.int64))}, "must all be float32 or all float64"),
    ({"tensors": weights(hidden=torch.ones(4, 3, dtype=torch.float64))}, "must all be float32 or all float64"),
    ({"tensors": weights(hidden=torch.ones(12))}, "weights must have two dimensions"),
    ({"tensors": weights(hidden=torch.ones(0, 3))}, "weights must have two dimensions"),
    ({"tensors": weights(output=torch.ones(1, 5))}, r"'output' must have shape \(1, 4\), got \(1, 5\)"),
    ({"tensors": weights(hidden_bias=torch.ones(3))}, r"'hidden_bias' must have shape \(4,\)"),
    ({"tensors": weights(output=torch.ones(3, 4))}, "2 classes need a network with 1 outputs, got 3"),
    ({"tensors": weights(hidden=None)}, "is not a complete student"),
    ({"about": {"activation": "step"}}, "unknown activation 'step'"),
    ({"about": {"activation": 3}}, "is not a complete student"),
    ({"about": {"scale": "most"}}, "unknown scale 'most'"),
    ({"about": {"scale": "max", "factor": -1.0}}, "factor of a scale must be a positive number, got -1.0"),
    ({"about": {"scale": "max", "factor": "large"}}, "factor of a scale must be a positive number"),
    ({"about": {"scale": "max", "factor": float("nan")}}, "factor of a scale must be a positive number"),
    ({"about": {"scale": "standard"}}, "cannot have 0 means"),
    ({"about": {"classes": [1, 2]}}, "classes and columns must be names"),
    ({"about": {"classes": "ab", "columns": [1, 2, 3]}}, "classes and columns must be names"),
    ({"about": {"classes": None}}, "is not a complete student"),
    ({"about": {"columns": ["a"] * 10}}, "takes 3 columns, 10 are named"),
]
DEEPS = [
    ({"about": {"width": 1e9}}, "is not a complete deep student"),
    ({"about": {"width": float("inf")}}, "is not a complete deep student"),
    ({"about": {"width": -1}}, "is not a complete deep student"),
    ({"about": {"width": "wide"}}, "is not a complete deep student"),
    ({"about": {"network": "resnet99999999998"}}, "is not a complete deep student"),
    ({"about": {"network": "vgg19+3", "width": 1e6, "image": [3, 10**6, 10**6]}}, "is not a complete deep student"),
    ({"about": {"image": [1, 8]}}, "is not a complete deep student"),
    ({"about": {"image": [10**12, 8, 8]}}, "is not a complete deep student"),
    ({"about": {"classes": [1, 2]}}, "classes must be names"),
    ({"about": {"classes": 2}}, "is not a complete deep student"),
    ({"tensors": {"spread": torch.zeros(1, 1, 1, 1)}}, "'spread' must be positive"),
    ({"tensors": {"mean": torch.full((1, 1, 1, 1), torch.inf)}}, "'mean' holds values that are not finite"),
    ({"tensors": {"network.output.bias": torch.zeros(2, dtype=torch.float64)}}, "must have values of type"),
]


@pytest.mark.parametrize(("made", "message"), STUDENTS)
def test_hostile_students_are_one_line(tmp_path, capfd, made, message):
    write_student(tmp_path / "s.safetensors", **made)
    check_refused(lambda: load_model(tmp_path / "s.safetensors"), message, capfd)


@pytest.mark.parametrize(("made", "message"), DEEPS)
def test_hostile_deep_students_are_one_line(tmp_path, capfd, made, message):
    write_deep(tmp_path / "s.safetensors", **made)
    check_refused(lambda: load_model(tmp_path / "s.safetensors"), message, capfd)


def check_refused(read, message, capfd):
    with pytest.raises(InputError, match=message) as caught:
        read()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


def test_what_is_right_is_read(tmp_path):
    write_student(tmp_path / "s.safetensors")
    assert load_model(tmp_path / "s.safetensors").classes == ("a", "b")
    assert StudentModel.load(str(tmp_path / "s.safetensors")).classes == ("a", "b")  # type: ignore[arg-type]
    write_deep(tmp_path / "d.safetensors")
    stored = load_model(tmp_path / "d.safetensors")
    assert stored.probabilities(np.zeros((2, 1, 8, 8))).shape == (2, 2)
    odd = tmp_path / os.fsdecode(b"caf\xe9.safetensors")
    (tmp_path / "s.safetensors").rename(odd)
    with pytest.raises(InputError, match="not valid UTF-8"):  # the library opens no such name
        load_model(odd)


def test_a_loaded_deep_student_answers_as_it_did(tmp_path):
    network = prepared_for(build_network("resnet8", 2, (1, 8, 8), 0.25, seed=3), images()).eval()
    save_student(tmp_path / "d.safetensors", network, PICTURES)
    again, _ = load_student(tmp_path / "d.safetensors")
    with torch.no_grad():
        assert torch.equal(again(images().pixels), network(images().pixels))


OTHERS = [
    ("n", NETWORK, weights(), {}, TwoLayer.load, "unknown activation"),
    ("n", NETWORK, weights(output=torch.ones(2, 3)), {"activation": "relu"}, TwoLayer.load, "'output' must have shape"),
    ("l", LIMIT, {"points": torch.ones(3, 2), "weights": torch.ones(3)}, {"smoothing": "0", "kappa": "1"},
     KernelLimitTeacher.load, "no number 'margin_lower'"),
    ("l", LIMIT, {"points": torch.ones(3, 2), "weights": torch.ones(3)},
     {"smoothing": "0", "kappa": "much", "margin_lower": "0"}, KernelLimitTeacher.load, "no number 'kappa'"),
    ("l", LIMIT, {"points": torch.ones(3, 2), "weights": torch.ones(2)},
     {"smoothing": "0", "kappa": "1", "margin_lower": "0"}, KernelLimitTeacher.load, "is damaged: points of shape"),
    ("c", CHECKPOINT, {"network.a": torch.ones(1)}, {}, lambda path: read_checkpoint(path, {}), "is incomplete"),
    ("c", CHECKPOINT, {"network.a": torch.ones(1)}, {"state": "[1]"}, lambda path: read_checkpoint(path, {}),
     "is incomplete"),
    ("g", LOGITS, {"logits": torch.ones(60)}, {}, lambda path: load_logits(path, images()), "logits have shape"),
    ("g", LOGITS, {"logits": torch.ones(60, 2)}, {}, lambda path: load_logits(path, images()), "other images"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "tensors", "metadata", "read", "message"), OTHERS)
def test_other_files_are_refused_in_one_line(tmp_path, capfd, name, kind, tensors, metadata, read, message):
    save_tensors(tmp_path / f"{name}.safetensors", tensors, kind, metadata)
    check_refused(lambda: read(tmp_path / f"{name}.safetensors"), message, capfd)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"x", struct.pack("<Q", 2**63) + b"{}", struct.pack("<Q", 10**8) + b"{}", struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 60) + b'{"a":{"dtype":"F32","shape":[9999999999],"data_offsets":[0,4]}}',
        struct.pack("<Q", 63) + b'{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,99999999999]}}',
        struct.pack("<Q", 4000) + b'{"a":' * 700 + b" " * 500,
    ],
)  # fmt: skip
def test_hostile_headers_are_one_line(tmp_path, capfd, content):
    (tmp_path / "h.safetensors").write_bytes(content)
    check_refused(lambda: load_model(tmp_path / "h.safetensors"), "cannot be read", capfd)


def test_a_pipe_is_never_opened(tmp_path):
    os.mkfifo(tmp_path / "p.safetensors")
    for read in (load_model, TwoLayer.load, lambda path: read_tensors(path, "k", "student")):
        with pytest.raises(InputError, match="is a named pipe, and only regular files are read"):
            read(tmp_path / "p.safetensors")


def test_mutated_files_are_read_or_refused_in_one_line(tmp_path):
    student().save(tmp_path / "s.safetensors")
    content = (tmp_path / "s.safetensors").read_bytes()
    messages = refusals(content, tmp_path / "s.safetensors", lambda path: load_model(path).probabilities(inputs()), 200)
    write_deep(tmp_path / "d.safetensors")
    content = (tmp_path / "d.safetensors").read_bytes()
    messages += refusals(content, tmp_path / "d.safetensors", load_model, 60)
    messages += refusals(content[:3000], tmp_path / "d.safetensors", load_model, 40)
    assert len(messages) > 150
    assert not [line for line in messages if "\n" in line]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_permissions_that_the_umask_gives(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        save_tensors(tmp_path / "a.safetensors", {"x": torch.ones(2)}, "kind", {})
    finally:
        os.umask(before)
    assert (tmp_path / "a.safetensors").stat().st_mode & 0o777 == mode
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_path_may_be_a_string(tmp_path):
    save_tensors(f"{tmp_path}/sub/a.safetensors", {"x": torch.ones(2)}, "kind", {"about": "x"})
    tensors, metadata = read_tensors(f"{tmp_path}/sub/a.safetensors", "kind", "thing")
    assert torch.equal(tensors["x"], torch.ones(2))
    assert metadata == {"format": "kind", "about": "x"}


def test_the_reader_of_students_is_the_one_that_is_tested(tmp_path):
    write_student(tmp_path / "s.safetensors", about={"classes": ["a"]})
    with pytest.raises(InputError, match="is not a complete student"):
        StudentModel.load(tmp_path / "s.safetensors")
