"""Teachers in ONNX files and files of logits: right predictions, and clear messages for wrong files."""

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from softlabel.errors import InputError
from softlabel.export import export_onnx
from softlabel.networks.deep import CachedLogits, cached_logits, network_logits
from softlabel.networks.deep.building import network_fingerprint
from softlabel.teachers.logit_files import load_logits, remembered_logits, save_logits
from softlabel.teachers.onnx_file import OnnxTeacher
from softlabel.teachers.onnx_session import as_table
from tests.networks.deep.small import images, network


def linear_model(path, inputs, outputs, probabilities=False, shape=("n",)):
    """An ONNX model that flattens and multiplies, perhaps with a softmax after it."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(inputs, outputs)).astype(np.float32)
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], axis=1),
        helper.make_node("MatMul", ["flat", "w"], ["z"]),
    ]
    last = "z"
    if probabilities:
        nodes.append(helper.make_node("Softmax", ["z"], ["p"], axis=1))
        last = "p"
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, list(shape))],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["n", outputs])],
        [numpy_helper.from_array(table, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, path)
    return table


def test_an_exported_network_teaches_what_it_says(tmp_path):
    net = network(seed=3).eval()
    export_onnx(net, images().pixels, tmp_path / "t.onnx")
    found = OnnxTeacher(tmp_path / "t.onnx", 2)(images().pixels)
    assert found.numpy() == pytest.approx(network_logits(net, images().pixels).numpy(), abs=1e-4)


def test_probabilities_become_logits(tmp_path):
    table = linear_model(tmp_path / "t.onnx", 64, 2, probabilities=True, shape=("n", 1, 8, 8))
    held = images()
    teacher = OnnxTeacher(tmp_path / "t.onnx", 2)
    truth = torch.from_numpy(held.pixels.reshape(60, -1).numpy() @ table).softmax(1)
    assert teacher(held.pixels).softmax(1).numpy() == pytest.approx(truth.numpy(), abs=1e-4)
    assert teacher.reading.kind == "probabilities"


def test_channels_last_flat_and_scaled_inputs(tmp_path):
    held = images(channels=3)
    table = linear_model(tmp_path / "last.onnx", 192, 2, shape=("n", 8, 8, 3))
    truth = held.pixels.permute(0, 2, 3, 1).reshape(60, -1).numpy() @ table
    assert OnnxTeacher(tmp_path / "last.onnx", 2)(held.pixels).numpy() == pytest.approx(truth, abs=1e-3)
    table = linear_model(tmp_path / "flat.onnx", 192, 2, shape=("n", 192))
    truth = 255 * held.pixels.contiguous().reshape(60, -1).numpy() @ table
    assert OnnxTeacher(tmp_path / "flat.onnx", 2, scale=255)(held.pixels).numpy() == pytest.approx(
        truth, rel=1e-3, abs=0.1
    )


def test_one_output_for_two_classes(tmp_path):
    table = linear_model(tmp_path / "t.onnx", 64, 1, shape=("n", 1, 8, 8))
    found = OnnxTeacher(tmp_path / "t.onnx", 2)(images().pixels)
    z = images().pixels.reshape(60, -1).numpy() @ table
    assert (found[:, 1] - found[:, 0]).numpy() == pytest.approx(z[:, 0], abs=1e-4)


def test_log_odds_that_look_like_probabilities_at_first(tmp_path):
    """The kind of predictions is decided by all images, not by the first few of them."""
    table = linear_model(tmp_path / "t.onnx", 64, 1, shape=("n", 1, 8, 8))
    held = images()
    z = held.pixels.reshape(60, -1).numpy() @ table
    first = np.argsort(np.abs(z[:, 0] - 0.5))
    held = held.rows(first.copy())
    teacher = OnnxTeacher(tmp_path / "t.onnx", 2)
    assert teacher.decide(held.pixels).kind == "logits"
    found = teacher(held.pixels[:2])
    assert (found[:, 1] - found[:, 0]).numpy() == pytest.approx(z[first[:2], 0], abs=1e-4)
    assert OnnxTeacher(tmp_path / "t.onnx", 2, kind="logits").decide(held.pixels[:2]).kind == "logits"
    with pytest.raises(InputError, match="logits or probabilities"):
        OnnxTeacher(tmp_path / "t.onnx", 2, kind="classes")


@pytest.mark.parametrize("batch", [1, 7, 60])
def test_models_of_fixed_batch(tmp_path, batch):
    table = linear_model(tmp_path / "t.onnx", 64, 3, shape=(batch, 1, 8, 8))
    held = images(classes=3)
    truth = held.pixels.reshape(60, -1).numpy() @ table
    assert OnnxTeacher(tmp_path / "t.onnx", 3)(held.pixels).numpy() == pytest.approx(truth, abs=1e-3)
    assert OnnxTeacher(tmp_path / "t.onnx", 3)(held.pixels[:5]).shape == (5, 3)


def test_parameters_are_counted(tmp_path):
    linear_model(tmp_path / "t.onnx", 64, 3, shape=("n", 64))
    assert OnnxTeacher(tmp_path / "t.onnx", 3).parameters == 192


def test_lists_of_probabilities_by_class():
    answer = [{1: 0.25, 0: 0.75}, {0: 0.5, 1: 0.5}]
    assert as_table(answer, 2).tolist() == [[0.75, 0.25], [0.5, 0.5]]


def test_onnx_files_that_do_not_fit(tmp_path):
    linear_model(tmp_path / "t.onnx", 64, 2, shape=("n", 1, 8, 8))
    with pytest.raises(InputError, match=r"takes inputs of shape \('n', 1, 8, 8\), images are \(1, 6, 6\)"):
        OnnxTeacher(tmp_path / "t.onnx", 2)(images(size=6).pixels)
    with pytest.raises(InputError, match=r"returns 2 columns; the data have 3 classes"):
        OnnxTeacher(tmp_path / "t.onnx", 3)(images().pixels)
    with pytest.raises(InputError, match="has no output 'y'; there are z"):
        OnnxTeacher(tmp_path / "t.onnx", 2, output="y")
    (tmp_path / "broken.onnx").write_bytes(b"nothing")
    with pytest.raises(InputError, match="cannot be read as an ONNX model"):
        OnnxTeacher(tmp_path / "broken.onnx", 2)


def test_logits_are_bound_to_their_images_and_teacher(tmp_path):
    net = network(seed=3).eval()
    found = cached_logits(net, images())
    save_logits(tmp_path / "l.safetensors", found, "mine")
    assert torch.equal(load_logits(tmp_path / "l.safetensors", images(), "mine").logits, found.logits)
    with pytest.raises(InputError, match="on other images or in another order"):
        load_logits(tmp_path / "l.safetensors", images(seed=1))
    with pytest.raises(InputError, match="of another teacher"):
        load_logits(tmp_path / "l.safetensors", images(), "yours")
    turned = images().rows(np.arange(59, -1, -1))
    with pytest.raises(InputError, match="in another order"):
        load_logits(tmp_path / "l.safetensors", turned)


def test_npy_logits(tmp_path):
    table = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    np.save(tmp_path / "l.npy", table)
    assert load_logits(tmp_path / "l.npy", images()).logits.numpy() == pytest.approx(table)
    np.save(tmp_path / "p.npy", torch.from_numpy(table).softmax(1).numpy())
    found = load_logits(tmp_path / "p.npy", images()).logits
    assert found.softmax(1).numpy() == pytest.approx(torch.from_numpy(table).softmax(1).numpy(), abs=1e-6)
    for name, wrong, message in (
        ("rows", table[:50], r"shape \(50, 2\), there are 60 images"),
        ("columns", np.zeros((60, 3), np.float32), r"shape \(60, 3\)"),
        ("nan", np.full((60, 2), np.nan, np.float32), "not finite"),
        ("whole", np.zeros((60, 2), np.int64), "floating-point numbers"),
    ):
        np.save(tmp_path / f"{name}.npy", wrong)
        with pytest.raises(InputError, match=message):
            load_logits(tmp_path / f"{name}.npy", images())
    np.savez(tmp_path / "several.npz", a=table)
    (tmp_path / "several.npz").rename(tmp_path / "several.npy")
    with pytest.raises(InputError, match="is an NPZ archive, not one array"):
        load_logits(tmp_path / "several.npy", images())
    (tmp_path / "empty.npy").write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        load_logits(tmp_path / "empty.npy", images())
    (tmp_path / "no.npy").write_bytes(b"x")
    with pytest.raises(InputError, match="is not a readable NPY file"):
        load_logits(tmp_path / "no.npy", images())


def test_logits_are_computed_once_for_each_teacher_and_set(tmp_path):
    calls = []

    def teacher(pixels):
        calls.append(len(pixels))
        return torch.zeros(len(pixels), 2)

    for _ in range(2):
        found = remembered_logits(tmp_path, teacher, "a", images())
        assert isinstance(found, CachedLogits)
    assert len(calls) == 1
    remembered_logits(tmp_path, teacher, "b", images())
    remembered_logits(tmp_path, teacher, "a", images(seed=1))
    assert len(calls) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_a_networks_fingerprint_is_of_its_weights():
    first, same, other = network(seed=1), network(seed=1), network(seed=2)
    assert network_fingerprint(first) == network_fingerprint(same) != network_fingerprint(other)
    with torch.no_grad():
        next(iter(first.parameters())).add_(1e-6)
    assert network_fingerprint(first) != network_fingerprint(same)
    assert isinstance(first, nn.Module)


def test_probabilities_of_images_with_broken_rows_are_refused(tmp_path):
    table = np.full((60, 2), 0.5, np.float32)
    table[7] = [0.5, 0.9]
    np.save(tmp_path / "p.npy", table)
    with pytest.raises(InputError, match=r"most rows add up to 1 as probabilities do, yet there is 1.4 \(row 8\)"):
        load_logits(tmp_path / "p.npy", images())
    assert load_logits(tmp_path / "p.npy", images(), kind="logits").logits[7].tolist() == pytest.approx([0.5, 0.9])


def test_computed_logits_are_never_read_again(tmp_path):
    """Logits that happen to look like probabilities are the same before and after they were stored."""
    first = remembered_logits(tmp_path, lambda pixels: torch.full((len(pixels), 2), 0.5), "a", images())
    second = remembered_logits(tmp_path, lambda pixels: torch.zeros(len(pixels), 2), "a", images())
    assert torch.equal(first.logits, second.logits)


def test_class_names_of_an_image_model_order_its_columns(tmp_path):
    net = network(seed=3).eval()
    export_onnx(net, images().pixels, tmp_path / "t.onnx", ("dog", "cat"))
    truth = network_logits(net, images().pixels).numpy()
    assert OnnxTeacher(tmp_path / "t.onnx", ("dog", "cat"))(images().pixels).numpy() == pytest.approx(truth, abs=1e-4)
    turned = OnnxTeacher(tmp_path / "t.onnx", ("cat", "dog"))(images().pixels).numpy()
    assert turned == pytest.approx(truth[:, ::-1], abs=1e-4)
    with pytest.raises(InputError, match="is for other classes"):
        OnnxTeacher(tmp_path / "t.onnx", ("cat", "fox"))(images().pixels)
    export_onnx(net, images().pixels, tmp_path / "n.onnx")
    found = OnnxTeacher(tmp_path / "n.onnx", ("cat", "dog"))(images().pixels)
    assert found.numpy() == pytest.approx(truth, abs=1e-4)
