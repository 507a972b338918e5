"""Label arrays and sample weights as the tensors that training uses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from softlabel.errors import InputError, require, unknown
from softlabel.networks.losses import Labels, hard_labels
from softlabel.networks.students import Student


def labels_by_name(labels: Labels | Mapping[str, Labels] | Any) -> dict[str, Labels]:
    """Label arrays by name; a single array has the name "hard"."""
    arrays = labels if isinstance(labels, Mapping) else {"hard": labels}
    return {name: array if isinstance(array, Labels) else hard_labels(array) for name, array in arrays.items()}


def count_outputs(labels: Mapping[str, Labels], rows: int) -> int:
    """The common number of outputs of all label arrays; raises if lengths or numbers of classes differ."""
    for name, array in labels.items():
        if array.rows != rows:
            raise InputError(f"labels '{name}' have {array.rows} rows, inputs have {rows}; they must match row by row")
    outputs = {name: array.outputs for name, array in labels.items()}
    if len(set(outputs.values())) > 1:
        raise InputError(f"label arrays differ in the number of classes: {outputs} outputs")
    return next(iter(outputs.values()))


def checked_weights(sample_weight: Any, rows: int) -> np.ndarray:
    """Sample weights (rows,), of which at least one is positive."""
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError("sample_weight must be numeric, with one entry per row") from None
    require(
        weights.shape == (rows,),
        f"sample_weight must have one entry per row: {rows} rows, got shape {weights.shape}",
    )
    bad = np.flatnonzero(~((weights >= 0) & (weights < np.inf)))
    if len(bad):
        raise InputError(f"sample_weight must be finite and not negative, got {weights[bad[0]]} at row {bad[0]}")
    require(bool(weights.any()), "`sample_weight` is zero for every row: at least one weight must be positive")
    return weights


def mean_one(sample_weight: Any, rows: int, students: int, dtype: torch.dtype) -> Tensor:
    """Sample weights of all students (1, rows), or of each (students, rows), checked and scaled to mean 1."""
    shape = np.shape(sample_weight)
    if len(shape) == 2 and shape[1] != students:
        raise InputError(
            "sample_weight must have one entry per row, or one column per student: "
            f"{students} in all, got shape {shape}"
        )
    columns = np.asarray(sample_weight).T if len(shape) == 2 else [sample_weight]
    tables = []
    for column in columns:
        weights = checked_weights(column, rows)
        weights = weights / weights.max()  # so that no sum overflows
        tables.append(weights / weights.mean())
    return torch.from_numpy(np.stack(tables)).to(dtype)


def weights_of(sample_weight: Tensor, members: Sequence[int]) -> Tensor:
    """The weights (1 or students, rows) of some students, or those that all have."""
    return sample_weight if len(sample_weight) == 1 else sample_weight[list(members)]


def target_tensors(
    labels: Mapping[str, Labels], students: Sequence[Student], dtype: torch.dtype
) -> tuple[Tensor, list[int]]:
    """Distinct target distributions (distinct, outputs, n), and the index of each student's distribution."""
    distinct: dict[tuple[str, float, float], int] = {}
    tables, rows = [], []
    for student in students:
        if student.labels not in labels:
            raise unknown("label array", student.labels, labels)
        key = (student.labels, student.temperature, student.smoothing)
        if key not in distinct:
            distinct[key] = len(tables)
            table = labels[student.labels].targets(student.temperature, student.smoothing)
            tables.append(torch.from_numpy(np.ascontiguousarray(table)).to(dtype))
        rows.append(distinct[key])
    return torch.stack(tables), rows


def hard_decisions(labels: Mapping[str, Labels], dtype: torch.dtype) -> Tensor | None:
    """The decisions of the first hard label array, by which errors are counted; None if there is no such array."""
    for array in labels.values():
        if array.kind == "hard":
            return torch.from_numpy(array.decisions()).to(dtype if array.outputs == 1 else torch.long)
    return None
