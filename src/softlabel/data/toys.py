"""Points in the plane with two classes, generated: data on which a decision boundary can be drawn.

The same numbers come from every run and on every machine. The classes overlap a little, so that soft labels differ from
hard ones.
"""

from collections.abc import Callable

import numpy as np

ROWS, SEED = 1000, 0


def moons() -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that reach into each other: points (n, 2) and labels (n,)."""
    from sklearn.datasets import make_moons

    points, labels = make_moons(ROWS, noise=0.25, random_state=SEED)
    return np.asarray(points), np.asarray(labels)


def circles() -> tuple[np.ndarray, np.ndarray]:
    """A circle inside another: points (n, 2) and labels (n,)."""
    from sklearn.datasets import make_circles

    points, labels = make_circles(ROWS, noise=0.12, factor=0.5, random_state=SEED)
    return np.asarray(points), np.asarray(labels)


def xor() -> tuple[np.ndarray, np.ndarray]:
    """Four groups around (±1, ±1), labeled by whether the signs of the center differ: points (n, 2), labels (n,)."""
    rng = np.random.default_rng(SEED)
    group = np.arange(ROWS) % 4
    centers = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0], [-1.0, 1.0]])
    return centers[group] + 0.5 * rng.standard_normal((ROWS, 2)), group % 2


TOYS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {"moons": moons, "circles": circles, "xor": xor}
