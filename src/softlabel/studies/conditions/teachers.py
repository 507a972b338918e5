"""Teachers of conditions: two-layer networks, deeper ones, ensembles of them, and the limit of infinite width."""

import math
from itertools import pairwise

import numpy as np
import torch
from torch import nn

from softlabel.networks import Student, Validation, hard_labels, train_students
from softlabel.networks.deep import DeepTraining, Images, network_logits, train_network
from softlabel.studies.conditions.problem import ConditionRows, Rows
from softlabel.studies.conditions.settings import ConditionTeacher
from softlabel.theory.kernel import kernel_matrix

BATCH_SIZE, LEARNING_RATE, DEEP_LEARNING_RATE = 128, 0.03, 1e-3
FEWEST_STEPS = 1000  # on few rows a teacher is trained for more epochs
RIDGES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of kernel regression, in units of the mean of the kernel's diagonal
KERNEL_ROWS, BLOCK = 6000, 8192  # most rows of kernel regression, and rows that it predicts at once
MEMBER_SEEDS = 1000  # the further members of an ensemble have seeds of their own


def teacher_outputs(
    teacher: ConditionTeacher, rows: ConditionRows, epochs: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Logits on training, validation and test rows: (n,) for two classes, (n, K) for more."""
    epochs = max(epochs, math.ceil(FEWEST_STEPS * BATCH_SIZE / len(rows.train.y)))
    if teacher.width is None:
        return _kernel_regression(rows, seed)
    train = _two_layer if teacher.depth == 1 else _deep
    members = [
        train(teacher, rows, epochs, seed if member == 0 else MEMBER_SEEDS * (seed + 1) + member)
        for member in range(teacher.members)
    ]
    first, second, third = (np.mean(logits, axis=0) for logits in zip(*members, strict=True))
    return first, second, third


def _two_layer(
    teacher: ConditionTeacher, rows: ConditionRows, epochs: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    assert teacher.width is not None
    steps = math.ceil(len(rows.train.y) / BATCH_SIZE)
    student = Student(width=teacher.width, seed=seed, init="he", radius=None, learning_rate=LEARNING_RATE,
                      train_output=True, biases=True)  # fmt: skip
    validation = Validation(rows.validation.X, rows.validation.y, every=max(1, epochs * steps // 15), patience=15)
    run = train_students(rows.train.X, [student], rows.hard, epochs=epochs, batch_size=BATCH_SIZE, seed=seed,
                         optimizer="adam", schedule="cosine", validation=validation)  # fmt: skip
    network = run[0].network
    return network.logits(rows.train.X), network.logits(rows.validation.X), network.logits(rows.test.X)


def _deep(
    teacher: ConditionTeacher, rows: ConditionRows, epochs: int, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A network with several hidden layers of one width."""
    assert teacher.width is not None
    parts = [_as_images(part, rows) for part in (rows.train, rows.validation, rows.test)]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        sizes = [rows.train.X.shape[1], *[teacher.width] * teacher.depth]
        layers = [layer for a, b in pairwise(sizes) for layer in (nn.Linear(a, b), nn.ReLU())]
        network = nn.Sequential(nn.Flatten(), *layers, nn.Linear(sizes[-1], rows.classes))
    training = DeepTraining(epochs=epochs, patience=epochs, batch_size=BATCH_SIZE, learning_rate=DEEP_LEARNING_RATE,
                            weight_decay=0.0, seed=seed)  # fmt: skip
    trained = train_network(network, parts[0], parts[1], training).network
    first, second, third = (_one_column(network_logits(trained, part.pixels).numpy()) for part in parts)
    return first, second, third


def _as_images(part: Rows, rows: ConditionRows) -> Images:
    pixels = np.sqrt(part.X.shape[1]) * part.X[:, None, None, :]  # entries of size about 1
    return Images.from_arrays(pixels.astype(np.float32), part.y, rows.classes, layout="channels_first")


def _one_column(logits: np.ndarray) -> np.ndarray:
    return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits


def _kernel_regression(rows: ConditionRows, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ridge regression of the labels with K_1, the kernel of an infinitely wide hidden layer; ridge by validation."""
    x, y = rows.train.X, rows.train.y
    if len(y) > KERNEL_ROWS:
        chosen = np.sort(np.random.default_rng(seed).permutation(len(y))[:KERNEL_ROWS])
        x, y = x[chosen], y[chosen]
    labels = hard_labels(y).values
    targets = labels if labels.ndim == 2 else labels[:, None]
    values, vectors = np.linalg.eigh(kernel_matrix(x, x).astype(np.float64))
    turned = vectors.T @ targets
    unit = float(values.mean())
    validation = kernel_matrix(rows.validation.X, x)
    truth = hard_labels(rows.validation.y).values
    weights = min(
        (vectors @ (turned / (values + ridge * unit)[:, None]) for ridge in RIDGES),
        key=lambda weights: float(np.mean((validation @ weights - truth.reshape(len(truth), -1)) ** 2)),
    )

    def predict(inputs: np.ndarray) -> np.ndarray:
        blocks = np.array_split(inputs, 1 + len(inputs) // BLOCK)
        outputs = np.concatenate([kernel_matrix(block, x) @ weights for block in blocks])
        return outputs[:, 0] if outputs.shape[1] == 1 else outputs

    return predict(rows.train.X), predict(rows.validation.X), predict(rows.test.X)
