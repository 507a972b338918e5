"""Mini-batches: every student equals a plain network that is trained alone, whatever is trained beside it."""

import dataclasses

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.networks import Student, TrainingOptions, Validation, train_students
from softlabel.networks import optimizers as optimizers_module
from softlabel.numerics import has_bfloat16
from tests.networks.plain import plain_training
from tests.networks.test_pgd import many, problem

DOUBLE = TrainingOptions(precision="float64")
ROWS, BATCH, STEPS = 22, 4, 13  # more than two epochs; the last batch of an epoch is smaller


def batches_of(seed: int) -> list[np.ndarray]:
    orders = [np.random.default_rng([seed, epoch]).permutation(ROWS) for epoch in range(4)]
    return [order[first : first + BATCH] for order in orders for first in range(0, ROWS, BATCH)]


def mixed() -> list[Student]:
    """Students of many shapes and losses."""
    return [
        *many(),
        *many(width=3, init="he", train_output=True, biases=True),
        *many(width=5, init="glorot", train_output=True),
        *many(width=2, biases=True),
        *[dataclasses.replace(student, radius=None) for student in many(width=8)],
        *many(output_scale=3.0),
    ]


def check(students, seeds, *, optimizer, classes=2, iterations=STEPS, **options):
    x, labels = problem(n=ROWS, classes=classes)
    if optimizer == "adam":  # which makes steps out of gradients that are nothing but rounding
        students = [dataclasses.replace(student, learning_rate=0.05 * student.learning_rate) for student in students]
    run = train_students(
        x, students, labels, iterations=iterations, batch_size=BATCH, seed=seeds, optimizer=optimizer, options=DOUBLE,
        **options,
    )  # fmt: skip
    for number, trained in enumerate(run):
        batches = batches_of(seeds if isinstance(seeds, int) else seeds[number])
        student = trained.settings
        truth, _ = plain_training(
            x, student, labels[student.labels], iterations=iterations, batches=batches, optimizer=optimizer
        )
        np.testing.assert_allclose(trained.network.logits(x), truth, rtol=0, atol=1e-8)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
@pytest.mark.parametrize("own", [False, True])
def test_students_of_many_shapes_equal_plain_networks(optimizer, classes, own):
    students = mixed()
    seeds = [student.seed % 4 for student in students] if own else 5
    check(students, seeds, optimizer=optimizer, classes=classes)


@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_one_shape_with_an_order_for_each_seed(optimizer, activation):
    students = [
        dataclasses.replace(student, seed=seed, learning_rate=0.1 + 0.1 * seed)
        for seed in range(3)
        for student in many(init="he", train_output=True, biases=True, activation=activation)
    ]
    check(students, [student.seed for student in students], optimizer=optimizer, classes=4)


def test_orders_with_unequal_numbers_of_students():
    students = [*many(width=4), *many(width=4)[:2], Student(width=4, seed=9, radius=0.5, learning_rate=0.3)]
    check(students, [0] * 6 + [1, 1, 2], optimizer="adam")


def test_activations_side_by_side():
    check([*many(), *many(activation="gelu"), *many(activation="erf", init="he")], 3, optimizer="adam")


@pytest.mark.parametrize("piece", [1, 10**9])
def test_learning_rates_in_pieces_and_in_a_buffer(piece, monkeypatch):
    monkeypatch.setattr(optimizers_module, "PIECE", piece)
    students = [
        dataclasses.replace(student, learning_rate=rate)
        for rate in (0.3, 0.01, 0.1)
        for student in many(width=5, init="he", train_output=True, biases=True)
    ]
    check(students, 2, optimizer="adam", schedule="constant")


def test_the_weights_of_rows_with_orders():
    x, labels = problem(n=ROWS)
    weights = np.random.default_rng(1).uniform(0, 3, ROWS)
    students = many(width=4, init="he")
    seeds = [k % 3 for k in range(len(students))]
    options = {"epochs": 2, "batch_size": BATCH, "sample_weight": weights, "options": DOUBLE}
    together = train_students(x, students, labels, seed=seeds, **options)
    for student, seed, trained in zip(students, seeds, together, strict=True):
        (alone,) = train_students(x, [student], labels, seed=seed, **options)
        torch.testing.assert_close(trained.network.hidden, alone.network.hidden, rtol=0, atol=1e-12)


@pytest.mark.parametrize("batch_size", [None, BATCH])
@pytest.mark.parametrize("widths", [(4,), (4, 6)])
def test_weights_of_every_student(widths, batch_size):
    """Each is trained as if it were alone with its weights, also after others have finished."""
    x, labels = problem(n=ROWS)
    students = [student for width in widths for student in many(width=width, init="he", train_output=True)]
    weights = np.random.default_rng(1).integers(0, 3, (ROWS, len(students)))
    options = {
        "epochs": 6, "batch_size": batch_size, "options": TrainingOptions(precision="float64", record_every=2),
        "validation": Validation(x, labels["hard"].decisions(), every=2, patience=2),
    }  # fmt: skip
    together = train_students(x, students, labels, sample_weight=weights, **options)
    assert len({trained.steps for trained in together}) > 1
    for number, trained in enumerate(together):
        (alone,) = train_students(x, [students[number]], labels, sample_weight=weights[:, number], **options)
        torch.testing.assert_close(trained.network.hidden, alone.network.hidden, rtol=0, atol=1e-10)
        np.testing.assert_allclose(trained.records["loss"], alone.records["loss"], rtol=0, atol=1e-10)


def test_weights_of_another_number_of_students_are_refused():
    x, labels = problem(n=ROWS)
    with pytest.raises(InputError, match=r"one column per student: 6 in all, got shape \(22, 2\)"):
        train_students(x, many(), labels, epochs=1, sample_weight=np.ones((ROWS, 2)))


@pytest.mark.parametrize("optimizer", ["gradient", "adam"])
def test_students_that_finish_leave_the_others_as_they_are(optimizer):
    x, labels = problem(n=ROWS)
    students = [*many(width=4, init="he", train_output=True), *many(width=7, init="he", train_output=True)]
    students = [dataclasses.replace(student, learning_rate=0.02 * (1 + k)) for k, student in enumerate(students)]
    seeds = [k % 2 for k in range(len(students))]
    options = {"epochs": 12, "batch_size": BATCH, "optimizer": optimizer, "options": DOUBLE,
               "validation": Validation(x, labels["hard"].decisions(), every=2, patience=4)}  # fmt: skip
    together = train_students(x, students, labels, seed=seeds, **options)
    assert len({trained.steps for trained in together}) > 2
    for student, seed, trained in zip(students, seeds, together, strict=True):
        (alone,) = train_students(x, [student], labels, seed=seed, **options)
        assert alone.steps == trained.steps
        torch.testing.assert_close(trained.network.hidden, alone.network.hidden, rtol=0, atol=1e-10)


@pytest.mark.skipif(not has_bfloat16(), reason="this processor has no bfloat16 products")
def test_bfloat16_follows_float32():
    x, labels = problem(n=ROWS, classes=4)
    students = [*many(width=8, init="he", train_output=True), *many(width=3, init="he", biases=True)]
    seeds = [k % 2 for k in range(len(students))]
    rounded, exact = (
        train_students(
            x, students, labels, iterations=6, batch_size=BATCH, seed=seeds, optimizer="gradient",
            options=TrainingOptions(precision=precision),
        )
        for precision in ("bfloat16", "float32")
    )  # fmt: skip
    for one, other in zip(rounded, exact, strict=True):
        moved = other.network.logits(x).std()
        assert np.abs(one.network.logits(x) - other.network.logits(x)).max() < 0.05 * moved + 0.02


def test_a_divergence_without_balls_is_noticed():
    x, labels = problem(n=ROWS)
    with pytest.raises(Exception, match="diverged at step"):
        train_students(
            1e3 * x, [Student(width=4, init="he", radius=None, learning_rate=1e36, train_output=True)], labels,
            epochs=40, batch_size=BATCH,
        )  # fmt: skip


def test_seeds_may_be_integers_of_numpy():
    x, labels = problem(n=ROWS)
    runs = [
        train_students(x, many(), labels, epochs=2, batch_size=BATCH, seed=seed)
        for seed in (3, np.int64(3), np.full(6, 3))
    ]
    for one, *others in zip(*runs, strict=True):
        assert all(torch.equal(one.network.hidden, other.network.hidden) for other in others)


def test_wrong_numbers_of_seeds_are_refused():
    x, labels = problem(n=ROWS)
    with pytest.raises(InputError, match="seed must be one integer, or one for each of the 6 students, got 2"):
        train_students(x, many(), labels, epochs=1, batch_size=4, seed=[1, 2])
