"""`plan`: from a problem, a teacher and a target to the smallest student, a document, a page and exported files."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import InputError, require
from softlabel.ranges import check_count, check_seed
from softlabel.studies.arguments import problem_from
from softlabel.studies.plan.cells import ATTEMPTS
from softlabel.studies.plan.result import Plan
from softlabel.studies.plan.search import allowed_misses
from softlabel.studies.plan.settings import PlanSettings
from softlabel.studies.plan.study import PlanStudy
from softlabel.studies.run import Execution, check_run_dir, finish
from softlabel.studies.students.checks import check_test_rows
from softlabel.studies.students.families import StudentFamily, check_travels, family_of
from softlabel.studies.students.images import EPOCHS, image_problem, teacher_source
from softlabel.studies.students.preparation import ProblemSource, prepared_run
from softlabel.studies.students.recipe import Recipe, check_training
from softlabel.teachers.sources import TeacherOptions

MAX_SEEDS = 10_000
CONFIRM = 62  # one of them may miss at 90 % and 95 %


@dataclass(frozen=True)
class PlanOptions:
    """Less common settings of `plan`.

    Parameters
    ----------
    share : float, default=0.9
        Probability with which a fresh student must reach the target.
    confidence : float, default=0.95
        Confidence of that promise.
    confirm : int, optional
        Fresh students that must confirm a width; 0: tolerance limits alone. Default: 62, and 0 for networks that are
        trained one by one (vgg, resnet, torch modules).
    bisections : int, default=3
        Widths that are tried between two of the ladder.
    rival : bool, default=True
        Whether to train the hard-label rival with 8-bit weights of the same size in bytes.
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
    >>> sl.PlanOptions(share=0.8, confirm=0).share
    0.8
    """

    share: float = 0.9
    confidence: float = 0.95
    confirm: int | None = None
    bisections: int = 3
    rival: bool = True
    epochs: int | None = None
    batch_size: int | None = None
    search_radius: bool = False
    teacher: TeacherOptions = field(default_factory=TeacherOptions)


def plan(
    X: Any,
    y: Any = None,
    teacher: Any = "auto",
    *,
    accuracy: float,
    label: str | int | None = None,
    student: Any = "two-layer",
    widths: Sequence[int] | None = None,
    seeds: int = 10,
    seed: int = 0,
    out: str | Path | None = None,
    options: PlanOptions | None = None,
    execution: Execution | None = None,
) -> Plan:
    """Find the smallest student whose fresh copies reach a test accuracy, on hard and on soft labels, and export it.

    Parameters
    ----------
    X : array, frame, str, path, tuple or Problem
        The data: an array or a frame with labels `y`, the name of a data set, a file, or a `Problem`.
    y : array or str, optional
        One label per row, or the name of the label column.
    teacher : str, path or object, default="auto"
        "auto" (trained here), an ONNX file, a file of soft labels, a model with ``predict_proba``, or a function; for
        deep students also the name of a network, such as "vgg8+3".
    accuracy : float
        The target, above the share of the most frequent class and at most 1.
    label : str or int, optional
        Name of the label column of a file or a frame.
    student : str, estimator or callable, default="two-layer"
        Family of the students: "two-layer", "tree", "boosted-trees", "forest", "logistic", for images "vgg" or
        "resnet"; a scikit-learn classifier whose ``fit`` takes ``sample_weight``; or a function that returns a torch
        module, ``lambda seed: MyNet()`` or ``lambda seed, size: MyNet(size)``.
    widths : sequence of int, optional
        The ladder of sizes in the unit of the family: neurons, leaves, trees, boosting rounds, channels of the first
        layer. Default: 2, 4, …, 512 neurons, or a ladder of the family. A family of one size (logistic) has none.
    seeds : int, default=10
        Students at each width of the search.
    seed : int, default=0
        Seed of everything random.
    out : str or path, optional
        Directory of the run; the same call goes on where it was interrupted. Default: a directory below ``runs``.
    options : PlanOptions, optional
        Less common settings.
    execution : Execution, optional
        Where the trainings run, and whether progress is shown.

    Returns
    -------
    Plan
        The planned width of each arm, the curve of the search, exported files, and the page.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> X = np.random.default_rng(0).standard_normal((100, 2))
    >>> def teacher(inputs):
    ...     return 1 / (1 + np.exp(-5 * inputs[:, 0]))
    >>> options = sl.PlanOptions(epochs=2, confirm=0, bisections=0, rival=False)
    >>> result = sl.plan(X, X[:, 0] > 0, teacher, accuracy=0.7, widths=[2, 4], seeds=3, options=options)
    >>> result.soft.width in (2, 4, None)
    True
    """
    options, execution = options or PlanOptions(), execution or Execution()
    check_seed(seed)
    family = family_of(student)
    ladder = _ladder(widths, family)
    _check_target(accuracy)
    problem = problem_from(X, y, label=label, seed=seed)
    check_test_rows(problem)
    frequent = float(np.bincount(problem.test.y).max() / len(problem.test))
    confirm = _checked(problem, accuracy, family, ladder, seeds, options, frequent)
    recipe = _recipe(problem, family, options)
    problem = image_problem(problem, family)
    check_run_dir(out)
    executor, _ = execution.start()
    check_travels(family, execution.executor)

    def settings_of(source: str, title: str) -> PlanSettings:
        return PlanSettings(
            source=source, data=str(problem), teacher=title, student=family.name,
            target=accuracy, widths=ladder, seeds=seeds, share=options.share, confidence=options.confidence,
            bisections=options.bisections, confirm=confirm, seed=seed,
            rival=options.rival and family.name == "two-layer",
            test_rows=len(problem.test), inputs=problem.X.shape[1], classes=len(problem.classes), frequent=frequent,
            recipe=recipe,
        ).with_family(family)  # fmt: skip

    def threads(settings: PlanSettings) -> int:
        together = int(min(family.bundle, sum(ladder) * seeds))
        return family.threads(settings.recipe, settings.inputs, together)

    source = teacher_source(
        problem, teacher, family, seed=seed, options=options.teacher, epochs=options.epochs or EPOCHS
    )
    folds = [ProblemSource(problem, source)]
    with prepared_run(PlanStudy, folds, settings_of, threads, out=out, execution=execution) as run:
        facts = run.teacher.facts(problem, max(1 - accuracy, 0.01), seed)
        return finish(run.study, run.ledger, execution, executor, facts=facts)


def _ladder(widths: Sequence[int] | None, family: StudentFamily) -> tuple[int, ...]:
    if widths is None:
        return family.ladder
    ladder = tuple(sorted(set(widths)))
    require(
        len(ladder) >= min(2, len(family.ladder)) and all(isinstance(width, int) and width >= 1 for width in ladder),
        f"widths must be at least two different positive integers, got {list(widths)}",
    )
    return ladder


def _checked(
    problem: Problem,
    accuracy: float,
    family: StudentFamily,
    ladder: tuple[int, ...],
    seeds: int,
    options: PlanOptions,
    frequent: float,
) -> int:
    """Number of students that confirm a width; refuses settings that are impossible."""
    for width in ladder:
        family.check(width, problem)
    require(
        accuracy > frequent,
        f"accuracy must be above {frequent:.3f}, the share of the most frequent class, got {accuracy:g}",
    )
    check_count(seeds, "seeds", least=3, most=MAX_SEEDS)
    require(0.5 < options.share < 1, f"share must lie between 0.5 and 1 (both excluded), got {options.share}")
    require(0.5 < options.confidence < 1, f"confidence must lie between 0.5 and 1, got {options.confidence}")
    check_count(options.bisections, "bisections", least=0, most=100)
    check_training(options.epochs, options.batch_size)
    confirm = (CONFIRM if family.bundle > 0 else 0) if options.confirm is None else options.confirm
    check_count(confirm, "confirm", least=0, most=MAX_SEEDS)
    misses = allowed_misses(confirm, options.share, (1 - options.confidence) / ATTEMPTS)
    require(
        confirm == 0 or misses >= 0,
        f"confirm must be 0 or at least {_fewest(options)}, got {confirm}: fewer students cannot confirm a share of "
        f"{options.share:g} with confidence {options.confidence:g}",
    )
    return confirm


def _fewest(options: PlanOptions) -> int:
    """Smallest number of fresh students that can confirm a width: all of them reach the target."""
    return math.ceil(math.log((1 - options.confidence) / ATTEMPTS) / math.log(options.share))


def _check_target(accuracy: float) -> None:
    require(isinstance(accuracy, int | float), f"accuracy must be a number, got {accuracy!r}")
    if not 0 < accuracy <= 1:
        hint = f" (for {accuracy:g} per cent write {accuracy / 100:g})" if 1 < accuracy <= 100 else ""
        raise InputError(f"accuracy must be above 0 and at most 1, got {accuracy:g}{hint}")


def _recipe(problem: Problem, family: StudentFamily, options: PlanOptions) -> Recipe:
    recipe = family.recipe(len(problem.train), options.epochs, options.batch_size, options.search_radius)
    return recipe.model_copy(update={"tuning_seeds": max(1, recipe.tuning_seeds // 2)})  # at several sizes
