"""Early stopping on validation data, student by student."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from softlabel.errors import InputError, require
from softlabel.networks.fused import FusedPass
from softlabel.networks.losses import hard_labels, mistakes
from softlabel.networks.stack import Stack
from softlabel.networks.two_layer import TwoLayer
from softlabel.numerics import Products, prepare_inputs


@dataclass(frozen=True, eq=False)
class Validation:
    """Early stopping on validation data.

    A student stops after `patience` consecutive checks without a lower validation error, and keeps the weights of its
    best check. The error is the fraction of mistakes with respect to hard labels, whatever labels the student learns.

    Parameters
    ----------
    inputs : array-like of shape (n, d)
        Validation inputs, scaled as the training inputs.
    labels : array-like of shape (n,)
        Hard labels, as for `hard_labels`.
    every : int, default=1
        Number of steps between checks.
    patience : int, default=10
        Number of checks without a lower error after which a student stops.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> x = np.random.default_rng(0).standard_normal((100, 5))
    >>> y = np.where(x[:, 0] > 0, 1, -1)
    >>> validation = sl.Validation(x[80:], y[80:], every=5, patience=3)
    >>> run = sl.train_students(x[:80], [sl.Student(width=8)], y[:80], iterations=500, validation=validation)
    >>> run[0].stopped, run[0].steps < 500
    ('validation', True)
    """

    inputs: Any
    labels: Any
    every: int = 1
    patience: int = 10

    def __post_init__(self) -> None:
        require(self.every >= 1, f"validation: `every` must be at least 1 step, got {self.every}")
        require(self.patience >= 1, f"validation: `patience` must be at least 1 check, got {self.patience}")


@dataclass(frozen=True, eq=False)
class Best:
    """A student's best check so far."""

    step: int
    error: float
    network: TwoLayer


class EarlyStopping:
    """Keeps the best network of each student, and finds the students that no longer improve."""

    def __init__(self, validation: Validation, stack: Stack, products: Products, biases: bool) -> None:
        labels = hard_labels(validation.labels)
        self.validation = validation
        self.inputs = prepare_inputs(
            validation.inputs, bias=biases, dtype=products.input_dtype, rotate=False, compact=False
        )
        if labels.rows != self.inputs.rows:
            raise InputError(f"validation labels have {labels.rows} rows, validation inputs have {self.inputs.rows}")
        require(
            self.inputs.dimension == stack.inputs.dimension,
            f"validation inputs must have {stack.inputs.dimension} columns as in training, got {self.inputs.dimension}",
        )
        truth = torch.from_numpy(labels.decisions())
        self.truth = truth.to(products.dtype) if labels.outputs == 1 else truth
        self.fused = FusedPass(products)
        self.best: dict[int, Best] = {}
        self._waited: dict[int, int] = {}

    def check(self, stack: Stack, step: int) -> Sequence[int]:
        """Measure all students in training; return those whose patience is exhausted."""
        errors = self._errors(stack)
        done = []
        for member, error in errors.items():
            if member not in self.best or error < self.best[member].error:
                self.best[member] = Best(step, error, stack.network(member))
                self._waited[member] = 0
            else:
                self._waited[member] += 1
                if self._waited[member] >= self.validation.patience:
                    done.append(member)
        return done

    def _errors(self, stack: Stack) -> dict[int, float]:
        full = stack.full_weights()
        weights = torch.zeros(2, stack.rows, self.inputs.columns, dtype=full.dtype)
        weights[..., : full.shape[-1]] = full
        wrong = torch.zeros(len(stack.members), dtype=torch.float64)
        for rows, outputs, _ in self.fused.logits(stack, self.inputs, weights):
            wrong += torch.cat([mistakes(logits, self.truth[rows]).sum(1) for logits in outputs])
        return dict(zip(stack.members, (wrong / self.inputs.rows).tolist(), strict=True))
