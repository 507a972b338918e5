"""What a teacher predicts for the rows of a problem."""

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from softlabel.errors import require
from softlabel.networks.losses import Labels
from softlabel.teachers.reading import check_kind

TIMED, TIMED_SECONDS = 30, 1.0


@dataclass(frozen=True, eq=False)
class TeacherPredictions:
    """A teacher's predictions for every row of a problem, as logits.

    Attributes
    ----------
    logits : ndarray of shape (n, K), float64
        Rows without a prediction are NaN.
    description : str
        The teacher in one line.
    kind : {"logits", "probabilities"}
        What the teacher itself returns; see `softlabel.teachers.reading`.
    out_of_fold : bool
        Whether training rows were labeled by models that were not trained on them.
    transfer : ndarray of shape (u, K), optional
        Logits for unlabeled rows.
    seconds : float
        Time spent on training and querying.
    milliseconds : float, optional
        Median time for one row on this machine.
    parameters : int, optional
        Number of parameters of the teacher.
    notes : tuple of str
        Remarks on how the predictions were read.

    Examples
    --------
    >>> import numpy as np
    >>> from softlabel.teachers.predictions import TeacherPredictions
    >>> predictions = TeacherPredictions(np.array([[0.0, 2.0], [1.0, 0.0]]), "example", "logits")
    >>> predictions.probabilities.round(2)
    array([[0.12, 0.88],
           [0.73, 0.27]])
    """

    logits: np.ndarray
    description: str
    kind: str
    out_of_fold: bool = False
    transfer: np.ndarray | None = None
    seconds: float = 0.0
    milliseconds: float | None = None
    parameters: int | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = self.logits.shape
        require(len(shape) == 2 and shape[1] >= 2, f"a teacher's logits must be (rows, classes ≥ 2), got {shape}")
        complete = np.isfinite(self.logits).all(axis=1) | np.isnan(self.logits).all(axis=1)
        require(
            bool(complete.all()),
            f"a teacher's logits must be finite, or NaN in the entire row; see row {np.argmin(complete) + 1}",
        )
        check_kind(self.kind)
        if self.transfer is not None:
            require(
                self.transfer.ndim == 2 and self.transfer.shape[1] == shape[1],
                f"a teacher's logits for unlabeled rows must have {shape[1]} columns, got shape {self.transfer.shape}",
            )
            require(bool(np.isfinite(self.transfer).all()), "a teacher's logits for unlabeled rows must be finite")

    def __repr__(self) -> str:
        rows, classes = self.logits.shape
        return f"<TeacherPredictions: {rows:,} rows, {classes} classes, {self.kind}; {self.description}>"

    @cached_property
    def known(self) -> np.ndarray:
        """(n,) whether there is a prediction for the row."""
        return np.isfinite(self.logits[:, 0])

    @cached_property
    def probabilities(self) -> np.ndarray:
        """(n, K), rows adding up to 1; NaN where there is no prediction."""
        return softmax(self.logits, axis=1)

    def labels(self, rows: np.ndarray) -> Labels:
        """Soft labels of these rows: log-odds (n,) for two classes, logits (n, K) for more."""
        unknown = ~self.known[rows]
        require(
            not unknown.any(),
            f"the teacher has no prediction for {unknown.sum()} of {len(unknown)} rows that are to be learned from it",
        )
        return Labels("logits", student_logits(self.logits[rows]))

    @cached_property
    def fingerprint(self) -> str:
        """Identity of logits and transfer logits."""
        digest = hashlib.sha256()
        for table in (self.logits, self.transfer):
            digest.update(b"none" if table is None else repr(table.shape).encode())
            if table is not None:
                digest.update(np.ascontiguousarray(table, dtype=np.float64).data)
        return digest.hexdigest()[:20]


def student_logits(logits: np.ndarray) -> np.ndarray:
    """Logits (n, K) in the form of a student's outputs: one column, log p₁ − log p₀, for two classes."""
    return logits[:, 1] - logits[:, 0] if logits.shape[1] == 2 else logits


def teacher_columns(outputs: np.ndarray) -> np.ndarray:
    """The converse: a network's outputs, (n,) log-odds or (n, K), as logits (n, K) float64."""
    outputs = np.asarray(outputs, dtype=np.float64)
    return np.stack([np.zeros(len(outputs)), outputs], axis=1) if outputs.ndim == 1 else outputs


def call_milliseconds(call: Callable[[], Any]) -> float:
    """Median milliseconds of one call, over 30 of them or as many as fit into a second."""
    times: list[float] = []
    while len(times) < TIMED and sum(times) < TIMED_SECONDS:
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return float(np.median(times) * 1000)
