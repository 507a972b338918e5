"""What goes wrong in distillation code elsewhere: each check holds for ours and notices the mistake made on purpose."""

import numpy as np
import pytest
import torch
from scipy.special import log_softmax, softmax
from torch import nn
from torch.nn import functional

from softlabel import export
from softlabel.networks.deep import (
    CachedLogits,
    DeepTraining,
    FeatureMatch,
    Images,
    Objective,
    OnlineTeacher,
    cached_logits,
    evaluation,
    module_logits,
    teaching,
    train_network,
)
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.studies.distill import DistillRecipe, ImageParts, ReadyTeacher, arms, train_arms
from tests.networks.deep.small import images, network

TRAINING = DeepTraining(epochs=2, batch_size=16, precision="float32")


class Probe(nn.Module):
    """A network that notes in which mode it was asked, with and without gradients."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.inner = network(seed=seed)
        self.modes: list[tuple[bool, bool]] = []

    def forward(self, x):
        self.modes.append((self.training, torch.is_grad_enabled()))
        return self.inner(x)


def check_the_student_trains_in_training_mode():
    probe = Probe()
    train_network(probe, images(), images(20, seed=1), TRAINING)
    assert all(training == learning for training, learning in probe.modes)
    assert any(training for training, _ in probe.modes[-6:])


def check_the_teacher_stands_still():
    teacher = Probe(seed=3).train()
    before = {name: value.clone() for name, value in teacher.state_dict().items()}
    soft = OnlineTeacher(module_logits(teacher))
    train_network(network(), images(), images(20, seed=1), TRAINING, Objective(1.0, 2.0), soft=soft)
    assert all(torch.equal(before[name], value) for name, value in teacher.state_dict().items())
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert not any(training for training, _ in teacher.modes)


def check_logits_are_softmaxed_once():
    z, t = (np.random.default_rng(seed).normal(0, 2, (4, 3)) for seed in (0, 1))
    result = Objective(1.0, 1.0).soft(torch.from_numpy(z), torch.from_numpy(t))
    p = softmax(t, 1)
    assert float(result) == pytest.approx((p * (log_softmax(t, 1) - log_softmax(z, 1))).sum(1).mean(), rel=1e-9)


def check_labels_follow_their_images():
    teacher = network(seed=7).eval()
    weights = []
    for soft in (cached_logits(teacher, images()), OnlineTeacher(module_logits(teacher))):
        run = train_network(network(), images(), images(20, seed=1), TRAINING, Objective(1.0, 2.0), soft=soft)
        weights.append(torch.cat([p.detach().reshape(-1) for p in run.network.parameters()]))
    assert (weights[0] - weights[1]).abs().max() < 1e-5


def check_the_square_of_the_temperature():
    z = torch.tensor([[2.0, -1.0]], requires_grad=True)
    sizes = []
    for temperature in (10.0, 100.0):
        (gradient,) = torch.autograd.grad(Objective(1.0, temperature).soft(z, torch.tensor([[-3.0, 1.0]])), z)
        sizes.append(float(gradient.norm()))
    assert sizes[0] == pytest.approx(sizes[1], rel=0.1)


def parts(test_labels_turned: bool) -> ImageParts:
    test = images(30, seed=2)
    if test_labels_turned:
        test = Images.from_arrays(test.pixels, 1 - test.labels.numpy(), 2)
    rows = tuple(np.arange(0) for _ in range(3))
    return ImageParts(images(), images(30, seed=1), test, rows)  # type: ignore[arg-type]


def check_test_images_choose_nothing():
    """Turning the labels of the test images over changes no student."""
    weights = []
    for turned in (False, True):
        training = DeepTraining(epochs=6, patience=6, batch_size=16, learning_rate=3e-2, precision="float32")
        teacher = ReadyTeacher.from_network(network(seed=4).eval())
        recipe = DistillRecipe(training, Objective(1.0, 4.0))
        runs = train_arms(parts(turned), teacher, prepared_for(network(), images()), recipe)
        weights.append(torch.cat([p.detach().reshape(-1) for p in runs["hard"].network.parameters()]))
    assert torch.equal(weights[0], weights[1])


def check_a_students_file_holds_the_student_alone(tmp_path):
    student = prepared_for(network(), images())
    export.save_student(tmp_path / "s.safetensors", student, {"network": "mine"})
    from safetensors import safe_open

    with safe_open(tmp_path / "s.safetensors", framework="pt") as file:
        assert set(file.keys()) == set(student.state_dict())


def always_evaluating(monkeypatch):
    monkeypatch.setattr(Probe, "train", lambda self, mode=True: nn.Module.train(self, False))


def teacher_in_training_mode(monkeypatch):
    monkeypatch.setattr(teaching, "network_logits", lambda net, pixels, device="cpu": net.train()(pixels))


def check_the_teacher_gets_no_gradients():
    teacher = network(seed=3).eval()
    for soft in (
        OnlineTeacher(lambda pixels: teacher(pixels)),
        cached_logits(lambda pixels: teacher(pixels), images()),
    ):
        train_network(network(), images(), images(20, seed=1), TRAINING, Objective(1.0, 2.0), soft=soft)
    match = FeatureMatch("2", "2")
    train_network(
        network(), images(), images(20, seed=1), TRAINING, Objective(feature_weight=1.0), teacher=teacher, match=match
    )
    assert all(parameter.grad is None for parameter in teacher.parameters())


def teacher_in_the_graph(monkeypatch):
    monkeypatch.setattr(teaching, "batch_logits", lambda teacher, pixels: teacher(pixels))


def logits_softmaxed_twice(monkeypatch):
    soft = Objective.soft
    monkeypatch.setattr(Objective, "soft", lambda self, z, t: soft(self, z, t.softmax(1)))


def shuffled_against_the_cache(monkeypatch):
    monkeypatch.setattr(CachedLogits, "for_batch", lambda self, indices, pixels, view: self.logits[: len(indices)])


def no_square(monkeypatch):
    soft = Objective.soft
    monkeypatch.setattr(Objective, "soft", lambda self, z, t: soft(self, z, t) / self.temperature**2)


def chosen_on_the_test_images(monkeypatch):
    stored = {}
    soft_labels = arms._soft_labels

    def remember(parts, *rest):
        stored["test"] = parts.test
        return soft_labels(parts, *rest)

    def on_test(net, train, validation, *rest, **options):
        return train_network(net, train, stored["test"], *rest, **options)

    monkeypatch.setattr(arms, "_soft_labels", remember)
    monkeypatch.setattr(arms, "train_network", on_test)


def teacher_inside_the_file(monkeypatch):
    plain = Prepared.state_dict

    def with_teacher(self, *rest, **options):
        return {**plain(self, *rest, **options), "teacher.weight": torch.zeros(2)}

    save = export.save_student

    def save_all(path, student, about):
        with monkeypatch.context() as patch:
            patch.setattr(Prepared, "state_dict", with_teacher)
            save(path, student, about)

    monkeypatch.setattr(export, "save_student", save_all)


MISTAKES = [
    (check_the_student_trains_in_training_mode, always_evaluating),
    (check_the_teacher_stands_still, teacher_in_training_mode),
    (check_the_teacher_gets_no_gradients, teacher_in_the_graph),
    (check_logits_are_softmaxed_once, logits_softmaxed_twice),
    (check_labels_follow_their_images, shuffled_against_the_cache),
    (check_the_square_of_the_temperature, no_square),
    (check_test_images_choose_nothing, chosen_on_the_test_images),
    (check_a_students_file_holds_the_student_alone, teacher_inside_the_file),
]
NAMES = [mistake.__name__ for _, mistake in MISTAKES]


def call(check, tmp_path):
    check(tmp_path) if "tmp_path" in check.__code__.co_varnames[: check.__code__.co_argcount] else check()


@pytest.mark.parametrize(("check", "mistake"), MISTAKES, ids=NAMES)
def test_the_check_holds(check, mistake, tmp_path):
    call(check, tmp_path)


@pytest.mark.parametrize(("check", "mistake"), MISTAKES, ids=NAMES)
def test_the_check_notices_the_mistake(check, mistake, tmp_path, monkeypatch):
    mistake(monkeypatch)
    with pytest.raises((AssertionError, RuntimeError)):
        call(check, tmp_path)


def test_a_teachers_logits_do_not_depend_on_its_mode():
    teacher = network(seed=3).train()
    pixels = images().pixels
    first = evaluation.network_logits(teacher, pixels)
    assert teacher.training  # as it was given
    assert torch.equal(first, evaluation.network_logits(teacher.eval(), pixels))
    assert not first.requires_grad
    assert functional.softmax(first, 1).shape == (60, 2)
