"""Nodes and constants of an ONNX graph while it is built."""

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

OPSET = 17
Work = type[np.float32] | type[np.float64]


class Nodes:
    """Nodes and constants in the order of their creation, named by number.

    opset       version of the operators
    prefix      before every name, so that no name is that of an input
    """

    def __init__(self, opset: int = OPSET, prefix: str = "") -> None:
        self.opset, self.prefix = opset, prefix
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add(self, kind: str, *takes: str, gives: str = "", also: int = 0, **settings: Any) -> str:
        """Add a node; returns the name of its (first) output.

        gives   name of the output; by default a new one
        also    number of other outputs, which nothing reads
        """
        from onnx import helper

        gives = gives or f"{self.prefix}{kind.lower()}{len(self.nodes)}"
        unread = [f"{gives} {k + 1}" for k in range(also)]
        self.nodes.append(helper.make_node(kind, takes, [gives, *unread], name=gives, **settings))
        return gives

    def constant(self, values: np.ndarray | float, work: Work | None = None) -> str:
        """Add a constant; returns its name."""
        from onnx import numpy_helper

        name = f"{self.prefix}constant{len(self.constants)}"
        array = np.asarray(values) if work is None else np.asarray(values, dtype=work)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def norm(self, rows: str) -> str:
        """Euclidean norm of every row, (batch, 1)."""
        if self.opset < 18:
            return self.add("ReduceL2", rows, axes=[1], keepdims=1)
        return self.add("ReduceL2", rows, self.constant(np.array([1], dtype=np.int64)), keepdims=1)
