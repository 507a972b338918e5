"""A deep student from a user's images and teacher: hard, smoothed and soft arms from one start, compared and exported.

Everything a run needs to go on after an interruption lies in its folder: the teacher's logits, and a checkpoint for
every arm after every epoch.
"""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.data import split
from softlabel.data.image_sets import ImageSet
from softlabel.documents import json_text
from softlabel.errors import require
from softlabel.export import export_onnx, save_student
from softlabel.lab.folder import holds_folder
from softlabel.lab.writable import check_folder
from softlabel.networks.deep import (
    DeepRun,
    FeatureMatch,
    Images,
    Objective,
    OnlineTeacher,
    Training,
    ViewLogits,
    agreement,
    build_network,
    cached_logits,
    module_answer,
    network_logits,
    parameter_count,
    score_logits,
    train_network,
)
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.features import Tap, feature_loss
from softlabel.networks.deep.parity import precision_parity
from softlabel.networks.deep.prepared import Prepared, prepared_for
from softlabel.networks.deep.teaching import Answer, CachedLogits, SoftLabels
from softlabel.networks.deep.training import Epoch
from softlabel.numerics.files import write_text
from softlabel.numerics.local_files import require_regular_file
from softlabel.studies.practice.sizes import SizeComparison
from softlabel.teachers.agreement import check_order, refuse_swapped
from softlabel.teachers.logit_files import file_fingerprint, load_logits, remembered_logits
from softlabel.teachers.onnx_file import OnnxTeacher

PROBED = 2048  # training images whose labels a model is held against before anything is learned from it
TIMED = 30
Watch = Callable[[str, int, Epoch], None]


@dataclass(frozen=True, eq=False)
class Parts:
    """Training, validation and test images, and which rows of the whole set each has."""

    train: Images
    validation: Images
    test: Images
    rows: tuple[np.ndarray, np.ndarray, np.ndarray]


def cut(held: ImageSet, seed: int) -> Parts:
    """80/10/10 by the seed; with an official test part that one, and 10 per cent of the rest for validation."""
    whole = _whole(held)
    if held.test is None:
        rows = split(len(held), (0.8, 0.1, 0.1), seed, held.labels)
    else:
        test = np.arange(len(held))[held.test]
        rest = np.setdiff1d(np.arange(len(held)), test)
        kept, validation = split(len(rest), (0.9, 0.1), seed, held.labels[rest])
        rows = (rest[kept], rest[validation], test)
    train, validation, test_part = (whole.rows(part) for part in rows)
    return Parts(train, validation, test_part, (rows[0], rows[1], rows[2]))


@dataclass(frozen=True, eq=False)
class Distilled:
    """What came of it: a JSON document, and the students by arm (each with its best weights)."""

    document: dict[str, Any]
    students: dict[str, Prepared]


@holds_folder
def distill(
    parts: Parts,
    teacher: nn.Module | Answer | CachedLogits,
    student: nn.Module,
    *,
    training: Training | None = None,
    objective: Objective | None = None,
    smoothing: float = 0.0,
    online: bool = False,
    match: FeatureMatch | None = None,
    test_logits: Tensor | None = None,
    teacher_facts: dict[str, Any] | None = None,
    about: dict[str, Any] | None = None,
    folder: str | Path | None = None,
    watch: Watch | None = None,
) -> Distilled:
    """Train the student from hard labels, from smoothed ones (where `smoothing` > 0) and from the teacher.

    teacher         a torch network, any function from images to logits, or logits of the training images
    student         an untrained network; every arm starts from a copy of it, behind `prepared_for` where it is not yet
    objective       of the soft arm; by default soft labels alone at temperature 4 on both sides
    online          the teacher runs on every batch instead of once
    test_logits     the teacher's on the test images, where it is given as logits
    teacher_facts   parameters and milliseconds of a teacher that is no torch network
    about           network, width and classes, so that saved students can be built again
    folder          for checkpoints, the teacher's logits, and the students as safetensors and ONNX
    """
    folder = None if folder is None else Path(folder)
    training = training or Training()
    objective = objective or Objective(1.0, 4.0)
    check_distillation(parts, teacher, student, training, objective, smoothing, online, match)
    check_folder(folder, "folder", folders=("students", "checkpoints"))
    check_teacher(teacher, parts.train, (about or {}).get("classes"), device=training.device)
    start = student if isinstance(student, Prepared) else prepared_for(student, parts.train)
    soft = _soft_labels(parts, teacher, training, objective, online, folder)
    network = teacher if isinstance(teacher, nn.Module) else None
    arms: dict[str, tuple[Objective, SoftLabels | None, FeatureMatch | None]] = {"hard": (Objective(), None, None)}
    if smoothing > 0:
        arms["smooth"] = (Objective(smoothing=smoothing), None, None)
    arms["soft"] = (objective, soft if objective.needs_logits else None, match)
    runs: dict[str, DeepRun] = {}
    for arm, (kind, labels, matched) in arms.items():
        runs[arm] = train_network(
            copy.deepcopy(start), parts.train, parts.validation, training, kind, soft=labels,
            teacher=network if matched is not None else None, match=matched,
            checkpoint=None if folder is None else folder / "checkpoints" / f"{arm}.safetensors",
            observe=None if watch is None else (lambda epoch, found, arm=arm: watch(arm, epoch, found)),
        )  # fmt: skip
    taught = test_logits if test_logits is not None else _test_logits(teacher, parts.test, training.device)
    students = {arm: run.network for arm, run in runs.items()}
    document = {
        "images": {
            "train": len(parts.train), "validation": len(parts.validation), "test": len(parts.test),
            "shape": list(parts.train.shape), "classes": parts.train.classes,
        },
        "teacher": _teacher_scores(teacher, taught, parts.test) | (teacher_facts or {}),
        "arms": {
            arm: _arm(run, parts.test, taught, training.device)
            | {"probabilities_are": arms[arm][0].softening.meaning, **arms[arm][0].softening.to_dict()}
            for arm, run in runs.items()
        },
        "precision": _precision(start, parts.train, training),
        "training": asdict(training),
        "objective": asdict(objective),
        "exported": {},
    }  # fmt: skip
    size = SizeComparison(document["arms"]["soft"]["parameters"], document["teacher"]["parameters"])
    warning = size.warning()
    document |= {"size": size.document(), "warnings": [] if warning is None else [warning]}
    if folder is not None:
        objectives = {arm: kind for arm, (kind, _, _) in arms.items()}
        document["exported"] = _export(students, objectives, parts.test, about, folder)
        write_text(folder / "results.json", json_text(document) + "\n")
    return Distilled(document, students)  # type: ignore[arg-type]


def check_distillation(
    parts: Parts,
    teacher: nn.Module | Answer | CachedLogits,
    student: nn.Module,
    training: Training,
    objective: Objective,
    smoothing: float,
    online: bool,
    match: FeatureMatch | None,
) -> None:
    """Refuse what cannot work before anything is trained."""
    require(0 <= smoothing < 1, f"smoothing must lie in [0, 1), got {smoothing}")
    require(
        not (objective.needs_logits and isinstance(teacher, CachedLogits) and (training.augment or online)),
        "a teacher given as logits can neither run online nor label augmented images; give the teacher itself",
    )
    if match is None:
        return
    require(objective.feature_weight > 0, "matched features need a feature weight above 0")
    require(isinstance(teacher, nn.Module), "features can be matched with a torch network as teacher only")
    assert isinstance(teacher, nn.Module)
    few, taps = parts.train.pixels[:2], [Tap(student, match.student_layer), Tap(teacher, match.teacher_layer)]
    try:
        network_logits(student.cpu(), few)
        network_logits(teacher.cpu(), few)
        feature_loss(taps[0].take(), taps[1].take(), match.seed)
    finally:
        for tap in taps:
            tap.close()


@dataclass(frozen=True, eq=False)
class GivenTeacher:
    """A teacher made ready: what `distill` learns from, and where known its logits on the test images and facts."""

    teacher: Answer | CachedLogits
    test_logits: Tensor | None = None
    facts: dict[str, Any] | None = None


def open_teacher(path: Path, output: str | None, scale: float, held: ImageSet, parts: Parts) -> GivenTeacher:
    """The teacher in an ONNX file or a file of logits (.npy, .safetensors); refused if it does not fit the images."""
    require(path.exists(), f"teacher '{path}' does not exist")
    require_regular_file(path, "teacher ")
    name = f"teacher '{path}'"
    if path.suffix == ".onnx":
        answer = OnnxTeacher(path, parts.train.classes, output, scale)
        answer.columns(parts.train.pixels[:2])
        answer.decide(parts.train.pixels)
        check_teacher(answer, parts.train, held.classes, name)
        return GivenTeacher(answer)
    given = _of_whole(load_logits(path, _whole(held)), parts)
    check_teacher(given.teacher, parts.train, held.classes, name)
    return given


def check_teacher(
    teacher: nn.Module | Answer | CachedLogits,
    images: Images,
    classes: Sequence[str] | None = None,
    name: str = "the teacher",
    device: str = "cpu",
) -> None:
    """Refuse a teacher of other images, or of these in another order, or of classes in another order.

    Logits that are given must fit the images' labels better than shuffled logits would. A model is asked about up to
    `PROBED` images, and must not contradict their labels beyond chance.
    """
    labels = images.labels.numpy()
    classes = classes or [str(place) for place in range(images.classes)]
    if isinstance(teacher, CachedLogits):
        teacher.check_images(images)
        require(bool(torch.isfinite(teacher.logits).all()), f"{name} answers with values that are not finite")
        remedy = "its rows must be in the order of the images"
        check_order(labels, teacher.logits.double().numpy(), classes, name, remedy)
        return
    rows = np.unique(np.linspace(0, len(images) - 1, min(len(images), PROBED)).astype(np.int64))
    logits = cached_logits(teacher, images.rows(rows), device).logits
    require(
        logits.shape == (len(rows), images.classes),
        f"{name} answers with shape {tuple(logits.shape)} to {len(rows)} images of {images.classes} classes",
    )
    require(bool(torch.isfinite(logits).all()), f"{name} answers with values that are not finite")
    refuse_swapped(labels[rows], logits.double().numpy(), classes, name)


def ask_once(given: GivenTeacher, held: ImageSet, parts: Parts, online: bool, folder: Path | None) -> GivenTeacher:
    """An ONNX teacher's facts, and unless it is asked online its logits on all images, remembered in the folder."""
    answer = given.teacher
    if not isinstance(answer, OnnxTeacher):
        return given
    facts = {"parameters": answer.parameters, "milliseconds": answer_latency(answer, parts.test)}
    if online:
        return replace(given, facts=facts)
    whole = _whole(held)
    if folder is None:
        return replace(_of_whole(cached_logits(answer, whole), parts), facts=facts)
    name = f"{file_fingerprint(answer.path)} {answer.model.chosen} {answer.scale}"
    return replace(_of_whole(remembered_logits(folder, answer, name, whole), parts), facts=facts)


def _whole(held: ImageSet) -> Images:
    return Images.of(held.pixels, held.labels, len(held.classes), layout="channels_first")


def _of_whole(whole: CachedLogits, parts: Parts) -> GivenTeacher:
    train, _, test = (whole.logits[torch.from_numpy(rows)] for rows in parts.rows)
    return GivenTeacher(CachedLogits(train, parts.train.fingerprint), test)


def _soft_labels(
    parts: Parts,
    teacher: nn.Module | Answer | CachedLogits,
    training: Training,
    objective: Objective,
    online: bool,
    folder: Path | None,
) -> SoftLabels | None:
    """Soft labels for the very images that the student sees: never logits of others."""
    if not objective.needs_logits:
        return None
    if isinstance(teacher, CachedLogits):
        return teacher
    answer = module_answer(teacher, training.device) if isinstance(teacher, nn.Module) else teacher
    if training.augment and training.views is not None and not online:
        return ViewLogits(answer, parts.train, training.seed)
    if training.augment or online:
        return OnlineTeacher(answer)
    if folder is None or not isinstance(teacher, nn.Module):
        return cached_logits(answer, parts.train)
    return remembered_logits(folder, answer, network_fingerprint(teacher), parts.train)


def _test_logits(teacher: nn.Module | Answer | CachedLogits, test: Images, device: str) -> Tensor | None:
    if isinstance(teacher, CachedLogits):
        return None
    return cached_logits(teacher, test, device).logits


def _teacher_scores(teacher: nn.Module | Answer | CachedLogits, taught: Tensor | None, test: Images) -> dict[str, Any]:
    found: dict[str, Any] = {"accuracy": None, "loss": None, "calibration_error": None}
    if taught is not None:
        found = asdict(score_logits(taught, test.labels))
    known = isinstance(teacher, nn.Module)
    return found | {
        "parameters": parameter_count(teacher) if known else None,
        "milliseconds": latency(teacher, test) if known else None,
    }


def _arm(run: DeepRun, test: Images, taught: Tensor | None, device: str) -> dict[str, Any]:
    logits = network_logits(run.network, test.pixels, device)
    with_teacher = {"agreement": None, "kl": None} if taught is None else agreement(logits, taught)
    return {
        **asdict(score_logits(logits, test.labels)),
        **with_teacher,
        "validation_accuracy": run.accuracy,
        "epochs": len(run.epochs),
        "best_epoch": run.best,
        "parameters": parameter_count(run.network),
        "milliseconds": latency(run.network, test),
    }


def latency(network: nn.Module, images: Images) -> float:
    """Median milliseconds for one image on this machine."""
    device = next((parameter.device for parameter in network.parameters()), torch.device("cpu"))
    network.eval()

    def answer(pixels: Tensor) -> Tensor:
        found = network(pixels.to(device))
        if device.type == "cuda":
            torch.cuda.synchronize()
        return found

    return answer_latency(answer, images)


@torch.no_grad()
def answer_latency(answer: Answer, images: Images) -> float:
    """The same for any function of images."""
    times = []
    for _ in range(TIMED):
        began = time.perf_counter()
        answer(images.pixels[:1])
        times.append(time.perf_counter() - began)
    return float(np.median(times) * 1000)


def _precision(start: nn.Module, images: Images, training: Training) -> dict[str, Any]:
    if not training.rounded:
        return {"products": "float32", "parity": None}
    return {"products": "bfloat16", "parity": asdict(precision_parity(start, images))}


def _export(
    students: dict[str, nn.Module],
    objectives: dict[str, Objective],
    test: Images,
    about: dict[str, Any] | None,
    folder: Path,
) -> dict[str, dict[str, Any]]:
    found = {}
    for arm, network in students.items():
        assert isinstance(network, Prepared)
        place = folder / "students"
        softening, known = objectives[arm].softening, about or {}
        line = f"{known.get('network', type(network.network).__name__)}; {objectives[arm]}"
        parity = export_onnx(network, test.pixels, place / f"{arm}.onnx", known.get("classes"), softening, line)
        entry: dict[str, Any] = {"onnx": str(place / f"{arm}.onnx"), "onnx_parity": parity}
        if about is not None:
            save_student(place / f"{arm}.safetensors", network, {
                **about, "image": list(test.shape), "arm": arm, **softening.to_dict(),
            })  # fmt: skip
            entry["weights"] = str(place / f"{arm}.safetensors")
        entry["bytes"] = (place / f"{arm}.onnx").stat().st_size
        found[arm] = entry
    return found


def train_teacher(
    name: str,
    parts: Parts,
    width: float,
    training: Training,
    folder: Path | None,
    watch: Watch | None,
) -> Prepared:
    """A network by name, trained on the labels, as a teacher."""
    network = prepared_for(
        build_network(name, parts.train.classes, parts.train.shape, width, training.seed), parts.train
    )
    run = train_network(
        network, parts.train, parts.validation, training,
        checkpoint=None if folder is None else folder / "checkpoints" / "teacher.safetensors",
        observe=None if watch is None else (lambda epoch, found: watch("teacher", epoch, found)),
    )  # fmt: skip
    assert isinstance(run.network, Prepared)
    return run.network
