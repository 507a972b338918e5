"""Fitted trees of scikit-learn, with thresholds that do not depend on rounding, and their ONNX node.

A threshold is moved to the middle of the gap between the training values around it: the training rows stay on their
sides, and a value that is scaled with other rounding (as an exported file may do) does not change its side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onnx import NodeProto


@dataclass(frozen=True, eq=False)
class TreeNodes:
    """The nodes of one tree: a row goes to `left` where its feature is at most the threshold.

    feature     (nodes,) with −1 at leaves
    values      (nodes, outputs) that a leaf adds
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    values: np.ndarray

    @property
    def leaves(self) -> int:
        return int((self.feature < 0).sum())

    @property
    def parameters(self) -> int:
        """Feature and threshold of every split, and the values of every leaf (of two probabilities one is stored)."""
        outputs = self.values.shape[1]
        return 2 * int((self.feature >= 0).sum()) + self.leaves * (1 if outputs == 2 else outputs)


def tree_nodes(tree: Any, scale: float = 1.0) -> TreeNodes:
    """A fitted `sklearn.tree` classifier; its leaves have probabilities times `scale`."""
    inner = tree.tree_
    feature = np.where(inner.children_left < 0, -1, inner.feature)
    values = inner.value[:, 0, :]
    values = values / values.sum(axis=1, keepdims=True) * scale
    return TreeNodes(feature, inner.threshold, inner.children_left, inner.children_right, values)


def boosted_nodes(model: Any) -> list[TreeNodes]:
    """A fitted `HistGradientBoostingClassifier`: its trees add to one logit, or to one for every class."""
    outputs = len(model._predictors[0])
    trees = []
    for rounds in model._predictors:
        for output, predictor in enumerate(rounds):
            nodes = predictor.nodes
            leaf = nodes["is_leaf"].astype(bool)
            values = np.zeros((len(nodes), outputs))
            values[leaf, output] = nodes["value"][leaf]
            feature = np.where(leaf, -1, nodes["feature_idx"])
            trees.append(TreeNodes(feature, nodes["num_threshold"], nodes["left"], nodes["right"], values))
    return trees


def center_thresholds(feature: np.ndarray, threshold: np.ndarray, values: dict[int, np.ndarray], X: np.ndarray) -> None:
    """Move thresholds (in place) to the middle of the gap between training values, as float32 numbers.

    values      sorted distinct training values of each feature, filled as they are needed
    """
    for number in np.unique(feature[feature >= 0]).tolist():
        if number not in values:
            values[number] = np.unique(X[:, number]).astype(np.float64)
        known, at = values[number], np.flatnonzero(feature == number)
        above = np.searchsorted(known, threshold[at], side="right")
        inside = (above > 0) & (above < len(known))
        low, high = known[np.maximum(above - 1, 0)], known[np.minimum(above, len(known) - 1)]
        middle = ((low + high) / 2).astype(np.float32).astype(np.float64)
        threshold[at] = np.where(inside, np.where(middle < high, middle, low), threshold[at])


def ensemble_node(trees: Sequence[TreeNodes], base: Sequence[float], takes: str, gives: str) -> "NodeProto":
    """The ONNX node that adds up the values of all trees, (n, outputs)."""
    from onnx import helper

    outputs = trees[0].values.shape[1]
    sizes = [len(tree.feature) for tree in trees]
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    feature, threshold, left, right = (
        np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "threshold", "left", "right")
    )
    leaf = feature < 0
    values = np.concatenate([tree.values for tree in trees])[leaf]
    settings: dict[str, Any] = {
        "nodes_treeids": tree_ids, "nodes_nodeids": node_ids, "nodes_featureids": np.where(leaf, 0, feature),
        "nodes_truenodeids": np.where(leaf, 0, left), "nodes_falsenodeids": np.where(leaf, 0, right),
        "target_treeids": np.repeat(tree_ids[leaf], outputs), "target_nodeids": np.repeat(node_ids[leaf], outputs),
        "target_ids": np.tile(np.arange(outputs), int(leaf.sum())),
    }  # fmt: skip
    settings = {name: [int(number) for number in numbers] for name, numbers in settings.items()}
    return helper.make_node(
        "TreeEnsembleRegressor", [takes], [gives], name="trees", domain="ai.onnx.ml", n_targets=outputs,
        nodes_modes=["LEAF" if end else "BRANCH_LEQ" for end in leaf],
        nodes_values=_floats(np.where(leaf, 0, threshold)),
        target_weights=_floats(values.ravel()), base_values=_floats(base), aggregate_function="SUM", **settings,
    )  # fmt: skip


def _floats(numbers: Any) -> list[float]:
    return np.asarray(numbers, dtype=np.float32).ravel().tolist()
