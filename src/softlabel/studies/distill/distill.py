"""`distill`: from images and a teacher to trained students, their scores and exported files."""

import logging
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch import nn

from softlabel.data import load
from softlabel.data.problem import Problem
from softlabel.documents import json_text
from softlabel.errors import require
from softlabel.lab import claim_run_dir
from softlabel.lab.writable import check_directory
from softlabel.networks.deep import DeepTraining, FeatureMatch, Images, Objective, build_network
from softlabel.networks.deep.building import MULTIPLIERS
from softlabel.networks.deep.parity import precision_parity
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import LogitFunction
from softlabel.numerics.files import write_text
from softlabel.ranges import check_positive, check_seed
from softlabel.studies.distill.arms import (
    EpochProgress,
    export_arm,
    score_arm,
    score_teacher,
    train_arms,
    train_teacher,
)
from softlabel.studies.distill.parts import ImageParts, image_parts
from softlabel.studies.distill.recipe import DistillRecipe
from softlabel.studies.distill.result import Distillation
from softlabel.studies.distill.teacher import ReadyTeacher, describe, open_teacher, with_stored_logits

log = logging.getLogger("softlabel")


@dataclass(frozen=True)
class DistillOptions:
    """Less common settings of `distill`.

    Parameters
    ----------
    width_multiplier : float, default=1.0
        Factor of the numbers of channels and units of a student by name.
    teacher_width_multiplier : float, default=1.0
        The same for a teacher by name.
    teacher_output : str, optional
        Output of an ONNX teacher to use. Default: the first table of numbers with a column for every class.
    teacher_scale : float, default=1.0
        Factor for pixels in [0, 1] before they are passed to an ONNX teacher, such as 255.
    progress : bool or callable, default=True
        Whether to show a progress bar in a terminal or a notebook, or a function that is called as
        ``progress(arm, epoch, record)`` after every epoch.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.DistillOptions(width_multiplier=0.25).teacher_width_multiplier
    1.0
    """

    width_multiplier: float = 1.0
    teacher_width_multiplier: float = 1.0
    teacher_output: str | None = None
    teacher_scale: float = 1.0
    progress: bool | EpochProgress = True

    def __post_init__(self) -> None:
        for name in ("width_multiplier", "teacher_width_multiplier"):
            check_positive(getattr(self, name), name, *MULTIPLIERS)
        check_positive(self.teacher_scale, "teacher_scale")


def distill(
    data: Any,
    teacher: nn.Module | LogitFunction | str | Path,
    student: nn.Module | str = "vgg2+3",
    *,
    label: Any = None,
    training: DeepTraining | None = None,
    objective: Objective | None = None,
    smoothing: float = 0.0,
    match: FeatureMatch | str | None = None,
    online: bool = False,
    seed: int = 0,
    out: str | Path | None = None,
    options: DistillOptions | None = None,
) -> Distillation:
    """Train a deep student on hard labels and on a teacher's soft labels, compare both, and export them.

    Every arm begins with the same initial weights. Use `verdict` to decide whether soft labels help beyond the noise
    of seeds, and for tables.

    Parameters
    ----------
    data : str, path, tuple or Problem
        Images: the name of a data set, an NPZ file with `images` and `labels`, a folder with one subfolder per class,
        arrays ``(X, y)`` with images as integers up to 255 or fractions from 0 to 1, channels first or last, or a
        `Problem`; see `load`.
    teacher : torch.nn.Module, callable, str or path
        A trained network, a function from images (n, channels, height, width) with pixels in [0, 1] to logits or
        probabilities (n, classes), an ONNX file, a file of logits for all images (.npy, .safetensors), or the name of
        a network that is trained here, such as "vgg8+3".
    student : torch.nn.Module or str, default="vgg2+3"
        An untrained network, or the name of one: "vgg1+3" to "vgg19+3", "resnet8", "resnet14", …
    label : str, int or array, optional
        Label column of a file or a frame, or the labels of an array `data`; see `load`.
    training : DeepTraining, optional
        Epochs, batch size, learning rate, augmentation, precision and device.
    objective : Objective, optional
        Objective of the soft arm. Default: soft labels only, at temperature 4 on both sides.
    smoothing : float, default=0.0
        Label smoothing of an additional arm "smooth"; 0: no such arm.
    match : FeatureMatch or str, optional
        Layers "STUDENT_LAYER:TEACHER_LAYER" whose features are matched as well; the teacher must be a torch network.
    online : bool, default=False
        Whether the teacher is evaluated on every batch instead of once.
    seed : int, default=0
        Seed of the split, of the initial weights and, unless `training` is passed, of the training.
    out : str or path, optional
        Directory of the run: checkpoints, the teacher's logits, and the students as ONNX and safetensors. The same
        call goes on where it was interrupted. Default: nothing is written.
    options : DistillOptions, optional
        Less common settings.

    Returns
    -------
    Distillation
        The students, their scores and the teacher's, and the exported files.

    Raises
    ------
    InputError
        If the data have no images, the teacher does not fit them, or `out` belongs to another run.

    Examples
    --------
    >>> import numpy as np
    >>> import softlabel as sl
    >>> y = np.arange(60) % 2
    >>> pixels = (np.random.default_rng(0).random((60, 1, 8, 8)) + y[:, None, None, None]) / 2
    >>> options = sl.DistillOptions(width_multiplier=0.1, teacher_width_multiplier=0.2, progress=False)
    >>> training = sl.DeepTraining(epochs=2)
    >>> result = sl.distill((pixels, y), "vgg1+3", "vgg1+3", training=training, options=options)
    >>> sorted(result.arms)
    ['hard', 'soft']
    >>> 0 <= result.arms["soft"].accuracy <= 1
    True
    """
    options = options or DistillOptions()
    check_seed(seed)
    recipe = DistillRecipe.from_arguments(training, objective, smoothing, match, online, seed)
    run_dir = None if out is None else Path(out)
    check_directory(run_dir, folders=("students", "checkpoints"))
    problem = load(data, label, seed=seed)
    parts = image_parts(problem)
    log.info("%s: %s images %s, classes %s", problem.name, f"{len(problem):,}", parts.train.shape,
             ", ".join(problem.classes))  # fmt: skip
    network = _student(student, parts, options, seed)
    ready = open_teacher(
        teacher, problem, parts, width_multiplier=options.teacher_width_multiplier, output=options.teacher_output,
        scale=options.teacher_scale, device=recipe.training.device,
    )  # fmt: skip
    recipe.check(parts, ready, network)
    initial = network if isinstance(network, Prepared) else prepared_for(network, parts.train)
    about: dict[str, Any] = {"network": describe(student)[0], "classes": list(problem.classes)}
    if isinstance(student, str):
        about["width"] = options.width_multiplier
    settings = {} if run_dir is None else _settings(data, problem, teacher, student, recipe, options, seed)
    with nullcontext() if run_dir is None else claim_run_dir(run_dir, settings):
        ready = _prepared(ready, problem, parts, recipe, options, run_dir)
        runs = train_arms(parts, ready, initial, recipe, run_dir, options.progress)
        logits = ready.logits_of_test(parts.test)
        result = Distillation(
            dataset=str(data) if isinstance(data, str | Path) else problem.name,
            student=about["network"],
            images=parts.to_dict(),
            teacher=score_teacher(ready, logits, parts.test),
            arms={
                arm: score_arm(run, recipe.arms[arm], parts.test, logits, recipe.training.device)
                for arm, run in runs.items()
            },
            students={arm: run.network for arm, run in runs.items()},  # type: ignore[misc]
            precision=_precision(initial, parts.train, recipe.training),
            training=recipe.training,
            objective=recipe.objective,
        )
        return result if run_dir is None else _written(result, recipe, parts.test, about, run_dir)


def _student(student: nn.Module | str, parts: ImageParts, options: DistillOptions, seed: int) -> nn.Module:
    """The untrained student."""
    if not isinstance(student, str):
        require(
            options.width_multiplier == 1,
            f"`width_multiplier` applies to students by name only, got {options.width_multiplier} with a network",
        )
        return student
    return build_network(student, parts.train.classes, parts.train.shape, options.width_multiplier, seed + 1)


def _settings(
    data: Any, problem: Problem, teacher: Any, student: Any, recipe: DistillRecipe, options: DistillOptions, seed: int
) -> dict[str, Any]:
    """What a run directory belongs to."""
    teacher_name, teacher_content = describe(teacher)
    student_name, student_content = describe(student)
    rest = {name: value for name, value in vars(options).items() if name != "progress"}
    return {
        "data": str(data) if isinstance(data, str | Path) else problem.name,
        "problem": problem.fingerprint,
        "classes": list(problem.classes),
        "teacher": teacher_name,
        "teacher_content": teacher_content,
        "student": student_name,
        "student_content": student_content,
        **rest,
        **recipe.settings(),
        "seed": seed,
    }


def _prepared(
    teacher: ReadyTeacher,
    problem: Problem,
    parts: ImageParts,
    recipe: DistillRecipe,
    options: DistillOptions,
    run_dir: Path | None,
) -> ReadyTeacher:
    """The teacher after its training, or with its logits of all images where it is evaluated once."""
    training = recipe.training
    if teacher.untrained is not None:
        width_multiplier = options.teacher_width_multiplier
        network = train_teacher(teacher.untrained, parts, width_multiplier, training, run_dir, options.progress)
        return ReadyTeacher.from_network(network, training.device)
    if teacher.onnx is not None and not (training.augment or recipe.online):
        return with_stored_logits(teacher.onnx, problem, parts, run_dir)
    return teacher


def _precision(initial: nn.Module, images: Images, training: DeepTraining) -> dict[str, Any]:
    if not training.rounded:
        return {"products": "float32", "parity": None}
    return {"products": "bfloat16", "parity": asdict(precision_parity(initial, images))}


def _written(
    result: Distillation, recipe: DistillRecipe, test: Images, about: dict[str, Any], run_dir: Path
) -> Distillation:
    """The result with its exported students and its JSON document in the run directory."""
    result.run_dir = run_dir
    result.exported = {
        arm: export_arm(arm, network, recipe.arms[arm], test, about, run_dir / "students")
        for arm, network in result.students.items()
    }
    write_text(run_dir / "results.json", json_text(result.to_dict()) + "\n")
    return result
