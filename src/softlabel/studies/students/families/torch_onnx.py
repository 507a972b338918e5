"""A torch network of tables as an ONNX classifier of scaled inputs: "label" (class numbers) and "probabilities"."""

import io
import logging
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import SoftlabelError
from softlabel.studies.students.families.files import TOLERANCE, onnx_probabilities


class _TableClassifier(nn.Module):
    """Class numbers (n,) and probabilities (n, K) of rows (n, d), from a network of "images" (n, d, 1, 1)."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        logits = self.network(rows[:, :, None, None])
        return logits.argmax(1), logits.softmax(1)


def table_onnx(network: nn.Module, example: np.ndarray) -> bytes:
    """The model, compared with the network on scaled rows (n, d)."""
    classifier = _TableClassifier(network.eval())
    rows = torch.from_numpy(np.ascontiguousarray(example[:256], dtype=np.float32))
    ignored = io.StringIO()  # the exporter prints, warns and logs
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(), redirect_stdout(ignored), redirect_stderr(ignored):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            classifier, (rows[:1].expand(2, -1).contiguous(),), dynamo=True, input_names=["inputs"],
            output_names=["label", "probabilities"], dynamic_shapes=({0: torch.export.Dim("batch")},), verbose=False,
        )  # fmt: skip
    assert program is not None
    content = program.model_proto.SerializeToString()
    with torch.no_grad():
        ours = classifier(rows)[1].double().numpy()
    difference = float(np.abs(ours - onnx_probabilities(content, rows.numpy())).max())
    if not difference <= TOLERANCE:
        raise SoftlabelError(f"the ONNX model of a student differs from it by {difference:.2g}: it was not written")
    return content
