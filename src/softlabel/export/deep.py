"""Deep students as ONNX files with a parity check and as safetensors files; both include the pixel standardization."""

import io
import json
import logging
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import InputError, SoftlabelError, require
from softlabel.export.onnx_graph import describe, output_doc
from softlabel.networks.deep.building import build_network
from softlabel.networks.deep.objective import two_columns
from softlabel.networks.deep.prepared import Prepared
from softlabel.networks.softening import Softening
from softlabel.numerics.files import replacing
from softlabel.numerics.local_files import reason_of
from softlabel.numerics.tensor_files import read_tensors, save_tensors
from softlabel.teachers.onnx_session import OnnxSession

if TYPE_CHECKING:
    from onnx import ModelProto

KIND = "softlabel deep student"
LARGEST = 1e-3  # largest allowed difference in a parity check: of logits relative to their size, and of probabilities
SAMPLE = 64


class _WithProbabilities(nn.Module):
    """Logits (n, K) of a network and their softmax; a single output is the log-odds of the second of two classes."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        logits = two_columns(self.network(pixels))
        return logits, logits.softmax(1)


def export_onnx(
    network: nn.Module,
    example: Tensor,
    path: str | Path,
    classes: Sequence[str] | None = None,
    softening: Softening | None = None,
    student: str = "deep student",
) -> float:
    """Write a network to an ONNX file and compare the file with the network on `example` (n, channels, height, width).

    The file takes any number of images. Its outputs are "logits", "probabilities" (or "softened_probabilities",
    depending on `softening`) and "label"; its metadata describe classes, preprocessing and outputs.

    classes     names of the classes; by default their indices
    softening   temperature and smoothing of the training labels; none by default
    student     a one-line description of the network

    Returns the largest difference of logits (relative to the largest logit) or of probabilities. Raises
    `SoftlabelError` and removes the file if this difference is too large.
    """
    import onnx

    network, path, softening = network.eval().cpu(), Path(path), softening or Softening()
    two = example[:1].expand(2, -1, -1, -1).contiguous()  # a batch of one would be exported as a constant
    outputs = ["logits", softening.output_name]
    ignored = io.StringIO()  # the exporter prints, warns and logs
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(ignored), redirect_stderr(ignored):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            _WithProbabilities(network), (two,), dynamo=True, input_names=["images"], output_names=outputs,
            dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False,
        )  # fmt: skip
        assert program is not None
        built = program.model_proto
    with torch.no_grad():
        ours = [part.float().numpy() for part in _WithProbabilities(network)(example[:SAMPLE])]
    names = tuple(map(str, range(ours[0].shape[1]) if classes is None else classes))
    require(
        len(names) == ours[0].shape[1],
        f"the network has {ours[0].shape[1]} outputs, got {len(names)} classes",
    )
    _name_classes(built, names, softening)
    describe(built, names, None, softening, student=student, **_pixel_facts(network, example))
    onnx.checker.check_model(built)
    with replacing(path) as part:
        part.write_bytes(built.SerializeToString())
        difference = _difference(part, example[:SAMPLE], ours, outputs, names)
        if not difference <= LARGEST:
            raise SoftlabelError(f"the exported model differs from the network by {difference:.2g}: it was removed")
    return difference


def _name_classes(built: "ModelProto", names: Sequence[str], softening: Softening) -> None:
    """Add the output "label", the name of the most probable class, and describe each output."""
    from onnx import TensorProto, helper, numpy_helper

    graph = built.graph
    graph.initializer.append(numpy_helper.from_array(np.array(names, dtype=object), "class_names"))
    graph.node.append(helper.make_node("ArgMax", ["logits"], ["class_number"], name="class_number", axis=1, keepdims=0))
    graph.node.append(helper.make_node("Gather", ["class_names", "class_number"], ["label"], name="label", axis=0))
    batch = graph.input[0].type.tensor_type.shape.dim[0].dim_param or "batch"
    graph.output.append(helper.make_tensor_value_info("label", TensorProto.STRING, [batch]))
    docs = ("the network's outputs before the softmax", output_doc(softening), "name of the predicted class")
    for output, text in zip(graph.output, docs, strict=True):
        output.doc_string = text


def _pixel_facts(network: nn.Module, example: Tensor) -> dict[str, str]:
    """Metadata about the images."""
    facts = {"image": json.dumps(list(example.shape[1:])), "preprocessing": "none beyond what the network itself does"}
    if isinstance(network, Prepared):
        facts["preprocessing"] = "pixels in [0, 1], channels first; (pixels - mean)/spread per channel is in the graph"
        facts |= {name: json.dumps(getattr(network, name).flatten().tolist()) for name in ("mean", "spread")}
    return facts


def _difference(path: Path, sample: Tensor, ours: list[np.ndarray], outputs: list[str], names: Sequence[str]) -> float:
    """Largest difference of logits and probabilities; infinite if the label is not the most probable class."""
    feeds = {"images": sample.contiguous().numpy()}
    logits, probabilities, label = OnnxSession(path).runtime.run([*outputs, "label"], feeds)
    logit_difference = float(np.abs(ours[0] - np.asarray(logits)).max() / max(np.abs(ours[0]).max(), 1.0))
    difference = float(np.abs(ours[1] - np.asarray(probabilities)).max())
    indices = np.array([names.index(name) for name in np.asarray(label).tolist()])
    behind = ours[1].max(axis=1) - ours[1][np.arange(len(indices)), indices]
    return max(logit_difference, difference) if (behind <= 2 * LARGEST).all() else np.inf


def save_student(path: str | Path, network: Prepared, about: Mapping[str, Any]) -> None:
    """Write a student's weights to a safetensors file.

    `about` describes how to build the network: "network" (name), "width" (multiplier), "classes" and "image". It may
    also contain `Softening.to_dict()` of the training labels; without it, predictions come with a warning.
    """
    tensors = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    save_tensors(path, tensors, KIND, {"about": json.dumps(dict(about))})


def load_student(path: str | Path) -> tuple[Prepared, dict[str, Any]]:
    """Read a student written by `save_student`, in evaluation mode, and its description."""
    tensors, metadata = read_tensors(Path(path), KIND, "deep student", finite=True)
    try:
        about = json.loads(metadata["about"])
        require(all(isinstance(name, str) for name in about["classes"]), "classes must be names")
        with torch.device("meta"):  # no memory is allocated, whatever sizes are in the file
            inner = build_network(about["network"], len(about["classes"]), tuple(about["image"]), about["width"])
        network = Prepared(inner, tensors["mean"], tensors["spread"])
        _check_types(network, tensors)
        network.load_state_dict(tensors, assign=True)
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, ArithmeticError) as problem:
        raise InputError(f"'{path}' is not a complete deep student ({reason_of(problem)}): save it again") from None
    return network.eval(), about


def _check_types(network: Prepared, tensors: Mapping[str, Tensor]) -> None:
    for name, wanted in network.state_dict().items():
        require(
            name not in tensors or tensors[name].dtype == wanted.dtype,
            f"'{name}' must have values of type {wanted.dtype}",
        )
    require(bool((tensors["spread"] > 0).all()), "'spread' must be positive")
