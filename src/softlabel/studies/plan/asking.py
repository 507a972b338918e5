"""`plan`: from data, a teacher and a target to the smallest student, a document, a page and exported files."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softlabel.data.problem import Problem, as_problem
from softlabel.errors import InputError, require, unknown
from softlabel.lab import Progress
from softlabel.lab.artifacts import Artifacts
from softlabel.ranges import check_count, check_seed
from softlabel.studies.plan.cells import ATTEMPTS, BUNDLE_NEURONS
from softlabel.studies.plan.exporting import export_planned
from softlabel.studies.plan.families import images_of
from softlabel.studies.plan.search import allowed_misses
from softlabel.studies.plan.settings import LADDERS, PlanSettings
from softlabel.studies.practice import (
    Recipe,
    TeacherSource,
    check_test_rows,
    check_training,
    check_width,
    question_run,
    recipe_for,
    threads_of,
)
from softlabel.studies.running import Answer, check_run_folder, finish_question
from softlabel.teachers.answers import TeacherAnswers
from softlabel.teachers.asking import ask_teacher, is_automatic
from softlabel.teachers.automatic import specification
from softlabel.teachers.pieces import without_keeping

MOST_SEEDS = 10_000
CONFIRM = 62  # one of them may miss at 90 % and 95 %
DEEP_EPOCHS = 20


class Plan(Answer):
    """What came of it: the JSON document, plain sentences, and the page."""

    def width(self, arm: str = "soft") -> int | None:
        """The planned width of an arm."""
        return self.document["arms"][arm]["width"]


def plan(
    inputs: Any,
    labels: Any = None,
    teacher: Any = "auto",
    *,
    accuracy: float,
    widths: Sequence[int] | None = None,
    seeds: int = 10,
    share: float = 0.9,
    confidence: float = 0.95,
    confirm: int | None = None,
    bisections: int = 3,
    rival: bool = True,
    family: str = "two-layer",
    epochs: int | None = None,
    batch: int | None = None,
    search_radius: bool = False,
    scale: str | None = None,
    seed: int = 0,
    folder: Path | str | None = None,
    teacher_output: str | None = None,
    teacher_kind: str | None = None,
    id_column: str | None = None,
    again: str | None = None,
    note: Callable[[str], None] | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Plan:
    """The smallest student whose fresh copies reach a test accuracy with probability `share`, on hard and soft labels.

    inputs, labels   a table (array or frame) and one label per row; a file, a data set's name or a frame, and the name
                     of the label column; or a `Problem` alone
    teacher          "auto", an ONNX file, a file of soft labels, a fitted model, a function; deep: also vgg8+3, …
    accuracy         the target, above what the most frequent class gives and at most 1
    widths           the ladder; by default 2, 4, …, 512 neurons (deep: channels of the first layer)
    confirm          fresh students that must confirm a width, 62 by default (deep: none); 0: tolerance limits alone
    folder           of the run; the same call goes on where it was interrupted
    """
    say = note or (lambda text: None)
    check_seed(seed)
    problem = as_problem(inputs, labels, scale=scale, seed=seed, id_column=id_column)
    if family not in LADDERS:
        raise unknown("family", family, LADDERS)
    deep = family != "two-layer"
    if deep:
        require(not search_radius, "deep students have no radius to search: leave it out")
        images_of(problem, "validation")
    ladder = _ladder(widths, family)
    check_test_rows(problem)
    frequent = float(np.bincount(problem.truth("test")).max() / len(problem.parts["test"]))
    _check_target(accuracy, frequent)
    _check_search(seeds, share, confidence, bisections)
    check_training(epochs, batch)
    check_run_folder(folder)
    if not deep:
        check_width(ladder[-1], problem)
    confirm = (0 if deep else CONFIRM) if confirm is None else confirm
    check_count(confirm, "confirm", least=0, most=MOST_SEEDS)
    least = allowed_misses(confirm, share, (1 - confidence) / ATTEMPTS)
    require(
        confirm == 0 or least >= 0,
        f"{confirm} students cannot confirm a share of {share:g} with confidence {confidence:g}; take more, or 0",
    )

    network = teacher if deep and isinstance(teacher, str) and teacher.startswith(("vgg", "resnet")) else None
    specified = specification(seed) if is_automatic(teacher) else None
    if network is not None:
        specified = {"teacher": network, "epochs": epochs or DEEP_EPOCHS, "seed": seed}

    def ask(artifacts: Artifacts | None) -> TeacherAnswers:
        if network is not None:
            kept = None if artifacts is None else artifacts.folder
            return _deep_teacher(problem, network, epochs or DEEP_EPOCHS, seed, say, kept)
        return ask_teacher(problem, teacher, output=teacher_output, kind=teacher_kind, id_column=id_column, seed=seed,
                           watch=say, keep=without_keeping if artifacts is None else artifacts.keep)  # fmt: skip

    def settings_of(held: str, called: str) -> PlanSettings:
        return PlanSettings(
            held=held, data=str(problem), teacher=called, family=family,  # type: ignore[arg-type]
            target=accuracy, widths=ladder, seeds=seeds, share=share, confidence=confidence, bisections=bisections,
            confirm=confirm, rival=rival and not deep, seed=seed, test_rows=len(problem.parts["test"]),
            inputs=problem.inputs.shape[1], classes=len(problem.classes), frequent=frequent,
            recipe=_recipe(problem, deep, epochs, batch, search_radius),
        )  # fmt: skip

    def threads(settings: PlanSettings) -> int:
        together = min(BUNDLE_NEURONS, sum(ladder) * seeds)
        return torch.get_num_threads() if deep else threads_of(settings.recipe, settings.inputs, together)

    with question_run("plan", problem, TeacherSource(ask, specified), settings_of, threads, folder, say) as run:
        facts = run.consulted.facts(max(1 - accuracy, 0.01), seed)
        held, place = run.consulted.held, run.folder
        done = finish_question("plan", run.settings, run.ledger, facts=facts, again=again, watch=watch,
                               afterwards=lambda judged: export_planned(judged, held, place))  # fmt: skip
    return Plan(**vars(done))


def _ladder(widths: Sequence[int] | None, family: str) -> tuple[int, ...]:
    if widths is None:
        return LADDERS[family]
    ladder = tuple(sorted(set(widths)))
    require(
        len(ladder) >= 2 and all(isinstance(width, int) and width >= 1 for width in ladder),
        f"widths must be at least two different whole numbers from 1 on, got {list(widths)}",
    )
    return ladder


def _check_search(seeds: int, share: float, confidence: float, bisections: int) -> None:
    check_count(seeds, "seeds", least=3, most=MOST_SEEDS)
    require(0.5 < share < 1, f"share must lie between 0.5 and 1, got {share}")
    require(0.5 < confidence < 1, f"confidence must lie between 0.5 and 1, got {confidence}")
    check_count(bisections, "bisections", least=0, most=100)


def _check_target(accuracy: float, frequent: float) -> None:
    require(isinstance(accuracy, int | float), f"accuracy must be a number, got {accuracy!r}")
    if not 0 < accuracy <= 1:
        hint = f" (for {accuracy:g} per cent write {accuracy / 100:g})" if 1 < accuracy <= 100 else ""
        raise InputError(f"accuracy must be a share above 0 and up to 1, got {accuracy:g}{hint}")
    require(
        accuracy > frequent,
        f"accuracy {accuracy:g} is no target: always saying the most frequent class gives {frequent:.3f} already; "
        "ask for more",
    )


def _recipe(problem: Problem, deep: bool, epochs: int | None, batch: int | None, search_radius: bool) -> Recipe:
    rows = len(problem.parts["train"])
    if not deep:
        recipe = recipe_for(rows, epochs, batch, search_radius)
        return recipe.model_copy(update={"tuning_seeds": recipe.tuning_seeds // 2})  # at two widths
    return Recipe(
        epochs=epochs or DEEP_EPOCHS, batch=batch or 128, steps=(1e-3,), temperatures=(2.0, 4.0), smoothings=(),
        tuning_seeds=1,
    )  # fmt: skip


def _deep_teacher(
    problem: Problem, name: str, epochs: int, seed: int, say: Callable[[str], None], folder: Path | None
) -> TeacherAnswers:
    """A deep network of that name, trained on the training rows at the students' full width.

    folder      for a checkpoint after every epoch, from which an interrupted training goes on
    """
    from softlabel.networks.deep import Images, Training, network_logits, parameter_count
    from softlabel.studies.distilling import Parts, train_teacher

    train, validation, test = (images_of(problem, part) for part in ("train", "validation", "test"))
    rows = problem.parts["train"], problem.parts["validation"], problem.parts["test"]
    began = time.perf_counter()
    training = Training(epochs=epochs, patience=max(3, epochs // 4), seed=seed)
    network = train_teacher(
        name, Parts(train, validation, test, rows), 1.0, training, folder,
        lambda arm, epoch, found: say(f"teacher {name}, epoch {epoch}: validation accuracy {found.accuracy:.2%}"),
    )  # fmt: skip
    assert problem.image_shape is not None
    whole = Images.of(problem.inputs.reshape(-1, *problem.image_shape), problem.labels, len(problem.classes))
    logits = network_logits(network, whole.pixels).double().numpy()
    return TeacherAnswers(
        logits, f"{name}, trained here on the training rows", "logits", seconds=time.perf_counter() - began,
        parameters=parameter_count(network),
    )  # fmt: skip
