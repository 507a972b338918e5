"""Data sets with a dialed margin: classes at a small angle, 2-XOR in more dimensions, images mixed with others."""

import itertools
from dataclasses import dataclass

import numpy as np

from softlabel.studies.conditions.problem import condition_rows
from softlabel.studies.conditions.settings import Condition

TEST_ROWS = 1000
IMAGE_ROWS = 6000  # from which images are drawn


@dataclass(frozen=True, eq=False)
class DialedRows:
    """Inputs of norm 1 and labels ±1, for training and test."""

    X: np.ndarray
    y: np.ndarray
    test_X: np.ndarray
    test_y: np.ndarray


def angled_pairs(pairs: int, dimension: int, rows: int, angle: float, seed: int) -> DialedRows:
    """Points of norm 1 around `pairs` random directions u, in a random plane (u, w) for each.

    A point lies at an angle between angle/2 and angle from u, toward w (label +1) or away from it (−1), so that
    opposite classes are at least `angle` apart. The margin is about proportional to the angle.
    """
    rng = np.random.default_rng(seed)
    frames = [np.linalg.qr(rng.standard_normal((dimension, 2)))[0].T for _ in range(pairs)]

    def draw(count: int) -> tuple[np.ndarray, np.ndarray]:
        pair, y = np.arange(count) % pairs, np.where(np.arange(count) // pairs % 2 == 0, 1.0, -1.0)
        turn = y * rng.uniform(angle / 2, angle, count)
        frame = np.stack([frames[k] for k in pair])  # (count, 2, dimension)
        return np.cos(turn)[:, None] * frame[:, 0] + np.sin(turn)[:, None] * frame[:, 1], y

    return DialedRows(*draw(rows), *draw(TEST_ROWS))


def full_xor(dimension: int) -> DialedRows:
    """2-XOR: (±s, 0) has label +1 and (0, ±s) label −1, all other coordinates are ±s, s = 1/√(d − 1); all 2^d points.

    Ji and Telgarsky's example of data whose margin falls with the dimension. The test points are the training points.
    """
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=dimension - 1))) / np.sqrt(dimension - 1)
    first, second = (np.insert(signs, column, 0.0, axis=1) for column in (1, 0))
    x, y = np.concatenate([first, second]), np.repeat((1.0, -1.0), len(signs))
    return DialedRows(x, y, x, y)


def mixed_images(data: str, task: str, rows: int, mix: float, seed: int) -> DialedRows:
    """Images of norm 1, each mixed with its nearest image of the other class: (1 − mix)·x + mix·x'.

    With a mix of 0 the images are unchanged; from 0.5 on they would look like the other class. Test images are mixed
    with the nearest training images of the other class.
    """
    known = condition_rows(Condition(name="", data=data, task=task, rows=IMAGE_ROWS), seed)
    x, y = _unit(known.train.X.astype(np.float64)), np.where(known.train.y == 1, 1.0, -1.0)
    chosen = np.concatenate([np.flatnonzero(y == side)[: rows // 2] for side in (-1, 1)])
    x, y = x[chosen], y[chosen]
    test_x = _unit(known.test.X[:TEST_ROWS].astype(np.float64))
    test_y = np.where(known.test.y[:TEST_ROWS] == 1, 1.0, -1.0)
    return DialedRows(_mixed(x, y, x, y, mix), y, _mixed(test_x, test_y, x, y, mix), test_y)


def _mixed(inputs: np.ndarray, labels: np.ndarray, x: np.ndarray, y: np.ndarray, mix: float) -> np.ndarray:
    similar = np.where(labels[:, None] == y[None, :], -np.inf, inputs @ x.T)
    return _unit((1 - mix) * inputs + mix * x[similar.argmax(1)])


def _unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)
