"""The result of `distill`: the students, their scores beside the teacher's, and exported files."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from softlabel.networks.deep import DeepTraining, Objective
from softlabel.networks.deep.prepared import Prepared
from softlabel.networks.softening import PROBABILITIES, Softening
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.report.result import ReportedResult
from softlabel.studies.students.sizes import SizeComparison

HEADER = ("", "accuracy", "agreement", "KL", "calibration error", "parameters", "ms/image")


@dataclass(frozen=True)
class TeacherScores:
    """The teacher on the test images; None is unknown.

    Attributes
    ----------
    accuracy, loss, calibration_error : float or None
        Accuracy, mean cross-entropy and expected calibration error.
    parameters : int or None
        Number of parameters.
    milliseconds : float or None
        Median milliseconds for one image on this machine.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.TeacherScores(accuracy=0.97, parameters=120_000).milliseconds is None
    True
    """

    accuracy: float | None = None
    loss: float | None = None
    calibration_error: float | None = None
    parameters: int | None = None
    milliseconds: float | None = None


@dataclass(frozen=True)
class DistilledArm:
    """One student on the test images.

    Attributes
    ----------
    accuracy, loss, calibration_error : float
        Accuracy, mean cross-entropy and expected calibration error.
    agreement, kl : float or None
        Share of images with the teacher's prediction, and mean KL(teacher ‖ student); None if the teacher's
        predictions for the test images are unknown.
    validation_accuracy : float
        Accuracy on the validation images at the best epoch.
    epochs, best_epoch : int
        Number of epochs, and the one whose weights were kept.
    parameters : int
        Number of parameters.
    milliseconds : float
        Median milliseconds for one image on this machine.
    softening : Softening
        Temperature and smoothing of the labels that the outputs imitate.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.distill("digits", "vgg8+3", "vgg2+3")  # doctest: +SKIP
    >>> result.arms["hard"].probabilities_are  # doctest: +SKIP
    'probabilities'
    """

    accuracy: float
    loss: float
    calibration_error: float
    agreement: float | None
    kl: float | None
    validation_accuracy: float
    epochs: int
    best_epoch: int
    parameters: int
    milliseconds: float
    softening: Softening

    @property
    def probabilities_are(self) -> str:
        """What the outputs are: "probabilities", or for example "softened (label temperature 4)"."""
        return self.softening.meaning

    def to_dict(self) -> dict[str, Any]:
        """The arm as JSON values."""
        values = {name: value for name, value in vars(self).items() if name != "softening"}
        return values | {"probabilities_are": self.probabilities_are, **self.softening.to_dict()}


@dataclass(frozen=True)
class ExportedStudent:
    """Files of a student.

    Attributes
    ----------
    onnx : Path
        The student as ONNX.
    onnx_parity : float
        Largest difference between the outputs of the ONNX file and of the network.
    bytes : int
        Size of the ONNX file.
    weights : Path or None
        The student as safetensors; None for a network that cannot be built by name.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.distill("digits", "vgg8+3", "vgg2+3", out="runs/digits")  # doctest: +SKIP
    >>> result.exported["soft"].onnx.name  # doctest: +SKIP
    'soft.onnx'
    """

    onnx: Path
    onnx_parity: float
    bytes: int
    weights: Path | None = None

    def to_dict(self) -> dict[str, Any]:
        """The files as JSON values."""
        weights = {} if self.weights is None else {"weights": str(self.weights)}
        return {"onnx": str(self.onnx), "onnx_parity": self.onnx_parity, **weights, "bytes": self.bytes}


@dataclass(eq=False, repr=False)
class Distillation(ReportedResult):
    """Students that learned from hard labels, smoothed labels and a teacher.

    Attributes
    ----------
    dataset, student : str
        Names of the data and of the student's network.
    images : dict
        Numbers of training, validation and test images, their shape, and the number of classes.
    teacher : TeacherScores
        The teacher on the test images.
    arms : dict of str to DistilledArm
        "hard", "soft" and, with label smoothing, "smooth".
    students : dict of str to torch.nn.Module
        The trained networks, which take pixels in [0, 1], by arm.
    exported : dict of str to ExportedStudent
        Files by arm; empty without a run directory.
    warnings : list of str
        What limits the result.
    report : None
        There is no page.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> y = np.arange(60) % 2
    >>> pixels = (np.random.default_rng(0).random((60, 1, 8, 8)) + y[:, None, None, None]) / 2
    >>> options = sl.DistillOptions(width_multiplier=0.1, teacher_width_multiplier=0.2, progress=False)
    >>> training = sl.DeepTraining(epochs=2)
    >>> result = sl.distill((pixels, y), "vgg1+3", "vgg1+3", training=training, options=options)
    >>> result.arms["soft"].parameters < result.teacher.parameters
    True
    """

    dataset: str
    student: str
    images: dict[str, Any]
    teacher: TeacherScores
    arms: dict[str, DistilledArm]
    students: dict[str, Prepared]
    precision: dict[str, Any]
    training: DeepTraining
    objective: Objective
    exported: dict[str, ExportedStudent] = field(default_factory=dict)

    @property
    def size(self) -> SizeComparison:
        """Parameters of a student compared with those of the teacher."""
        return SizeComparison(self.arms["soft"].parameters, self.teacher.parameters)

    @property
    def warnings(self) -> list[str]:
        warning, teacher, hard = self.size.warning(), self.teacher.accuracy, self.arms["hard"].accuracy
        warnings = [] if warning is None else [warning]
        if teacher is not None and teacher < hard:
            warnings.append(
                f"the teacher is worse than a student without it: {teacher:.2%} of the test images correct, the "
                f"student on hard labels {hard:.2%}; train the teacher for more epochs, or use another one"
            )
        return warnings

    def to_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.dataset,
            "student": self.student,
            "images": self.images,
            "teacher": asdict(self.teacher),
            "arms": {arm: scores.to_dict() for arm, scores in self.arms.items()},
            "precision": self.precision,
            "training": asdict(self.training),
            "objective": asdict(self.objective),
            "exported": {arm: files.to_dict() for arm, files in self.exported.items()},
            "size": self.size.to_dict(),
            "warnings": self.warnings,
        }

    @property
    def summary(self) -> list[str]:
        hard, soft = self.arms["hard"].accuracy, self.arms["soft"].accuracy
        return [
            f"Soft labels: {soft:.2%} of the test images correct, hard labels: {hard:.2%} "
            f"({100 * (soft - hard):+.2f} points; one run each, other seeds may reverse this result).",
            *(f"Warning: {warning}." for warning in self.warnings),
            *(
                f"Outputs of the arm '{arm}' are {scores.probabilities_are}, not probabilities."
                for arm, scores in self.arms.items()
                if scores.probabilities_are != PROBABILITIES
            ),
            *(
                f"{arm}: {files.onnx} ({files.bytes:,} bytes, parity {files.onnx_parity:.1e})"
                for arm, files in self.exported.items()
            ),
        ]

    @property
    def table(self) -> Table:
        """Scores of the teacher and of every arm."""

        def number(value: float | None, form: str) -> str:
            return "–" if value is None else format(value, form)

        rows = [
            [name, number(scores.accuracy, ".2%"), number(getattr(scores, "agreement", None), ".2%"),
             number(getattr(scores, "kl", None), ".3f"), number(scores.calibration_error, ".3f"),
             number(scores.parameters, ",d"), number(scores.milliseconds, ".2f")]
            for name, scores in (("teacher", self.teacher), *self.arms.items())
        ]  # fmt: skip
        title = f"{self.dataset}, student {self.student}: {self.images['test']:,} test images"
        return Table(title, "Agreement and KL compare a student with the teacher.", HEADER, rows)

    @property
    def chart(self) -> Chart:
        """Test accuracy of the teacher and of every arm."""
        accuracies = {"teacher": self.teacher.accuracy} | {arm: scores.accuracy for arm, scores in self.arms.items()}
        series = [
            Series(name, [name], [100 * accuracy], role=name if name in ("teacher", "hard", "soft") else "other")
            for name, accuracy in accuracies.items()
            if accuracy is not None
        ]
        panel = Panel(f"{self.images['test']:,} test images", series, y_label="accuracy (%)")
        title = f"{self.dataset}: {self.student} on hard and soft labels"
        return Chart("distill", title, "Test accuracy, one run per arm.", [panel])
