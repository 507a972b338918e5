"""The output layers of all students as one: equal to students one by one, and chosen only where it is faster."""

import dataclasses

import numpy as np
import pytest
import torch

from softlabel.networks import Student, TrainingOptions, teacher_logits, train_students
from softlabel.networks.joint_output import most_examples
from softlabel.networks.pgd import StackTraining
from softlabel.networks.two_layer import TwoLayer
from tests.networks.test_pgd import check_all, many, problem


def shapes(**settings) -> list[Student]:
    """Students of five shapes, odd widths among them, with fixed output layers."""
    return [
        *many(**settings),
        *many(width=3, init="he", **settings),
        *many(width=8, output_scale=3.0, **settings),
        *[dataclasses.replace(student, radius=None) for student in many(width=2, **settings)],
        *many(width=5, init="gaussian", **settings),
    ]


def stack(students: list[Student], classes: int = 2):
    x, labels = problem(classes=classes)
    return StackTraining(x, students, labels, None, "gradient", None, TrainingOptions()).stack


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("blocks", [None, 17])
def test_equals_plain_networks(activation, blocks, monkeypatch):
    if blocks is not None:
        monkeypatch.setattr("softlabel.networks.fused.block_rows", lambda rows, inputs: blocks)
    students = shapes(activation=activation)
    assert most_examples(stack(students).groups) >= 60
    x, labels = problem()
    check_all(x, labels, students, 1e-10)


def test_weights_of_rows_count_as_without_it(monkeypatch):
    x, labels = problem()
    weights = np.random.default_rng(1).uniform(0, 3, len(x))
    options = {"iterations": 9, "sample_weight": weights, "options": TrainingOptions(precision="float64")}
    joint = train_students(x, shapes(), labels, **options)
    monkeypatch.setattr("softlabel.networks.joint_output.PRODUCTS_PER_GROUP", 0)
    single = train_students(x, shapes(), labels, **options)
    for one, other in zip(joint, single, strict=True):
        torch.testing.assert_close(one.network.hidden, other.network.hidden, rtol=0, atol=1e-12)


def test_students_that_finish_leave_it():
    """A student that hardly moves finishes at once; the others go on as they would have without it."""
    x, labels = problem()
    options = TrainingOptions(precision="float64", tolerance=1e-3)
    still = Student(width=4, init="he", learning_rate=0.5, radius=1e-6)
    run = train_students(x, [still, *shapes()], labels, iterations=9, options=options)
    alone = train_students(x, shapes(), labels, iterations=9, options=TrainingOptions(precision="float64"))
    assert run[0].steps < 9
    for one, other in zip(run[1:], alone, strict=True):
        torch.testing.assert_close(one.network.hidden, other.network.hidden, rtol=0, atol=1e-12)


def test_symmetric_students_start_at_zero_exactly():
    """With labels of ½ weights stay as they are, to the bit, only if every output is exactly 0."""
    x, _ = problem()
    students = [Student(width=width, seed=width, labels="half") for width in (2, 4, 8, 16)]
    assert most_examples(stack([dataclasses.replace(one, labels="hard") for one in students]).groups) >= 60
    run = train_students(x, students, {"half": teacher_logits(np.zeros(len(x)))}, iterations=5)
    for trained, student in zip(run, students, strict=True):
        initial = TwoLayer.initialized("symmetric", width=student.width, inputs=x.shape[1], seed=student.seed)
        assert torch.equal(trained.network.hidden, initial.hidden.float())


@pytest.mark.parametrize(
    "students",
    [many(), [*many(), *many(width=4, train_output=True)], [*many(), *many(width=4, biases=True)],
     [*many(), *many(width=4, activation="tanh")]],
)  # fmt: skip
def test_one_shape_and_other_output_layers_are_left_to_the_groups(students):
    assert most_examples(stack(students).groups) == 0


def test_several_classes_are_left_to_the_groups():
    assert most_examples(stack(shapes(), classes=4).groups) == 0


def test_many_students_are_left_to_the_groups():
    few, lots = ([Student(width=width, seed=seed) for width in (64, 128) for seed in range(count)] for count in (2, 50))
    assert most_examples(stack(few).groups) > 60 > most_examples(stack(lots).groups)
