"""The images of a problem as tensors, split as the problem is."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.data.problem import Problem
from softlabel.networks.deep import Images


@dataclass(frozen=True, eq=False)
class ImageParts:
    """Training, validation and test images, and the row numbers of each part in the problem."""

    train: Images
    validation: Images
    test: Images
    rows: tuple[np.ndarray, np.ndarray, np.ndarray]

    def to_dict(self) -> dict[str, Any]:
        """Numbers of images, their shape and the number of classes."""
        return {
            "train": len(self.train), "validation": len(self.validation), "test": len(self.test),
            "shape": list(self.train.shape), "classes": self.train.classes,
        }  # fmt: skip


def image_parts(problem: Problem) -> ImageParts:
    """The images of a problem in its parts; a problem without images is refused."""
    images = all_images(problem)
    rows = problem.train.rows, problem.validation.rows, problem.test.rows
    return ImageParts(images.rows(rows[0]), images.rows(rows[1]), images.rows(rows[2]), rows)


def all_images(problem: Problem) -> Images:
    """All images of a problem in their order."""
    return Images.from_arrays(problem.images, problem.y, len(problem.classes), layout="channels_first")
