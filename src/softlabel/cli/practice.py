"""What `verdict` and `plan` share at the command line: loading a problem, the command again."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from softlabel.cli import options
from softlabel.cli.groups import DataChoice

if TYPE_CHECKING:
    from softlabel.data.problem import Problem


def load_practice(given: DataChoice, id_column: str | None, seed: int, test: Path | None) -> "Problem":
    """The problem of the command line, described on stderr."""
    from softlabel.data.problem import load_problem

    problem = load_problem(given.data, given.label, given.task, given.classes, given.leave_out, given.scale,
                           given.drop or (), id_column, seed, test)  # fmt: skip
    options.note(str(problem))
    for remark in problem.notes:
        options.note(f"note: {remark}")
    return problem


def load_pictures(data: str, classes: str | None, size: int | None, seed: int) -> "Problem":
    """A problem of images for deep students: a named set, an NPZ of images, or a folder of class folders."""
    import numpy as np

    from softlabel.data.image_sets import load_images
    from softlabel.data.problem import Problem
    from softlabel.data.scaling import Scaler

    held = load_images(data, classes, size)
    count = len(held)
    problem = Problem(
        name=held.name, inputs=held.pixels.reshape(count, -1), labels=held.labels, classes=tuple(held.classes),
        parts={}, scaler=Scaler("none"), rows=np.arange(count), file_rows=count,
        image_shape=tuple(held.pixels.shape[1:]),
    ).cut("none", seed, test=None if held.test is None else np.arange(count)[held.test])  # fmt: skip
    options.note(str(problem))
    return problem


def again_command(verb: str) -> str:
    """The command as it was given, for the page."""
    words = sys.argv[1:] if sys.argv[1:2] == [verb] else [verb, "…"]
    return shlex.join(["softlabel", *words])
