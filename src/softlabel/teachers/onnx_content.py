"""The content of an ONNX file, checked before anything in it runs.

A model may come from anybody. It must be complete, contain its weights, and have no loops: a loop may never end, and
classifiers of tables and images need none. Files that softlabel wrote carry a checksum, which must be right.
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import InputError, few, require
from softlabel.numerics.local_files import read_content, reason_of

if TYPE_CHECKING:
    from onnx import GraphProto, ModelProto, NodeProto, TensorProto

OURS = "softlabel-student-onnx"  # prefix of the format of files that softlabel exports
LARGEST = 2**31 - 1  # bytes, the limit of a protocol buffer
_LOOPS = ("Loop", "Scan")
_EXTERNAL = 1  # TensorProto.DataLocation


@dataclass(frozen=True, eq=False)
class OnnxContent:
    """A model's bytes and their parsed form; `who` is how messages call it."""

    who: str
    content: bytes
    model: "ModelProto"

    @cached_property
    def about(self) -> dict[str, str]:
        """The model's metadata."""
        return {entry.key: entry.value for entry in self.model.metadata_props}

    @property
    def ours(self) -> bool:
        """Whether softlabel wrote it."""
        return self.about.get("format", "").startswith(OURS)

    def names(self, what: str) -> list[str] | None:
        """The "columns" or "classes" that a file written by softlabel declares; None if it declares none."""
        if not self.ours:
            return None
        names: Any = what  # not a list
        with suppress(ValueError, RecursionError):
            names = json.loads(self.about.get(what, "null"))
        if names is None:
            return None
        require(
            isinstance(names, list) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names),
            f"{self.who}: its metadata '{what}' is not a list of different names: export the model again",
        )
        return names

    @cached_property
    def parameters(self) -> int:
        """Numbers in the model's initializers, and in the nodes of classic models (coefficients, splits and leaves)."""
        graph = self.model.graph
        count = sum(int(np.prod(tensor.dims, dtype=object)) for tensor in graph.initializer)
        for node in graph.node:
            if node.domain == "ai.onnx.ml":
                weights = [attribute for attribute in node.attribute if "hitrates" not in attribute.name]
                count += sum(len(attribute.floats) for attribute in weights)
                count += sum(int(np.prod(one.t.dims, dtype=object)) for one in weights if one.t.data_type in (1, 11))
        return count


def read_onnx(path: Path, who: str) -> OnnxContent:
    """The model in a file, refused if it may never end or was changed after softlabel wrote it."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        content = read_content(path)
        require(len(content) <= LARGEST, f"'{path}' has more than 2 GiB, more than an ONNX file can have")
        model = onnx.ModelProto.FromString(content)
        parsed = OnnxContent(who, content, model)
        _check(parsed)
    except InputError as problem:
        if who in str(problem):
            raise
        raise InputError(f"{who} cannot be read as an ONNX model: {problem}") from None
    except (DecodeError, ValueError, TypeError, RecursionError, MemoryError) as problem:
        raise InputError(f"{who} cannot be read as an ONNX model: {reason_of(problem)}") from None
    return parsed


def checksum(graph: "GraphProto", about: dict[str, str]) -> str:
    """Identity of a graph and of its metadata."""
    metadata = json.dumps({key: text for key, text in about.items() if key != "checksum"}, sort_keys=True)
    return hashlib.sha256(graph.SerializeToString(deterministic=True) + metadata.encode()).hexdigest()


def _check(parsed: OnnxContent) -> None:
    who, graph = parsed.who, parsed.model.graph
    require(bool(graph.node) and bool(graph.output), f"{who} cannot be read as an ONNX model: it has no outputs")
    constants = {tensor.name for tensor in graph.initializer}
    takes_input = any(entry.name not in constants for entry in graph.input)
    require(takes_input, f"{who} takes no input, so it is not a classifier")
    for node in _nodes(parsed.model):  # text that is not UTF-8 raises an error when it is read
        _ = node.name, node.domain, list(node.input), list(node.output), [each.name for each in node.attribute]
    loops = {node.op_type for node in _nodes(parsed.model) if node.op_type in _LOOPS}
    require(
        not loops,
        f"{who} holds a loop ({few(sorted(loops))}), which may never end: softlabel runs only models without "
        "loops; export it without them",
    )
    require(
        not any(tensor.data_location == _EXTERNAL for tensor in _tensors(parsed.model)),
        f"{who} keeps its weights in other files: save it as one file (torch.onnx.export: external_data=False)",
    )
    require(
        not parsed.ours or parsed.about.get("checksum") == checksum(graph, parsed.about),
        f"{who} was changed after softlabel wrote it: export it again (or remove its metadata 'format', so that it "
        "is treated like any other ONNX model)",
    )


def _graphs(model: "ModelProto") -> "Iterator[GraphProto]":
    """The graph and all graphs inside its nodes and the model's functions."""
    waiting = [model.graph]
    nodes: list[NodeProto] = [node for function in model.functions for node in function.node]
    while waiting or nodes:
        if waiting:
            graph = waiting.pop()
            yield graph
            nodes += graph.node
        else:
            for attribute in nodes.pop().attribute:
                waiting += [attribute.g] if attribute.HasField("g") else []
                waiting += attribute.graphs


def _nodes(model: "ModelProto") -> "Iterator[NodeProto]":
    yield from (node for function in model.functions for node in function.node)
    yield from (node for graph in _graphs(model) for node in graph.node)


def _tensors(model: "ModelProto") -> "Iterator[TensorProto]":
    for graph in _graphs(model):
        yield from graph.initializer
        for sparse in graph.sparse_initializer:
            yield from (sparse.values, sparse.indices)
    for node in _nodes(model):
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
