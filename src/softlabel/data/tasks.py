"""A data set made into a task: which examples, which side each is on, and the scale of the inputs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softlabel.data.catalogue import CATALOGUE
from softlabel.data.dataset import Dataset
from softlabel.data.loading import load
from softlabel.data.rules import binary_rule, class_names, class_pair, pair_signs
from softlabel.data.scaling import Scaler
from softlabel.errors import InputError

Names = str | Sequence[str | int]


@dataclass(frozen=True, eq=False)
class Part:
    """Scaled inputs (n, d) float32, sides y (n,) in {−1, +1} float32, labels (n,) int64.

    `y` is None in a task of several classes.
    """

    inputs: np.ndarray
    y: np.ndarray | None
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, eq=False)
class Task:
    """What a verb trains and tests on. `test` is None where the set has no test part of its own.

    `str(task)` is the line that reports print: the set, the task and the scale.
    """

    name: str
    train: Part
    test: Part | None
    classes: tuple[str, ...]
    scaler: Scaler
    description: str
    image_shape: tuple[int, ...] | None = None
    columns: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.description


def load_task(
    data: str | Path,
    label: str | int | None = None,
    task: str | None = None,
    classes: Names | None = None,
    leave_out: Names | None = None,
    scale: str | None = None,
    drop: Sequence[str] = (),
    several_classes: bool = False,
) -> Task:
    """The task that `data`, a named set or a file, poses.

    `task` is a rule ('label>4') or `classes` a pair ('cat,dog': the first is −1, the second +1). Without
    either, a named set has its default, and two classes of a file are −1 and +1 in their order. With
    `several_classes` and neither, every class is kept and y is None. `scale` is 'none', 'max' or 'unit'; a
    named set has its default, a file's is 'max', which gives the norms ≤ 1 that theory wants.
    """
    if task is not None and classes is not None:
        raise InputError(f"task '{task}' and classes '{classes}' are both given: give --task or --classes")
    entry = CATALOGUE.get(str(data))
    if entry is not None and task is None and classes is None and not several_classes:
        task, classes = entry.task, entry.pair if leave_out is None else None
    scale = scale or (entry.scale if entry is not None else "max")
    dataset = load(data, label=label, drop=drop, classes=classes, leave_out=leave_out)
    y, rule = _sides(dataset, task, classes, several_classes)
    scaler = Scaler.fit(dataset.part("train")[0], scale)
    parts = {
        name: Part(scaler.apply(dataset.inputs[rows]), None if y is None else y[rows], dataset.labels[rows])
        for name, rows in dataset.parts.items()
    }
    holds = entry.holds if entry else f"{len(dataset)} examples, {dataset.inputs.shape[1]} inputs"
    without = f" without {', '.join(class_names(leave_out))}" if leave_out is not None else ""
    return Task(
        name=dataset.name,
        train=parts["train"],
        test=parts.get("test"),
        classes=dataset.classes,
        scaler=scaler,
        description=f"{dataset.name}: {holds}{without}, {rule}, {scaler}",
        image_shape=dataset.image_shape,
        columns=dataset.columns,
        notes=dataset.notes,
    )


def _sides(
    dataset: Dataset, task: str | None, classes: Names | None, several_classes: bool
) -> tuple[np.ndarray | None, str]:
    """y over all examples, and the words for it."""
    if task is not None:
        return binary_rule(task, dataset.labels, dataset.classes), task.strip()
    present = np.unique(dataset.labels)
    if classes is not None:
        pair = class_pair(classes, dataset.classes)
    elif several_classes:
        return None, f"{len(present)} classes"
    elif len(present) == 2:
        pair = (int(present[0]), int(present[1]))
    else:
        names = [dataset.classes[label] for label in present.tolist()]
        some = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
        raise InputError(
            f"'{dataset.name}' has {len(present)} classes ({some}): "
            f"make it a task of two with --task 'label>1' or --classes {names[0]},{names[1]}"
        )
    return pair_signs(pair, dataset.labels), f"{dataset.classes[pair[0]]} (−1) against {dataset.classes[pair[1]]} (+1)"
