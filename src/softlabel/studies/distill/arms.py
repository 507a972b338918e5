"""Training of the teacher and of every arm, with a checkpoint per epoch; scores and exported files of the students."""

import copy
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from softlabel.export import export_onnx, save_student
from softlabel.networks.deep import (
    CachedLogits,
    DeepRun,
    DeepTraining,
    Images,
    Objective,
    OnlineTeacher,
    ViewLogits,
    agreement,
    build_network,
    cached_logits,
    network_logits,
    parameter_count,
    score_logits,
    train_network,
)
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import SoftLabels
from softlabel.networks.deep.training import Epoch
from softlabel.report.progress import open_console, step_progress
from softlabel.studies.distill.parts import ImageParts
from softlabel.studies.distill.recipe import DistillRecipe
from softlabel.studies.distill.result import DistilledArm, ExportedStudent, TeacherScores
from softlabel.studies.distill.teacher import ReadyTeacher
from softlabel.teachers.logit_files import remembered_logits
from softlabel.teachers.predictions import call_milliseconds

EpochProgress = Callable[[str, int, Epoch], None]
"""Called with the arm, the epoch and its record after every epoch."""

log = logging.getLogger("softlabel")


def train_teacher(
    name: str,
    parts: ImageParts,
    width_multiplier: float,
    training: DeepTraining,
    directory: Path | None,
    progress: bool | EpochProgress,
) -> Prepared:
    """Train a network by name on the labels, as a teacher; a checkpoint in the directory is resumed from."""
    network = build_network(name, parts.train.classes, parts.train.shape, width_multiplier, training.seed)
    with _reports("teacher", training.epochs, progress) as callback:
        run = train_network(
            prepared_for(network, parts.train), parts.train, parts.validation, training,
            checkpoint=_checkpoint(directory, "teacher"), callback=callback,
        )  # fmt: skip
    assert isinstance(run.network, Prepared)
    return run.network


def train_arms(
    parts: ImageParts,
    teacher: ReadyTeacher,
    initial: Prepared,
    recipe: DistillRecipe,
    run_dir: Path | None = None,
    progress: bool | EpochProgress = False,
) -> dict[str, DeepRun]:
    """Train a copy of the initial network in every arm; checkpoints in the run directory are resumed from."""
    soft = _soft_labels(parts, teacher, recipe, run_dir)
    runs = {}
    for arm, objective in recipe.arms.items():
        match = recipe.match if arm == "soft" else None
        with _reports(arm, recipe.training.epochs, progress) as callback:
            runs[arm] = train_network(
                copy.deepcopy(initial), parts.train, parts.validation, recipe.training, objective,
                soft=soft if objective.needs_logits else None, teacher=None if match is None else teacher.network,
                match=match, checkpoint=_checkpoint(run_dir, arm), callback=callback,
            )  # fmt: skip
    return runs


def _checkpoint(directory: Path | None, arm: str) -> Path | None:
    return None if directory is None else directory / "checkpoints" / f"{arm}.safetensors"


@contextmanager
def _reports(arm: str, epochs: int, progress: bool | EpochProgress) -> Iterator[Callable[[int, Epoch], None]]:
    """The callback of a training: the user's own, or one that moves a bar, or one that logs a line per epoch."""
    if callable(progress):
        yield lambda epoch, at: progress(arm, epoch, at)
        return
    level = logging.DEBUG if open_console(progress)[1] else logging.INFO
    with step_progress(f"{arm}: epochs", epochs, shown=progress) as move:

        def report(epoch: int, at: Epoch) -> None:
            move(epoch)
            accuracy = 100 * at.accuracy
            log.log(level, "%s, epoch %d: loss %.4f, validation accuracy %.2f%%", arm, epoch, at.loss, accuracy)

        yield report


def _soft_labels(
    parts: ImageParts, teacher: ReadyTeacher, recipe: DistillRecipe, run_dir: Path | None
) -> SoftLabels | None:
    """Soft labels of exactly the images that the student sees."""
    training, logits = recipe.training, teacher.logits
    if not recipe.objective.needs_logits:
        return None
    if isinstance(logits, CachedLogits):
        return logits
    if training.augment and training.views is not None and not recipe.online:
        return ViewLogits(logits, parts.train, training.seed)
    if training.augment or recipe.online:
        return OnlineTeacher(logits)
    if run_dir is None or teacher.network is None:
        return cached_logits(logits, parts.train)
    return remembered_logits(run_dir, logits, network_fingerprint(teacher.network), parts.train)


def score_teacher(teacher: ReadyTeacher, logits: Tensor | None, test: Images) -> TeacherScores:
    """Scores of a teacher with these logits of the test images, its size and its speed."""
    scores = {} if logits is None else asdict(score_logits(logits, test.labels))
    if teacher.network is not None:
        size = {"parameters": parameter_count(teacher.network), "milliseconds": _milliseconds(teacher.network, test)}
    elif (onnx := teacher.onnx) is not None:
        milliseconds = call_milliseconds(lambda: onnx(test.pixels[:1]))
        size = {"parameters": onnx.parameters, "milliseconds": milliseconds}
    else:
        size = {}
    return TeacherScores(**scores, **size)


def score_arm(run: DeepRun, objective: Objective, test: Images, teacher: Tensor | None, device: str) -> DistilledArm:
    """Scores of a trained student; `teacher` are the teacher's logits of the test images."""
    logits = network_logits(run.network, test.pixels, device)
    compared: dict[str, Any] = {"agreement": None, "kl": None} if teacher is None else agreement(logits, teacher)
    return DistilledArm(
        **asdict(score_logits(logits, test.labels)),
        **compared,
        validation_accuracy=run.accuracy,
        epochs=len(run.epochs),
        best_epoch=run.best,
        parameters=parameter_count(run.network),
        milliseconds=_milliseconds(run.network, test),
        softening=objective.softening,
    )


def _milliseconds(network: nn.Module, images: Images) -> float:
    """Median milliseconds for one image on this machine."""
    device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    network.eval()

    def predict() -> None:
        network(images.pixels[:1].to(device))
        if device.type == "cuda":
            torch.cuda.synchronize()

    with torch.no_grad():
        return call_milliseconds(predict)


def export_arm(
    arm: str, network: nn.Module, objective: Objective, test: Images, about: dict[str, Any], directory: Path
) -> ExportedStudent:
    """Write a student as ONNX and, if `about` has the width of a network by name, as safetensors.

    about   "network" (name), "classes" and, for a network by name, "width" (its multiplier)
    """
    assert isinstance(network, Prepared)
    softening, file = objective.softening, directory / f"{arm}.onnx"
    parity = export_onnx(network, test.pixels, file, about["classes"], softening, f"{about['network']}; {objective}")
    weights = None
    if "width" in about:
        weights = directory / f"{arm}.safetensors"
        save_student(weights, network, {**about, "image": list(test.shape), "arm": arm, **softening.to_dict()})
    return ExportedStudent(file, parity, file.stat().st_size, weights)
