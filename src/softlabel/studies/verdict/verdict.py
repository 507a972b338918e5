"""`verdict`: from a problem and a teacher to an answer, a document and a page."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.joining import meets
from softlabel.data.problem import Problem
from softlabel.data.synthetic import synthetic_rows
from softlabel.errors import require
from softlabel.lab.needed_rows import assumption, expected_rows
from softlabel.lab.scores import example_scores, find_metric
from softlabel.lab.sequential import planned_looks
from softlabel.ranges import check_count, check_seed
from softlabel.studies.arguments import problem_from
from softlabel.studies.run import Execution, check_run_dir, finish
from softlabel.studies.students.checks import check_test_rows
from softlabel.studies.students.families import StudentFamily, check_travels, family_of
from softlabel.studies.students.folds import check_folds, fold_count
from softlabel.studies.students.images import EPOCHS, image_problem, teacher_source
from softlabel.studies.students.preparation import AuditedTeacher, ProblemSource, prepared_run
from softlabel.studies.students.recipe import Arm, Recipe, check_training
from softlabel.studies.students.sizes import SizeComparison
from softlabel.studies.verdict.result import Verdict
from softlabel.studies.verdict.settings import VerdictSettings
from softlabel.studies.verdict.study import VerdictStudy
from softlabel.teachers.rows import QueryRows, unlabeled_rows
from softlabel.teachers.sources import TeacherOptions

THEORY_ERROR = 0.1
SEEDS = 40
MIN_EQUIVALENCE = 1e-3
log = logging.getLogger("softlabel")


@dataclass(frozen=True)
class VerdictOptions:
    """Less common settings of `verdict`.

    Parameters
    ----------
    equivalence : float, default=0.5
        A gap within ± this many points (hundredths) does not matter.
    confidence : float, default=0.95
        Confidence over all looks together.
    transfer : array, frame, str or path, optional
        Unlabeled rows with the columns of the data; an additional arm learns from the teacher's labels on them, too.
    augment : float, default=0
        Number of synthetic rows near the training rows, as a multiple of their number; an additional arm learns from
        the teacher's labels on them, too. Of tables a row is mixed with its neighbors, images are moved and mirrored.
    cross_test : int, optional
        Number of folds in which every row is tested once, by students and teachers that never saw it; 0 for one test
        part. Default: 5 below 5,000 rows with a teacher that is trained here, unless the data have test rows.
    epochs, batch_size : int, optional
        Passes over the training rows, and rows per step. Default: chosen from the number of training rows, and doubled
        as long as students get better by it on validation rows.
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

    equivalence: float = 0.5
    confidence: float = 0.95
    transfer: Any = None
    augment: float = 0.0
    cross_test: int | None = None
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
    student: Any = "two-layer",
    width: int | None = None,
    metric: str = "accuracy",
    seeds: int = SEEDS,
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
    student : str, estimator or callable, default="two-layer"
        Family of the students: "two-layer", "tree", "boosted-trees", "forest", "logistic", for images "vgg" or
        "resnet"; a scikit-learn classifier whose ``fit`` takes ``sample_weight``; or a function of a seed that returns
        a torch module, such as ``lambda seed: MyNet()``.
    width : int, optional
        Size of the students in the unit of their family: hidden neurons, leaves, trees, boosting rounds, channels of
        the first layer. Default: 32 neurons, 16 leaves, 20 trees or rounds, 16 (vgg) or 8 (resnet) channels.
    metric : {"accuracy", "balanced-accuracy", "auc", "log-loss"}
        What is compared.
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
    family = family_of(student)
    width = family.size if width is None else width
    _check(width, seeds, options)
    problem = problem_from(X, y, label=label, seed=seed)
    family.check(width, problem)
    check_run_dir(out)
    check_training(options.epochs, options.batch_size)
    executor, _ = execution.start()
    check_travels(family, execution.executor)
    problem = image_problem(problem, family)
    count = fold_count(problem, options.cross_test, teacher)
    parts = problem.folds(count, seed) if count else (problem,)
    if not count:
        check_test_rows(problem)
    recipe = _recipe(family, len(parts[0].train), options, count)
    tested = np.concatenate([part.test.y for part in parts])
    class_rows = tuple(np.bincount(tested, minlength=len(problem.classes)).tolist())
    _log_expected_rows(metric, class_rows, options, count)
    about = problem.described(f"{len(problem):,} rows in {count} folds") if count else str(problem)
    folds = [_source(part, teacher, family, seed, options) for part in parts]
    more: tuple[Arm, ...] = ("augmented",) if options.augment > 0 else ("transfer",)
    arms: tuple[Arm, ...] = ("hard", "soft", "smooth", *(more if folds[0].unlabeled is not None else ()))

    def settings_of(source: str, title: str) -> VerdictSettings:
        return VerdictSettings(
            source=source, data=about, teacher=title, arms=arms, width=width, metric=metric,
            equivalence=options.equivalence, confidence=options.confidence, seeds=seeds, seed=seed,
            class_rows=class_rows, fold_rows=tuple(len(part.test) for part in parts) if count else (), recipe=recipe,
            student=family.name,
        ).with_family(family)  # fmt: skip

    def threads(settings: VerdictSettings) -> int:
        return family.threads(settings.recipe, problem.X.shape[1], 5 * len(arms) * width)

    with prepared_run(VerdictStudy, folds, settings_of, threads, out=out, execution=execution, audited=problem) as run:
        parameters = family.parameters(width, problem.X.shape[1], len(problem.classes))
        size = SizeComparison(parameters, run.teacher.predictions.parameters)
        if (warning := size.warning(f"a student {family.phrase(width)}")) is not None:
            log.warning("%s", warning)
        facts = run.teacher.facts(parts[0], THEORY_ERROR, seed)
        facts["teacher_metric"] = _teacher_metric(run.teachers, parts, metric)
        return finish(run.study, run.ledger, execution, executor, facts=facts)


def _recipe(family: StudentFamily, rows: int, options: VerdictOptions, folds: int) -> Recipe:
    """How students are trained; where every fold chooses settings, each does it with half of the seeds."""
    recipe = family.recipe(rows, options.epochs, options.batch_size, options.search_radius)
    return recipe.model_copy(update={"tuning_seeds": max(1, recipe.tuning_seeds // 2)}) if folds else recipe


def _source(problem: Problem, teacher: Any, family: StudentFamily, seed: int, options: VerdictOptions) -> ProblemSource:
    """One problem with its teacher and the rows that only the teacher labels."""
    rows = _rows_without_labels(problem, options, seed)
    source = teacher_source(problem, teacher, family, seed=seed, options=options.teacher, transfer=rows,
                            epochs=options.epochs or EPOCHS)  # fmt: skip
    return ProblemSource(problem, source, None if rows is None else rows.X)


def _check(width: int, seeds: int, options: VerdictOptions) -> None:
    equivalence, confidence = options.equivalence, options.confidence
    require(isinstance(width, int) and width >= 1, f"width must be a positive integer, got {width}")
    require(
        equivalence == 0 or MIN_EQUIVALENCE <= equivalence < 50,
        f"equivalence must be 0 or lie in [{MIN_EQUIVALENCE:g}, 50) points, got {equivalence}",
    )
    check_count(seeds, "seeds", least=2, most=10_000)
    require(0.5 < confidence < 1, f"confidence must lie between 0.5 and 1, got {confidence}")
    check_folds(options.cross_test)
    require(0 <= options.augment <= 100, f"augment must lie between 0 and 100, got {options.augment}")
    require(
        options.augment == 0 or options.transfer is None,
        "`augment` and `transfer` exclude each other: pass one of them",
    )


def _rows_without_labels(problem: Problem, options: VerdictOptions, seed: int) -> QueryRows | None:
    """Rows that only the teacher labels: the user's, without validation and test rows, or synthetic ones."""
    if options.augment > 0:
        X, table = synthetic_rows(problem, max(1, round(options.augment * len(problem.train))), seed)
        return QueryRows(X, table, encoder=problem.encoder)
    if options.transfer is None:
        return None
    rows = unlabeled_rows(options.transfer, problem)
    new = ~meets(rows.X, np.concatenate([problem.validation.X, problem.test.X]))
    require(bool(new.any()), "every unlabeled row is a validation or test row of the data: provide other rows")
    if not new.all():
        log.info("note: %d unlabeled rows are validation or test rows of the data; they are not used", (~new).sum())
    return rows.take(new)


def _log_expected_rows(metric: str, class_rows: Sequence[int], options: VerdictOptions, folds: int) -> None:
    """Log what the test rows are likely to decide, before anything is trained.

    folds       in which every row is tested; 0 for one test part
    """
    failure = max(look.failure for look in planned_looks(SEEDS, options.confidence))
    expected = expected_rows(metric, class_rows, options.equivalence, failure, folds or None)
    if expected is None:
        log.info(
            "note: how many test rows a gap of %s needs is unknown before the run, since a single row may cost any "
            "amount; the answer says what was measured", metric,
        )  # fmt: skip
        return
    if expected.half <= options.equivalence:
        return
    message = (
        f"{expected.rows:,} test rows: if {assumption(metric)}, gaps below about {expected.half:.1f} points of "
        f"{metric} cannot be distinguished from chance, whatever the number of seeds"
    )
    if expected.enough is not None:
        message += (
            f", and 'no difference' within ±{options.equivalence:g} points takes about {expected.enough:,} test rows"
        )
    log.warning("%s (an assumption; the answer has the measured numbers)", message)


def _teacher_metric(teachers: Sequence[AuditedTeacher], parts: Sequence[Problem], metric: str) -> float | None:
    """The teachers' metric on the test rows of their folds; None where one does not predict all of them."""
    scores = []
    for teacher, problem in zip(teachers, parts, strict=True):
        predictions, rows = teacher.predictions, problem.test.rows
        if not predictions.known[rows].all():
            return None
        scores.append(example_scores(metric, predictions.probabilities[rows], problem.test.y))
    return float(np.concatenate(scores).mean())
