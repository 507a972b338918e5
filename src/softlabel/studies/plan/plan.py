"""`plan`: from a problem, a teacher and a target to the smallest student, a document, a page and exported files."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError, require, unknown
from softlabel.lab import Pieces
from softlabel.ranges import check_count, check_seed
from softlabel.studies.arguments import problem_from
from softlabel.studies.plan.cells import ATTEMPTS, BUNDLE_NEURONS
from softlabel.studies.plan.result import Plan
from softlabel.studies.plan.search import allowed_misses
from softlabel.studies.plan.settings import LADDERS, PlanSettings
from softlabel.studies.plan.study import PlanStudy
from softlabel.studies.run import Execution, check_run_dir, finish
from softlabel.studies.students.checks import check_test_rows, check_width
from softlabel.studies.students.preparation import TeacherSource, prepared_run
from softlabel.studies.students.recipe import Recipe, check_training, recipe_for, threads_of
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.sources import TeacherOptions, query_teacher, teacher_specification

MAX_SEEDS = 10_000
CONFIRM = 62  # one of them may miss at 90 % and 95 %
DEEP_EPOCHS = 20
log = logging.getLogger("softlabel")


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
        Fresh students that must confirm a width; 0: tolerance limits alone. Default: 62, and 0 for deep students.
    bisections : int, default=3
        Widths that are tried between two of the ladder.
    rival : bool, default=True
        Whether to train the hard-label rival with 8-bit weights of the same size in bytes.
    epochs, batch_size : int, optional
        Passes over the training rows, and rows per step. Default: chosen from the number of training rows.
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
    family: str = "two-layer",
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
    family : {"two-layer", "vgg", "resnet"}
        Family of the students.
    widths : sequence of int, optional
        The ladder of widths. Default: 2, 4, …, 512 neurons (deep students: channels of the first layer).
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
    deep = family != "two-layer"
    ladder = _ladder(widths, family)
    problem = problem_from(X, y, label=label, seed=seed)
    check_test_rows(problem)
    frequent = float(np.bincount(problem.test.y).max() / len(problem.test))
    confirm = _checked(problem, accuracy, family, ladder, seeds, options, frequent)
    if deep:
        problem = _pixel_problem(problem)
    check_run_dir(out)
    executor, _ = execution.start()
    epochs = options.epochs or DEEP_EPOCHS
    network = teacher if deep and isinstance(teacher, str) and teacher.startswith(("vgg", "resnet")) else None

    def predict(pieces: Pieces | None) -> TeacherPredictions:
        if network is not None:
            return _deep_teacher(problem, network, epochs, seed, None if pieces is None else pieces.directory)
        return query_teacher(problem, teacher, options=options.teacher, seed=seed, pieces=pieces)

    def settings_of(source: str, title: str) -> PlanSettings:
        return PlanSettings(
            source=source, data=str(problem), teacher=title, family=family,  # type: ignore[arg-type]
            target=accuracy, widths=ladder, seeds=seeds, share=options.share, confidence=options.confidence,
            bisections=options.bisections, confirm=confirm, rival=options.rival and not deep, seed=seed,
            test_rows=len(problem.test), inputs=problem.X.shape[1], classes=len(problem.classes), frequent=frequent,
            recipe=_recipe(problem, deep, options),
        )  # fmt: skip

    def threads(settings: PlanSettings) -> int:
        together = min(BUNDLE_NEURONS, sum(ladder) * seeds)
        return torch.get_num_threads() if deep else threads_of(settings.recipe, settings.inputs, together)

    specification = teacher_specification(teacher, seed)
    if network is not None:
        specification = {"teacher": network, "epochs": epochs, "seed": seed}
    source = TeacherSource(predict, specification)
    with prepared_run(PlanStudy, problem, source, settings_of, threads, out=out, execution=execution) as run:
        facts = run.teacher.facts(problem, max(1 - accuracy, 0.01), seed)
        return finish(run.study, run.ledger, execution, executor, facts=facts)


def _ladder(widths: Sequence[int] | None, family: str) -> tuple[int, ...]:
    if family not in LADDERS:
        raise unknown("family", family, LADDERS)
    if widths is None:
        return LADDERS[family]
    ladder = tuple(sorted(set(widths)))
    require(
        len(ladder) >= 2 and all(isinstance(width, int) and width >= 1 for width in ladder),
        f"widths must be at least two different positive integers, got {list(widths)}",
    )
    return ladder


def _checked(
    problem: Problem,
    accuracy: float,
    family: str,
    ladder: tuple[int, ...],
    seeds: int,
    options: PlanOptions,
    frequent: float,
) -> int:
    """Number of students that confirm a width; refuses settings that are impossible."""
    deep = family != "two-layer"
    if deep:
        require(not options.search_radius, "search_radius must be False for deep students, which have no radius")
        require(problem.has_images, f"`family` '{family}' needs images: a named set, an NPZ file, or a folder")
    else:
        check_width(ladder[-1], problem)
    _check_target(accuracy, frequent)
    check_count(seeds, "seeds", least=3, most=MAX_SEEDS)
    require(0.5 < options.share < 1, f"share must lie between 0.5 and 1, got {options.share}")
    require(0.5 < options.confidence < 1, f"confidence must lie between 0.5 and 1, got {options.confidence}")
    check_count(options.bisections, "bisections", least=0, most=100)
    check_training(options.epochs, options.batch_size)
    confirm = (0 if deep else CONFIRM) if options.confirm is None else options.confirm
    check_count(confirm, "confirm", least=0, most=MAX_SEEDS)
    misses = allowed_misses(confirm, options.share, (1 - options.confidence) / ATTEMPTS)
    require(
        confirm == 0 or misses >= 0,
        f"confirm must be 0 or larger: {confirm} students cannot confirm a share of {options.share:g} with confidence "
        f"{options.confidence:g}",
    )
    return confirm


def _check_target(accuracy: float, frequent: float) -> None:
    require(isinstance(accuracy, int | float), f"accuracy must be a number, got {accuracy!r}")
    if not 0 < accuracy <= 1:
        hint = f" (for {accuracy:g} per cent write {accuracy / 100:g})" if 1 < accuracy <= 100 else ""
        raise InputError(f"accuracy must be above 0 and at most 1, got {accuracy:g}{hint}")
    require(
        accuracy > frequent,
        f"accuracy must be above {frequent:.3f}, the share of the most frequent class, got {accuracy:g}",
    )


def _pixel_problem(problem: Problem) -> Problem:
    """The problem with pixels from 0 to 1, channels first, as its inputs."""
    images = problem.images
    return replace(problem, X=images.reshape(len(images), -1), image_shape=images.shape[1:], channels_last=False,
                   scaler=Scaler("none"))  # fmt: skip


def _recipe(problem: Problem, deep: bool, options: PlanOptions) -> Recipe:
    if not deep:
        recipe = recipe_for(len(problem.train), options.epochs, options.batch_size, options.search_radius)
        return recipe.model_copy(update={"tuning_seeds": recipe.tuning_seeds // 2})  # at two widths
    return Recipe(
        epochs=options.epochs or DEEP_EPOCHS, batch_size=options.batch_size or 128, learning_rates=(1e-3,),
        temperatures=(2.0, 4.0), smoothings=(), tuning_seeds=1,
    )  # fmt: skip


def _deep_teacher(problem: Problem, name: str, epochs: int, seed: int, directory: Path | None) -> TeacherPredictions:
    """A deep network of this name, trained on the training rows at full width.

    directory   for a checkpoint after every epoch, from which an interrupted training goes on
    """
    from softlabel.networks.deep import DeepTraining, Images, network_logits, parameter_count
    from softlabel.studies.distill import image_parts, train_teacher

    began = time.perf_counter()
    training = DeepTraining(epochs=epochs, patience=max(3, epochs // 4), seed=seed)
    network = train_teacher(
        name, image_parts(problem), 1.0, training, directory,
        lambda arm, epoch, at: log.info("teacher %s, epoch %d: accuracy %.2f%%", name, epoch, 100 * at.accuracy),
    )  # fmt: skip
    images = Images.from_arrays(problem.images, problem.y, len(problem.classes))
    logits = network_logits(network, images.pixels).double().numpy()
    return TeacherPredictions(
        logits, f"{name}, trained here on the training rows", "logits", seconds=time.perf_counter() - began,
        parameters=parameter_count(network),
    )  # fmt: skip
