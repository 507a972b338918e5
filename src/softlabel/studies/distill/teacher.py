"""The teacher of `distill`: a network, a function, an ONNX file or a file of logits, checked against the images."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.data.problem import Problem
from softlabel.errors import require
from softlabel.networks.deep import CachedLogits, Images, build_network, cached_logits, module_logits
from softlabel.networks.deep.building import network_fingerprint
from softlabel.networks.deep.teaching import LogitFunction, batch_logits
from softlabel.numerics.local_files import require_regular_file
from softlabel.studies.distill.parts import ImageParts, all_images
from softlabel.teachers.agreement import check_order, refuse_swapped
from softlabel.teachers.logit_files import file_fingerprint, load_logits, remembered_logits
from softlabel.teachers.onnx_file import OnnxTeacher
from softlabel.teachers.reading import IMAGE_FLOOR, decide_reading

FILES = (".onnx", ".npy", ".safetensors")
PROBED = 2048  # training images whose labels a model's predictions are compared with
Teacher = nn.Module | LogitFunction | str | Path


@dataclass(frozen=True, eq=False)
class ReadyTeacher:
    """A teacher as students learn from it.

    logits          function from images to logits, or the logits of the training images
    network         the torch network, if the teacher is one
    onnx            the model of an ONNX file, if the teacher is one
    test_logits     logits of the test images, if they are known already
    untrained       name of a network that has to be trained first
    """

    logits: LogitFunction | CachedLogits
    network: nn.Module | None = None
    onnx: OnnxTeacher | None = None
    test_logits: Tensor | None = None
    untrained: str | None = None

    @classmethod
    def from_network(cls, network: nn.Module, device: str = "cpu", untrained: str | None = None) -> "ReadyTeacher":
        """A torch network as a teacher."""
        return cls(module_logits(network, device), network, untrained=untrained)

    def logits_of_test(self, test: Images) -> Tensor | None:
        """Logits of the test images; None if only logits of the training images are known."""
        if self.test_logits is not None or isinstance(self.logits, CachedLogits):
            return self.test_logits
        return cached_logits(self.logits, test).logits


def open_teacher(
    teacher: Teacher,
    problem: Problem,
    parts: ImageParts,
    *,
    width_multiplier: float = 1.0,
    output: str | None = None,
    scale: float = 1.0,
    device: str = "cpu",
) -> ReadyTeacher:
    """The teacher that the argument means, refused if it does not fit the images; nothing is trained.

    width_multiplier    of a network by name
    output, scale       of an ONNX file: the output to use, and the factor for pixels in [0, 1]
    """
    if isinstance(teacher, nn.Module):
        return _checked(ReadyTeacher.from_network(teacher, device), parts.train, problem.classes)
    if callable(teacher):
        return _checked(ReadyTeacher(teacher), parts.train, problem.classes)
    require(
        isinstance(teacher, str | Path),
        f"teacher must be a torch network, a function, a file or the name of a network, got {type(teacher).__name__}",
    )
    path = Path(teacher)
    if path.suffix in FILES:
        return _from_file(path, problem, parts, output, scale)
    require(not path.exists(), f"teacher '{teacher}' is neither an ONNX file nor logits (.safetensors, .npy)")
    network = build_network(str(teacher), parts.train.classes, parts.train.shape, width_multiplier)
    return ReadyTeacher.from_network(network, device, untrained=str(teacher))


def _from_file(path: Path, problem: Problem, parts: ImageParts, output: str | None, scale: float) -> ReadyTeacher:
    name = f"teacher '{path}'"
    require(path.exists(), f"{name} does not exist")
    require_regular_file(path, "teacher ")
    if path.suffix != ".onnx":
        ready = _in_parts(load_logits(path, all_images(problem)), parts)
        assert isinstance(ready.logits, CachedLogits)
        labels, logits = parts.train.labels.numpy(), ready.logits.logits.double().numpy()
        check_order(labels, logits, problem.classes, name, "its rows must be in the order of the images")
        return ready
    model = OnnxTeacher(path, problem.classes, output, scale)
    model.columns(parts.train.pixels[:2])  # a wrong shape is noticed before all images are predicted
    model.decide(parts.train.pixels)
    probed = _probed(parts.train)
    refuse_swapped(probed.labels.numpy(), model(probed.pixels).double().numpy(), problem.classes, name)
    return ReadyTeacher(model, onnx=model)


def _checked(ready: ReadyTeacher, images: Images, classes: Sequence[str]) -> ReadyTeacher:
    """The teacher with predictions read as logits; one that contradicts the labels beyond chance is refused."""
    function, probed = ready.logits, _probed(images)
    assert not isinstance(function, CachedLogits)
    predictions = cached_logits(function, probed).logits
    reading = decide_reading(predictions, classes=classes, floor=IMAGE_FLOOR)
    refuse_swapped(probed.labels.numpy(), reading.logits(predictions), classes, reading.name)
    if reading.kind == "logits" and predictions.shape == (len(probed), images.classes):
        return ready
    return replace(
        ready, logits=lambda pixels: torch.from_numpy(reading.logits(batch_logits(function, pixels))).float()
    )


def _probed(images: Images) -> Images:
    """Up to `PROBED` images."""
    return images.rows(np.unique(np.linspace(0, len(images) - 1, min(len(images), PROBED)).astype(np.int64)))


def _in_parts(logits: CachedLogits, parts: ImageParts) -> ReadyTeacher:
    """Logits of all images as a teacher."""
    train, _, test = (logits.logits[torch.from_numpy(rows)] for rows in parts.rows)
    return ReadyTeacher(CachedLogits(train, parts.train.fingerprint), test_logits=test)


def with_stored_logits(model: OnnxTeacher, problem: Problem, parts: ImageParts, run_dir: Path | None) -> ReadyTeacher:
    """An ONNX model by its logits of all images, which are computed once and stored in the run directory."""
    images = all_images(problem)
    if run_dir is None:
        logits = cached_logits(model, images)
    else:
        name = f"{file_fingerprint(model.path)} {model.model.chosen} {model.scale}"
        logits = remembered_logits(run_dir, model, name, images)
    return replace(_in_parts(logits, parts), onnx=model)


def describe(model: Any) -> tuple[str, str | None]:
    """The name of a teacher or a student, and the fingerprint of its content if it has one."""
    if isinstance(model, nn.Module):
        return type(model).__name__, network_fingerprint(model)
    if isinstance(model, str | Path):
        return str(model), file_fingerprint(model) if Path(model).is_file() else None
    return getattr(model, "__qualname__", type(model).__name__), None
