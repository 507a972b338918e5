"""`train`: two-layer students on hard or soft labels, several widths and seeds in one pass over the data."""

import hashlib
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import DivergedError, require, unknown
from softlabel.lab import claim_run_dir
from softlabel.lab.writable import check_directory
from softlabel.networks import Labels, Student, TrainingOptions, TrainingRun, TwoLayer, hard_labels, train_students
from softlabel.networks import soft_labels as soft_label_array
from softlabel.networks.losses import SUM_TOLERANCE
from softlabel.networks.optimizers import OPTIMIZERS
from softlabel.networks.pgd import count_steps
from softlabel.networks.softening import Softening
from softlabel.networks.student_model import StudentModel
from softlabel.networks.training_run import Weights
from softlabel.numerics.array_files import read_array
from softlabel.numerics.local_files import local_path
from softlabel.ranges import check_count, check_seed
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.report.progress import step_progress
from softlabel.report.result import ReportedResult
from softlabel.studies.arguments import problem_from
from softlabel.studies.doctor.records import write_records
from softlabel.studies.run import RECORDS
from softlabel.studies.signed_rows import two_classes
from softlabel.teachers.agreement import check_order
from softlabel.teachers.network import network_teacher
from softlabel.teachers.reading import log_probabilities

RECORDED = 12  # records of a training that are kept in `out`
MAX_SEEDS = 10_000
log = logging.getLogger("softlabel")


@dataclass(frozen=True)
class StudentErrors:
    """Shares of training and of test rows that a student misclassifies, and its number of parameters."""

    width: int
    seed: int
    train_error: float
    test_error: float
    parameters: int


@dataclass(frozen=True, eq=False, repr=False)
class TrainedStudents(ReportedResult):
    """Result of `softlabel.train`.

    Attributes
    ----------
    data : str
        Description of the data.
    labels : {"hard", "soft"}
        The labels that the students were trained on.
    epochs : int
        Passes over the training rows.
    networks : tuple of TwoLayer
        The trained networks. They take scaled inputs, such as ``problem.test.scaled``.
    students : tuple of StudentErrors
        Width, seed, training error and test error of every network.
    seconds : float
        Time of the training.
    chance_error : float
        Share of test rows that the most frequent class misclassifies.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> result = sl.train(X, X[:, 0] > 0, width=[4, 8], seeds=2, epochs=2)
    >>> [(one.width, one.seed) for one in result.students]
    [(4, 0), (4, 1), (8, 0), (8, 1)]
    """

    data: str
    labels: str
    epochs: int
    networks: tuple[TwoLayer, ...]
    students: tuple[StudentErrors, ...]
    seconds: float
    chance_error: float

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {"task": self.data, "seconds": self.seconds, "students": [asdict(one) for one in self.students]}

    @property
    def by_width(self) -> Mapping[int, list[StudentErrors]]:
        """The students of every width."""
        widths = dict.fromkeys(one.width for one in self.students)
        return {width: [one for one in self.students if one.width == width] for width in widths}

    @property
    def warnings(self) -> list[str]:
        """A sentence (without a full stop) for every width whose students learned nothing."""
        errors = {width: np.mean([one.test_error for one in own]) for width, own in self.by_width.items()}
        return [
            f"students of width {width} misclassify {error:.2%} of the test rows, and always predicting the most "
            f"frequent class misclassifies {self.chance_error:.2%}: train for more epochs, or with another learning "
            "rate"
            for width, error in errors.items()
            if error >= self.chance_error
        ]

    @property
    def summary(self) -> list[str]:
        """The mean errors of every width, and warnings, in plain sentences."""
        lines = [
            f"{len(students)} students of width {width} on {self.labels} labels: mean test error "
            f"{np.mean([one.test_error for one in students]):.2%}, training error "
            f"{np.mean([one.train_error for one in students]):.2%}."
            for width, students in self.by_width.items()
        ]
        return [*lines, *(f"Warning: {warning}." for warning in self.warnings)]

    @property
    def table(self) -> Table:
        """The errors of every student."""
        rows = [
            [str(one.width), str(one.seed), f"{one.train_error:.2%}", f"{one.test_error:.2%}"] for one in self.students
        ]
        header = ["width", "seed", "training error", "test error"]
        return Table(f"{self.labels} labels, {self.epochs} epochs", self.data, header, rows)

    @property
    def chart(self) -> Chart:
        """Training and test errors by width: means, with bars from the smallest to the largest."""
        series = []
        for name, role in (("train_error", "hard"), ("test_error", "soft")):
            errors = [[100 * getattr(one, name) for one in students] for students in self.by_width.values()]
            means = [float(np.mean(one)) for one in errors]
            low, high = [min(one) for one in errors], [max(one) for one in errors]
            widths = list(map(str, self.by_width))
            series.append(Series(name.replace("_", " "), widths, means, low, high, role=role, marks=True))
        title = f"{self.labels} labels, {self.epochs} epochs"
        panel = Panel(title, series, "hidden neurons", "error, %")
        return Chart("train", "Errors of students", "", [panel])


def train(
    X: Any,
    y: Any = None,
    *,
    label: str | int | None = None,
    width: int | Sequence[int] | None = None,
    seeds: int = 5,
    soft_labels: Any = None,
    student: Student | None = None,
    epochs: int = 20,
    batch_size: int | None = 128,
    optimizer: str = "gradient",
    seed: int = 0,
    out: str | Path | None = None,
) -> TrainedStudents:
    """Train two-layer students for two classes, and measure their errors.

    The students are trained on the training rows that `verdict` and `plan` use, and tested on the same test rows.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data: an array or a frame with labels `y`, the name of a data set, a file, or a `Problem`. Of several
        classes, `Problem.binary` makes two.
    y : array or str, optional
        One label per row, or the name of the label column.
    label : str or int, optional
        Name of the label column of a file or a frame.
    width : int or sequence of int, optional
        Hidden neurons of the students. Default: those of `student`, or 8.
    seeds : int, default=5
        Number of students of each width.
    soft_labels : array, str or path, optional
        A teacher's probabilities of the second class or of both classes, an array or an NPY file with one row for each
        row of the data except official test rows; or "network", which trains a teacher, see `network_teacher`.
        Default: the students are trained on hard labels.
    student : Student, optional
        The other settings of the students: radius, learning rate, initialization, temperature, smoothing, activation.
        Its `seed` and `labels` are not used. Default: no projection, otherwise the defaults of `Student`.
    epochs : int, default=20
        Passes over the training rows.
    batch_size : int or None, default=128
        Batch size; None for full-batch steps.
    optimizer : {"gradient", "adam"}, default="gradient"
        Optimizer.
    seed : int, default=0
        Seed of the split, of the order of rows, and of the first student.
    out : str or path, optional
        Directory for the students, which `predict` and `load_model` read, and for records of the training, which
        `doctor` examines. A directory of a training with other settings is refused.

    Returns
    -------
    TrainedStudents
        The networks with their errors.

    Raises
    ------
    DivergedError
        If the weights of a student become infinite or NaN.
    InputError
        If an argument is wrong, or `out` belongs to another run.

    See Also
    --------
    train_students : Train students on arrays, with every option of the training.
    verdict : Compare soft and hard labels, with tuned settings and intervals.

    Examples
    --------
    >>> import softlabel as sl
    >>> student = sl.Student(width=8, learning_rate=10, radius=50)
    >>> result = sl.train("digits", width=[4, 8], seeds=2, epochs=5, student=student)
    >>> [(one.width, one.seed) for one in result.students]
    [(4, 0), (4, 1), (8, 0), (8, 1)]
    >>> all(one.test_error < 0.5 for one in result.students)
    True
    """
    check_directory(out, folders=("students",), files=(RECORDS,))
    check_seed(seed)
    check_count(seeds, "seeds", most=MAX_SEEDS)
    student = student or Student(width=8, radius=None)
    student.check_sizes()
    check_count(epochs, "epochs")
    count_steps(1, epochs, batch_size)
    if optimizer not in OPTIMIZERS:
        raise unknown("optimizer", optimizer, OPTIMIZERS)
    problem = two_classes(problem_from(X, y, label=label, seed=seed))
    labels = {"hard": hard_labels(problem.train.signs)}
    if soft_labels is not None:
        labels["soft"] = _soft_labels(soft_labels, problem, seed)
    name = "hard" if soft_labels is None else "soft"
    widths = [student.width if width is None else width] if not isinstance(width, Sequence) else dict.fromkeys(width)
    students = [replace(student, width=m, seed=seed + k, labels=name) for m in widths for k in range(seeds)]
    schedule = {"epochs": epochs, "batch_size": batch_size, "optimizer": optimizer}
    settings = {} if out is None else _settings(problem, students, labels) | schedule
    with nullcontext() if out is None else claim_run_dir(Path(out), settings):
        run = _train(problem, students, labels, epochs, batch_size, optimizer, seed, out)
        errors = tuple(_errors(one.network, one.settings, problem) for one in run)
        if out is not None:
            _save(Path(out), run, errors, problem)
            path = write_records(out, students, labels, run=run, evaluation_errors=[one.test_error for one in errors])
            log.info("students saved in %s, records of their training in %s", Path(out) / "students", path)
    networks = tuple(one.network for one in run)
    chance = float(1 - np.bincount(problem.test.y).max() / len(problem.test))
    result = TrainedStudents(str(problem), name, epochs, networks, errors, run.seconds, chance)
    for warning in result.warnings:
        log.warning("%s", warning)
    return result


def _settings(problem: Problem, students: Sequence[Student], labels: Mapping[str, Labels]) -> dict[str, Any]:
    """What a run directory belongs to, except how long and in which steps the students are trained."""
    values = labels[students[0].labels].values
    return {
        **asdict(students[0]),
        "data": problem.name,
        "problem": problem.fingerprint,
        "label_values": hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()[:20],
        "width": list(dict.fromkeys(one.width for one in students)),
        "seeds": len({one.seed for one in students}),
    }


def _save(out: Path, run: TrainingRun, errors: Sequence[StudentErrors], problem: Problem) -> None:
    """Write every student with its scaling and the names of its classes and columns."""
    for one, scores in zip(run, errors, strict=True):
        student = one.settings
        softened = student.labels == "soft" and student.temperature_on == "labels"
        softening = Softening(student.temperature if softened else 1.0, student.smoothing)
        model = StudentModel(one.network, problem.scaler, problem.classes, problem.columns, softening, problem.encoder)
        model.save(out / "students" / f"width{scores.width}-seed{scores.seed}.safetensors")


def _train(
    problem: Problem,
    students: Sequence[Student],
    labels: Mapping[str, Labels],
    epochs: int,
    batch_size: int | None,
    optimizer: str,
    seed: int,
    out: str | Path | None,
) -> TrainingRun:
    """Train the students; where one diverges, that is recorded in `out`."""
    steps = count_steps(len(problem.train), epochs, batch_size)
    with step_progress("training", steps) as progress:

        def callback(step: int, weights: Weights) -> None:
            progress(step)

        records = None if out is None else max(1, steps // RECORDED)
        try:
            return train_students(
                problem.train.scaled,
                students,
                labels,
                epochs=epochs,
                batch_size=batch_size,
                seed=seed,
                optimizer=optimizer,
                options=TrainingOptions(record_every=records, callback=callback),
            )
        except DivergedError as error:
            if out is not None:
                write_records(out, students, dict(labels), run=None, failed=str(error))
            raise


def _soft_labels(values: Any, problem: Problem, seed: int) -> Labels:
    """Soft labels of the training rows, of a network or from an array or a file with one row for each row of
    `full_train`.
    """
    if isinstance(values, str) and values == "network":
        return network_teacher(problem, seed=seed).labels(problem.train.rows)
    name = "soft_labels"
    if isinstance(values, str | Path):
        name = f"soft labels '{values}'"
        values = read_array(local_path(values))
    values = np.asarray(values)
    require(values.dtype.kind in "biuf", f"{name} must be numbers, got values of type {values.dtype}")
    full, count = problem.full_train.rows, len(values) if values.ndim else 1
    require(
        values.ndim > 0 and count == len(full),
        f"{name} must have one row for each of the {len(full):,} rows of the data except official test rows, got "
        f"{count:,}",
    )
    if values.ndim == 2 and values.shape[1] == 2:
        off = np.abs(values.sum(axis=1) - 1)
        row = int(off.argmax())
        require(
            off[row] <= SUM_TOLERANCE, f"{name} of a row must sum to 1, got {values[row].tolist()} in row {row + 1}"
        )
        values = values[:, 1]
    labels = soft_label_array(values[np.searchsorted(full, problem.train.rows)])
    if labels.values.ndim == 1:
        logits = log_probabilities(np.stack([1 - labels.values, labels.values], axis=1))
        for remark in check_order(problem.train.y, logits, problem.classes, name):
            log.info("note: %s", remark)
    return labels


def _errors(network: TwoLayer, student: Student, problem: Problem) -> StudentErrors:
    train_error, test_error = (
        float((network.logits(part.scaled) * part.signs <= 0).mean()) for part in (problem.train, problem.test)
    )
    return StudentErrors(student.width, student.seed, train_error, test_error, network.parameters)
