"""`verdict`: from a problem and a teacher to an answer, a document and a page."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem, without_evaluation_rows
from softlabel.errors import require
from softlabel.lab import Pieces
from softlabel.lab.needed_rows import assumed_variance, assumption, half_width, rows_needed
from softlabel.lab.scores import example_scores, find_metric, unseen
from softlabel.ranges import check_count, check_seed
from softlabel.studies.arguments import problem_from
from softlabel.studies.run import Execution, check_run_dir, finish
from softlabel.studies.students.checks import check_test_rows, check_width, student_size
from softlabel.studies.students.preparation import AuditedTeacher, TeacherSource, prepared_run
from softlabel.studies.students.recipe import Arm, check_training, recipe_for, threads_of
from softlabel.studies.verdict.result import Verdict
from softlabel.studies.verdict.settings import VerdictSettings
from softlabel.studies.verdict.study import VerdictStudy
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.sources import TeacherOptions, query_teacher, teacher_specification, unlabeled_inputs

THEORY_ERROR = 0.1
MIN_EQUIVALENCE = 1e-3
log = logging.getLogger("softlabel")


@dataclass(frozen=True)
class VerdictOptions:
    """Less common settings of `verdict`.

    Parameters
    ----------
    confidence : float, default=0.95
        Confidence over all looks together.
    transfer : array, frame, str or path, optional
        Unlabeled rows with the columns of the data; an additional arm learns from the teacher's labels on them, too.
    epochs, batch_size : int, optional
        Passes over the training rows, and rows per step. Default: chosen from the number of training rows.
    search_radius : bool, default=False
        Whether to choose a radius of the papers' projection as well.
    teacher : TeacherOptions, optional
        How the teacher's predictions are read.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.VerdictOptions(epochs=20).epochs
    20
    """

    confidence: float = 0.95
    transfer: Any = None
    epochs: int | None = None
    batch_size: int | None = None
    search_radius: bool = False
    teacher: TeacherOptions = field(default_factory=TeacherOptions)


def verdict(
    X: Any,
    y: Any = None,
    teacher: Any = "auto",
    *,
    label: str | int | None = None,
    width: int = 32,
    metric: str = "accuracy",
    equivalence: float = 0.5,
    seeds: int = 40,
    seed: int = 0,
    out: str | Path | None = None,
    options: VerdictOptions | None = None,
    execution: Execution | None = None,
) -> Verdict:
    """Decide whether students learn more from a teacher's soft labels than from hard labels, beyond the noise of seeds.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data: an array or a frame with labels `y`, the name of a data set, a file, or a `Problem`.
    y : array or str, optional
        One label per row, or the name of the label column.
    teacher : str, path or object, default="auto"
        "auto" (trained here), an ONNX file, a file of soft labels, a model with ``predict_proba``, or a function.
    label : str or int, optional
        Name of the label column of a file or a frame.
    width : int, default=32
        Hidden neurons of the students.
    metric : {"accuracy", "balanced-accuracy", "auc", "log-loss"}
        What is compared.
    equivalence : float, default=0.5
        A gap within ± this many points (hundredths) does not matter.
    seeds : int, default=40
        Maximum number of seeds per arm. Looks are planned so that the error rate is 1 − confidence in all.
    seed : int, default=0
        Seed of everything random.
    out : str or path, optional
        Directory of the run; the same call goes on where it was interrupted. Default: a directory below ``runs``.
    options : VerdictOptions, optional
        Less common settings.
    execution : Execution, optional
        Where the trainings run, and whether progress is shown.

    Returns
    -------
    Verdict
        The answer with its interval, every arm, and the page.

    Examples
    --------
    >>> import softlabel as sl
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = sl.verdict(X, y, width=4, seeds=5, options=sl.VerdictOptions(epochs=2))
    >>> result.verdict in ("soft wins", "no difference", "hard wins", "undecided")
    True
    >>> result.gap.low <= result.gap.mean <= result.gap.high
    True
    """
    options, execution = options or VerdictOptions(), execution or Execution()
    metric = find_metric(metric)
    check_seed(seed)
    _check(width, equivalence, seeds, options.confidence)
    problem = problem_from(X, y, label=label, seed=seed)
    check_width(width, problem)
    check_run_dir(out)
    check_training(options.epochs, options.batch_size)
    check_test_rows(problem)
    executor, _ = execution.start()
    class_rows = tuple(np.bincount(problem.test.y, minlength=len(problem.classes)).tolist())
    _log_expected_rows(metric, class_rows, equivalence, 1 - options.confidence)
    transfer = _transfer_rows(problem, options.transfer)
    arms: tuple[Arm, ...] = ("hard", "soft", "smooth", *(("transfer",) if transfer is not None else ()))
    recipe = recipe_for(len(problem.train), options.epochs, options.batch_size, options.search_radius)

    def predict(pieces: Pieces | None) -> TeacherPredictions:
        return query_teacher(problem, teacher, transfer=transfer, options=options.teacher, seed=seed, pieces=pieces)

    def settings_of(source: str, title: str) -> VerdictSettings:
        return VerdictSettings(
            source=source, data=str(problem), teacher=title, arms=arms, width=width, metric=metric,
            equivalence=equivalence, confidence=options.confidence, seeds=seeds, seed=seed, class_rows=class_rows,
            recipe=recipe,
        )  # fmt: skip

    def threads(settings: VerdictSettings) -> int:
        return threads_of(settings.recipe, problem.X.shape[1], 5 * len(arms) * width)

    source = TeacherSource(predict, teacher_specification(teacher, seed))
    with prepared_run(
        VerdictStudy, problem, source, settings_of, threads, out=out, execution=execution, unlabeled=transfer
    ) as run:
        size = student_size(width, problem, run.teacher.predictions.parameters)
        if (warning := size.warning(f"a student of {width} neurons")) is not None:
            log.warning("%s", warning)
        facts = run.teacher.facts(problem, THEORY_ERROR, seed)
        facts["teacher_metric"] = _teacher_metric(run.teacher, problem, metric)
        return finish(run.study, run.ledger, execution, executor, facts=facts)


def _check(width: int, equivalence: float, seeds: int, confidence: float) -> None:
    require(isinstance(width, int) and width >= 1, f"width must be a positive integer, got {width}")
    require(
        equivalence == 0 or MIN_EQUIVALENCE <= equivalence < 50,
        f"equivalence must be 0 or lie in [{MIN_EQUIVALENCE:g}, 50) points, got {equivalence}",
    )
    check_count(seeds, "seeds", least=2, most=10_000)
    require(0.5 < confidence < 1, f"confidence must lie between 0.5 and 1, got {confidence}")


def _transfer_rows(problem: Problem, transfer: Any) -> np.ndarray | None:
    """Unlabeled rows that are not validation or test rows of the problem."""
    if transfer is None:
        return None
    rows, dropped = without_evaluation_rows(problem, unlabeled_inputs(transfer, problem))
    if dropped:
        log.info("note: %d unlabeled rows are validation or test rows of the data; they are not used", dropped)
    return rows


def _log_expected_rows(metric: str, class_rows: Sequence[int], equivalence: float, failure: float) -> None:
    """Log what the test rows are likely to decide, before anything is trained.

    failure     probability with which any interval of the run may fail: no look leaves less open than at this level
    """
    rows, variance = sum(class_rows), assumed_variance(metric, class_rows)
    if variance is None:
        log.info(
            "note: how many test rows a gap of %s needs is unknown before the run, since a single row may cost any "
            "amount; the answer says what was measured", metric,
        )  # fmt: skip
        return
    unmet = rows * unseen(metric, class_rows, failure)
    half = half_width(rows, failure, variance, unmet)
    if half <= equivalence:
        return
    message = (
        f"{rows:,} test rows: if {assumption(metric)}, gaps below about {half:.1f} points of {metric} cannot be "
        "distinguished from chance, whatever the number of seeds"
    )
    if equivalence > 0:
        enough = rows_needed(equivalence, failure, variance, unmet)
        message += f", and 'no difference' within ±{equivalence:g} points takes about {enough:,} test rows"
    log.warning("%s (an assumption; the answer has the measured numbers)", message)


def _teacher_metric(teacher: AuditedTeacher, problem: Problem, metric: str) -> float | None:
    """The teacher's metric on the test rows; None where it does not predict all of them."""
    predictions, rows = teacher.predictions, problem.test.rows
    if not predictions.known[rows].all():
        return None
    return float(example_scores(metric, predictions.probabilities[rows], problem.test.y).mean())
