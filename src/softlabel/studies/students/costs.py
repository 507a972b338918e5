"""Rough costs of training students, for the estimate of the time that a run still takes."""

import math
from typing import Any

from softlabel.data.problem import Problem
from softlabel.lab import Bundle
from softlabel.studies.students.recipe import TOGETHER

OVERHEAD = 200.0  # of a bundle, in neurons
FLOPS = 1e10  # floating-point operations per second, guessed before anything is measured


def student_cost(bundle: Bundle, epochs: int) -> float:
    """Cost of a bundle of students: their sizes, by how long they are trained, and something for the bundle itself.

    epochs      of the recipe, which a cell may exceed
    """
    cells: Any = bundle.cells
    return OVERHEAD + sum(float(cell.width) * (cell.epochs or epochs) / epochs for cell in cells)


def seeds_cost(seeds: int, sizes: float) -> float:
    """Cost of this many seeds of students whose sizes add up to `sizes`; a few seeds share a bundle."""
    return max(0, seeds) * sizes + OVERHEAD * math.ceil(max(0, seeds) / TOGETHER)


def student_pace(problem: Problem, settings: Any) -> float | None:
    """Seconds per neuron of a two-layer student; None for other families."""
    if getattr(settings, "student", getattr(settings, "family", "two-layer")) != "two-layer":
        return None
    return 6.0 * len(problem.train) * problem.X.shape[1] * settings.recipe.epochs / FLOPS
