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
    """Held-out rows with hard labels, checked every `every` steps.

    A student leaves after `patience` checks in a row without a lower error, and keeps its best weights.
    Every arm is judged by the same thing, the error against hard labels.
    """

    inputs: Any
    labels: Any
    every: int = 1
    patience: int = 10

    def __post_init__(self) -> None:
        require(self.every >= 1, f"validation: every must be ≥ 1 steps, got {self.every}")
        require(self.patience >= 1, f"validation: patience must be ≥ 1 checks, got {self.patience}")


@dataclass(frozen=True, eq=False)
class Best:
    step: int
    error: float
    network: TwoLayer


class EarlyStopping:
    """Keeps each student's best network so far, and says who has stopped improving."""

    def __init__(self, validation: Validation, stack: Stack, products: Products, biases: bool) -> None:
        labels = hard_labels(validation.labels)
        self.validation = validation
        self.inputs = prepare_inputs(
            validation.inputs, bias=biases, dtype=products.input_dtype, rotate=False, compact=False
        )
        if labels.rows != self.inputs.rows:
            raise InputError(f"validation labels have {labels.rows} rows, its inputs have {self.inputs.rows}")
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
        """Measure everyone in training; returns those whose patience is at its end."""
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
