"""`distill` from Python: forms of data, teachers and students, its result, and its run directory."""

import json
import logging

import numpy as np
import onnx
import pytest
import torch
from matplotlib.figure import Figure
from onnx import TensorProto, helper, numpy_helper
from torch import nn

from softlabel.data import load
from softlabel.errors import InputError
from softlabel.networks.deep import CachedLogits, DeepTraining, FeatureMatch, Objective, build_network
from softlabel.studies.distill import DistillOptions, TeacherScores, distill, image_parts, train_teacher
from softlabel.studies.distill.teacher import open_teacher

TRAINING = DeepTraining(epochs=1, precision="float32")
QUIET = DistillOptions(width_multiplier=0.25, progress=False)
PROBLEM = load("digits", classes="3,8")
WEIGHTS = np.linalg.lstsq(PROBLEM.X, 2.0 * PROBLEM.y - 1, rcond=1e-3)[0].astype(np.float32)


def linear(pixels: torch.Tensor) -> torch.Tensor:
    """Logits of the least-squares classifier."""
    score = pixels.reshape(len(pixels), -1) @ torch.from_numpy(WEIGHTS) * 3
    return torch.stack([-score, score], 1)


def student() -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 2))


def weights(result, arm: str = "soft") -> torch.Tensor:
    return torch.cat([parameter.detach().reshape(-1) for parameter in result.students[arm].parameters()])


def test_distill_sees_the_split_of_the_problem():
    parts = image_parts(PROBLEM)
    for name in ("train", "validation", "test"):
        part, images = PROBLEM.part(name), getattr(parts, name)
        np.testing.assert_array_equal(images.pixels.numpy(), part.images)
        np.testing.assert_array_equal(images.labels.numpy(), part.y)
    assert parts.to_dict() == {"train": 214, "validation": 72, "test": 71, "shape": [1, 8, 8], "classes": 2}
    with pytest.raises(InputError, match="has no images"):
        image_parts(load((np.random.default_rng(0).normal(size=(60, 3)), np.arange(60) % 2)))


@pytest.mark.parametrize("layout", ["NCHW", "NHWC", "NHW"])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_arrays_of_any_layout_and_type_give_the_same_students(layout, dtype):
    images = np.round(PROBLEM.images * 255)
    images = images.astype("uint8") if dtype == "uint8" else (images / 255).astype("float32")
    images = {"NCHW": images, "NHWC": images.transpose(0, 2, 3, 1), "NHW": images[:, 0]}[layout]
    results = [
        distill((pixels, PROBLEM.y), linear, student(), training=TRAINING, options=DistillOptions(progress=False))
        for pixels in (images, np.round(PROBLEM.images * 255) / np.float32(255))
    ]
    assert torch.equal(weights(results[0]), weights(results[1]))


def test_a_layout_that_is_not_clear_is_refused():
    with pytest.raises(InputError, match="axis of channels is not clear"):
        distill((np.zeros((10, 3, 8, 3)), np.arange(10) % 2), linear, student())


def test_a_teacher_of_probabilities_is_read_as_the_one_of_logits():
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2, bias=False))
    with torch.no_grad():
        network[1].weight.copy_(torch.from_numpy(np.stack([-WEIGHTS, WEIGHTS]) * 3))
    forms = {
        "logits": linear,
        "probabilities": lambda pixels: linear(pixels).softmax(1),
        "network": network,
        "network of probabilities": nn.Sequential(network, nn.Softmax(1)),
        "log-odds": lambda pixels: linear(pixels)[:, 1] - linear(pixels)[:, 0],
        "probability of the second class": lambda pixels: linear(pixels).softmax(1)[:, 1:],
    }
    results = {
        name: distill(PROBLEM, teacher, student(), training=TRAINING, options=DistillOptions(progress=False))
        for name, teacher in forms.items()
    }
    for name, result in results.items():
        assert result.teacher.accuracy == results["logits"].teacher.accuracy, name
        assert (weights(result) - weights(results["logits"])).abs().max() < 1e-5, name
    assert results["network of probabilities"].teacher.parameters == 128
    assert results["logits"].teacher.parameters is None


def test_a_teacher_that_does_not_fit_is_refused():
    for teacher, message in (
        (lambda pixels: -linear(pixels), "are its columns in the order of the classes"),
        (lambda pixels: linear(pixels).repeat(1, 2), "predictions have 4 columns, the data have 2 classes"),
        (lambda pixels: linear(pixels) * torch.nan, "predictions are not finite"),
        (3, "teacher must be a torch network, a function, a file or the name of a network, got int"),
    ):
        with pytest.raises(InputError, match=message):
            distill(PROBLEM, teacher, student(), training=TRAINING)  # type: ignore[arg-type]


def test_an_onnx_teacher_is_opened_with_its_columns_in_order(tmp_path):
    table = np.stack([-WEIGHTS, WEIGHTS], axis=1)
    nodes = [helper.make_node("Flatten", ["x"], ["flat"], axis=1), helper.make_node("MatMul", ["flat", "w"], ["z"])]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 1, 8, 8])],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n", 2])], [numpy_helper.from_array(table, "w")],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(model, tmp_path / "t.onnx")
    parts = image_parts(PROBLEM)
    ready = open_teacher(tmp_path / "t.onnx", PROBLEM, parts)
    assert not isinstance(ready.logits, CachedLogits)
    torch.testing.assert_close(ready.logits(parts.test.pixels) * 3, linear(parts.test.pixels), rtol=1e-4, atol=1e-4)


def test_results_are_typed_and_can_be_shown():
    result = distill("digits", "resnet8", "resnet8", training=TRAINING, smoothing=0.1, options=QUIET)
    assert list(result.arms) == ["hard", "smooth", "soft"] == list(result.students)
    soft = result.arms["soft"]
    assert 0 <= soft.accuracy <= 1
    assert soft.agreement is not None
    assert soft.parameters < (result.teacher.parameters or 0)
    assert result.exported == {}
    assert result.report is None
    document = json.loads(json.dumps(result.to_dict()))
    assert (document["dataset"], document["student"]) == ("digits", "resnet8")
    assert set(document["training"]) >= {"batch_size", "learning_rate", "weight_decay"}
    assert document["arms"]["smooth"]["probabilities_are"] == "softened (label smoothing 0.1)"
    assert repr(result).startswith("<Distillation: Soft labels: ")
    assert "\n" not in repr(result)
    assert "<svg" in result._repr_html_() or "svg+xml" in result._repr_html_()
    assert isinstance(result.plot(), Figure)


def test_progress_is_a_callable_or_logged(caplog):
    seen = []
    options = DistillOptions(progress=lambda arm, epoch, at: seen.append((arm, epoch, at.accuracy >= 0)))
    training = DeepTraining(epochs=2, precision="float32")
    distill(PROBLEM, linear, student(), training=training, options=options)
    assert seen == [(arm, epoch, True) for arm in ("hard", "soft") for epoch in (1, 2)]
    logger = logging.getLogger("softlabel")
    propagates, logger.propagate = logger.propagate, True  # the command line turns this off
    try:
        with caplog.at_level(logging.INFO, logger="softlabel"):
            distill(PROBLEM, linear, student(), training=TRAINING)
    finally:
        logger.propagate = propagates
    assert any(message.startswith("soft, epoch 1: loss ") for message in caplog.messages)


def test_a_run_directory_resumes_and_belongs_to_its_arguments(tmp_path):
    out = f"{tmp_path}/run"  # a string does
    first = distill(PROBLEM, linear, student(), training=TRAINING, out=out)
    assert first.exported["soft"].onnx.is_file()
    assert first.exported["soft"].weights is None  # a network of the user cannot be built by name
    assert json.loads((tmp_path / "run" / "results.json").read_text())["student"] == "Sequential"
    seen = []
    options = DistillOptions(progress=lambda *at: seen.append(at))
    second = distill(PROBLEM, linear, student(), training=TRAINING, out=out, options=options)
    assert not seen  # nothing is left to train
    assert torch.equal(weights(first), weights(second))
    for change, message in (
        ({"smoothing": 0.1}, "smoothing = 0.0, now 0.1"),
        ({"objective": Objective(0.5, 4.0)}, "soft_share = 1.0, now 0.5"),
        ({"training": DeepTraining(epochs=1, precision="float32", learning_rate=0.1)}, "learning_rate = 0.001, now"),
    ):
        with pytest.raises(InputError, match=message):
            distill(PROBLEM, linear, student(), **({"training": TRAINING, "out": out} | change))
    with pytest.raises(InputError, match="student_content"):
        distill(PROBLEM, linear, nn.Sequential(nn.Flatten(), nn.Linear(64, 2)), training=TRAINING, out=out)


def test_the_users_networks_stay_as_they_are():
    teacher, own = build_network("resnet8", 2, (1, 8, 8), 0.25).eval(), student()
    before = [{name: value.clone() for name, value in network.state_dict().items()} for network in (teacher, own)]
    distill(PROBLEM, teacher, own, training=TRAINING, match=FeatureMatch("1", "norm"),
            objective=Objective(1.0, 2.0, feature_weight=0.1), options=DistillOptions(progress=False))  # fmt: skip
    for network, state in zip((teacher, own), before, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in network.state_dict().items())
    with pytest.raises(InputError, match="`width_multiplier` applies to students by name only"):
        distill(PROBLEM, teacher, own, training=TRAINING, options=QUIET)


def test_student_and_teacher_are_compared():
    small, large = (build_network("resnet8", 2, (1, 8, 8), width, seed=1) for width in (0.25, 0.5))
    for teacher, own, smaller in ((large, small, True), (small, large, False)):
        result = distill(PROBLEM, teacher, own, training=TRAINING, options=DistillOptions(progress=False))
        assert result.size.smaller is smaller
        assert any("is not smaller than the teacher" in line for line in result.warnings) is not smaller
        assert any("is not smaller than the teacher" in line for line in result.summary) is not smaller
        for accuracy, worse in ((0.0, True), (1.0, False), (None, False)):
            result.teacher = TeacherScores(accuracy)
            assert any("the teacher is worse than a student without it" in line for line in result.summary) is worse


def test_a_teacher_is_trained_with_checkpoints(tmp_path):
    parts, seen = image_parts(PROBLEM), []
    for _ in range(2):
        network = train_teacher("resnet8", parts, 0.25, TRAINING, tmp_path, lambda *at: seen.append(at[:2]))
    assert seen == [("teacher", 1)]  # the second call reads the checkpoint
    assert network(parts.test.pixels).shape == (71, 2)
