"""A problem together with its teacher's predictions: what students learn from, as an artifact of a run."""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import softmax

from softlabel.data.encoding import TableEncoder
from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.errors import require
from softlabel.networks import Labels, hard_labels
from softlabel.teachers.predictions import TeacherPredictions, student_logits

if TYPE_CHECKING:
    import polars

EXAMPLES = 256
PARTS = ("train", "validation", "test")
ARTIFACT = "problem"  # name under which the work on a bundle finds it


def artifact_name(fold: int, folds: int) -> str:
    """Name under which the work on a bundle finds the problem of a fold."""
    return ARTIFACT if folds <= 1 else f"{ARTIFACT} {fold}"


@dataclass(frozen=True, eq=False)
class TaughtRows:
    """Scaled inputs (n, d), class numbers (n,), and the teacher's logits (n, K), NaN where it predicts nothing."""

    X: np.ndarray
    y: np.ndarray
    logits: np.ndarray

    @cached_property
    def teacher_probabilities(self) -> np.ndarray | None:
        """(n, K); None where the teacher does not predict every row."""
        return softmax(self.logits, axis=1) if np.isfinite(self.logits[:, 0]).all() else None


@dataclass(frozen=True, eq=False)
class TaughtProblem:
    """The rows of every part with the teacher's predictions, and what an exported student needs to know.

    unlabeled       further rows with the teacher's predictions alone
    columns         names of the columns before scaling, which an encoder may have made
    image_shape     (channels, height, width) of a row, for problems of images
    encoder         makes numbers of the columns of a table with text, categories, dates or missing values
    example         some test rows before scaling, by which an exported student is checked; with an encoder they are raw
    """

    train: TaughtRows
    validation: TaughtRows
    test: TaughtRows
    classes: tuple[str, ...]
    scaler: Scaler
    columns: tuple[str, ...] | None = None
    image_shape: tuple[int, ...] | None = None
    unlabeled: TaughtRows | None = None
    example: "np.ndarray | polars.DataFrame | None" = None
    name: str = "data"
    encoder: TableEncoder | None = None

    @classmethod
    def from_predictions(
        cls, problem: Problem, predictions: TeacherPredictions, unlabeled: np.ndarray | None = None
    ) -> "TaughtProblem":
        """The problem with its teacher's predictions; the teacher must predict every training row."""
        require(
            (unlabeled is None) == (predictions.transfer is None),
            "unlabeled rows and the teacher's predictions on them go together",
        )
        missing = int((~predictions.known[problem.train.rows]).sum())
        require(missing == 0, f"the teacher predicts nothing for {missing} training rows; it must predict all of them")
        rows = {
            name: TaughtRows(part.scaled, part.y, predictions.logits[part.rows])
            for name in PARTS
            for part in [problem.part(name)]
        }
        extra = None
        if unlabeled is not None and predictions.transfer is not None:
            extra = TaughtRows(problem.scaler.apply(unlabeled), np.full(len(unlabeled), -1), predictions.transfer)
        return cls(
            **rows, classes=problem.classes, scaler=problem.scaler, columns=problem.columns,
            image_shape=problem.image_shape, unlabeled=extra, example=_example(problem), name=problem.name,
            encoder=problem.encoder,
        )  # fmt: skip

    def part(self, name: str) -> TaughtRows:
        """The rows of "train", "validation" or "test"."""
        return {"train": self.train, "validation": self.validation, "test": self.test}[name]

    @cached_property
    def extended(self) -> np.ndarray:
        """Scaled training inputs, and below them the unlabeled ones."""
        assert self.unlabeled is not None
        return np.concatenate([self.train.X, self.unlabeled.X])

    def labels(self, extended: bool = False) -> dict[str, Labels]:
        """Labels of the training rows; of the extended rows the teacher's alone."""
        soft = student_logits(self.train.logits)
        if not extended:
            return {"hard": hard_labels(self.train.y), "soft": Labels("logits", soft)}
        assert self.unlabeled is not None
        return {"soft": Labels("logits", np.concatenate([soft, student_logits(self.unlabeled.logits)]))}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """All of it as arrays by name, for an artifact."""
        about = {
            "classes": self.classes, "scaler": asdict(self.scaler), "columns": self.columns,
            "image_shape": self.image_shape, "name": self.name,
            **({} if self.encoder is None else {"encoder": self.encoder.to_dict()}),
        }  # fmt: skip
        arrays = {"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}
        parts = {name: self.part(name) for name in PARTS}
        for name, rows in (parts | ({} if self.unlabeled is None else {"unlabeled": self.unlabeled})).items():
            arrays |= {f"{name}.X": rows.X, f"{name}.y": rows.y, f"{name}.logits": rows.logits}
        if self.example is None or isinstance(self.example, np.ndarray):
            return arrays if self.example is None else arrays | {"example": self.example}
        content = io.BytesIO()
        self.example.write_ipc(content)
        return arrays | {"example.frame": np.frombuffer(content.getvalue(), dtype=np.uint8)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "TaughtProblem":
        """The inverse of `to_arrays`."""
        about = json.loads(bytes(arrays["about"]))
        rows: dict[str, Any] = {
            name: TaughtRows(arrays[f"{name}.X"], arrays[f"{name}.y"], arrays[f"{name}.logits"])
            for name in (*PARTS, *(("unlabeled",) if "unlabeled.X" in arrays else ()))
        }
        columns, shape, scaler = about["columns"], about["image_shape"], about["scaler"]
        return cls(
            **rows, classes=tuple(about["classes"]),
            scaler=Scaler(scaler["how"], scaler["factor"], tuple(scaler["shift"]), tuple(scaler["spread"])),
            columns=None if columns is None else tuple(columns), image_shape=None if shape is None else tuple(shape),
            example=_stored_example(arrays), name=about["name"],
            encoder=TableEncoder.from_dict(about["encoder"]) if "encoder" in about else None,
        )  # fmt: skip


def _example(problem: Problem) -> "np.ndarray | polars.DataFrame":
    """Some test rows before scaling; of a table with an encoder, its raw columns."""
    if problem.encoder is None or problem.table is None:
        return problem.test.X[:EXAMPLES]
    return problem.table[problem.test.rows[:EXAMPLES]].select(problem.encoder.columns)


def _stored_example(arrays: Mapping[str, np.ndarray]) -> "np.ndarray | polars.DataFrame | None":
    import polars as pl

    if "example.frame" not in arrays:
        return arrays.get("example")
    return pl.read_ipc(io.BytesIO(bytes(arrays["example.frame"])))
