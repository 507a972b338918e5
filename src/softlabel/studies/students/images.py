"""Problems of images for students that are networks, and teachers that are deep networks by name."""

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from softlabel.data.problem import Problem
from softlabel.data.scaling import Scaler
from softlabel.lab import Pieces
from softlabel.studies.students.families import StudentFamily
from softlabel.studies.students.preparation import TeacherSource
from softlabel.teachers.predictions import TeacherPredictions
from softlabel.teachers.sources import TeacherOptions, query_teacher, teacher_specification

EPOCHS = 20  # of a deep teacher, unless a user chooses their number
log = logging.getLogger("softlabel")


def image_problem(problem: Problem, family: StudentFamily) -> Problem:
    """The problem as students of the family see it: networks take images as images."""
    return pixel_problem(problem) if family.takes_images and problem.has_images else problem


def pixel_problem(problem: Problem) -> Problem:
    """The problem with pixels from 0 to 1, channels first, as its inputs."""
    images = problem.images
    return replace(problem, X=images.reshape(len(images), -1), image_shape=images.shape[1:], channels_last=False,
                   scaler=Scaler("none"))  # fmt: skip


def teacher_source(
    problem: Problem,
    teacher: Any,
    family: StudentFamily,
    *,
    epochs: int,
    seed: int,
    options: TeacherOptions,
    transfer: Any = None,
) -> TeacherSource:
    """Where the predictions of a teacher come from; for students of images it may be the name of a network.

    epochs      of a deep teacher's training
    """
    named = isinstance(teacher, str) and teacher.startswith(("vgg", "resnet"))
    if family.needs_images and named:

        def deep(pieces: Pieces | None) -> TeacherPredictions:
            return _deep_teacher(problem, teacher, epochs, seed, None if pieces is None else pieces.directory)

        return TeacherSource(deep, {"teacher": teacher, "epochs": epochs, "seed": seed})

    def predict(pieces: Pieces | None) -> TeacherPredictions:
        return query_teacher(problem, teacher, transfer=transfer, options=options, seed=seed, pieces=pieces)

    return TeacherSource(predict, teacher_specification(teacher, seed))


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
