"""Students as files: ONNX with a parity check, and safetensors; what is done to pixels first is part of both."""

import io
import json
import logging
import warnings
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import InputError, SoftlabelError
from softlabel.networks.deep.building import build_network
from softlabel.networks.deep.prepared import Prepared
from softlabel.numerics.files import replacing
from softlabel.numerics.tensor_files import read_tensors, save_tensors

KIND = "softlabel deep student"
LARGEST = 1e-3  # difference of logits that a parity check allows, relative to their size
SAMPLE = 64


def export_onnx(network: nn.Module, example: Tensor, path: str | Path) -> float:
    """Write one ONNX file that takes any number of such images, and compare it with the network on `example` (n, …).

    Returns the largest difference of logits over their largest size; a file that differs is refused.
    """
    network, path = network.eval().cpu(), Path(path)
    two = example[:1].expand(2, -1, -1, -1).contiguous()  # a batch of one would be taken for a constant
    said = io.StringIO()  # the exporter talks, in three ways
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            network, (two,), dynamo=True, input_names=["images"], output_names=["logits"],
            dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False,
        )  # fmt: skip
        assert program is not None
    with replacing(path) as part:
        with warnings.catch_warnings(), redirect_stdout(said), redirect_stderr(said):
            warnings.simplefilter("ignore")
            program.save(str(part), external_data=False)
        return _parity(network, example, part)


def _parity(network: nn.Module, example: Tensor, path: Path) -> float:
    """The largest difference of an ONNX file's logits from the network's, over their largest size."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    sample = example[:SAMPLE].contiguous()
    theirs = np.asarray(session.run(None, {"images": sample.numpy()})[0])
    with torch.no_grad():
        ours = network(sample).float().numpy()
    difference = float(np.abs(ours - theirs).max() / max(np.abs(ours).max(), 1.0))
    if not difference <= LARGEST:
        raise SoftlabelError(f"the exported model differs from the network by {difference:.2g}: it was not kept")
    return difference


def save_student(path: str | Path, network: Prepared, about: Mapping[str, Any]) -> None:
    """The student's weights alone, with what is needed to build it again: network, width, classes, image."""
    tensors = {name: value.detach().cpu() for name, value in network.state_dict().items()}
    save_tensors(path, tensors, KIND, {"about": json.dumps(dict(about))})


def load_student(path: str | Path) -> tuple[Prepared, dict[str, Any]]:
    """A student saved by `save_student`, in evaluation mode, and what was said about it."""
    tensors, metadata = read_tensors(Path(path), KIND, "deep student")
    try:
        about = json.loads(metadata["about"])
        inner = build_network(about["network"], len(about["classes"]), tuple(about["image"]), about["width"])
        network = Prepared(inner, tensors["mean"], tensors["spread"])
        network.load_state_dict(tensors)
    except (KeyError, TypeError, ValueError, RuntimeError) as problem:
        reason = str(problem).splitlines()[0]
        raise InputError(f"'{path}' is not a complete deep student ({reason}): save it again") from None
    return network.eval(), about
