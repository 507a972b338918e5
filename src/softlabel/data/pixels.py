"""Rows of a problem as images."""

from functools import cached_property

import numpy as np

from softlabel.errors import InputError, require


class HasPixels:
    """What a problem of images can do."""

    name: str
    X: np.ndarray
    image_shape: tuple[int, ...] | None
    channels_last: bool

    @property
    def has_images(self) -> bool:
        """Whether the inputs are images."""
        return self.image_shape is not None

    @property
    def images(self) -> np.ndarray:
        """All images with pixels in [0, 1], float32 (n, channels, height, width)."""
        return self.pixels(self.X)

    def as_images(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d) like those of this problem as images (n, channels, height, width), values unchanged."""
        if self.image_shape is None:
            raise InputError(
                f"'{self.name}' has no images: load a data set of images, an NPZ file with images and labels, a folder "
                "of class folders, or arrays (n, height, width), (n, channels, height, width) or "
                "(n, height, width, channels)"
            )
        if not self.channels_last:
            return X.reshape(len(X), *self.image_shape)
        channels, height, width = self.image_shape
        return X.reshape(len(X), height, width, channels).transpose(0, 3, 1, 2)

    def pixels(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d) like those of this problem as images (n, channels, height, width) with pixels in [0, 1]."""
        images = self.as_images(X)
        return images if self._pixel_range == 1 else images / np.float32(self._pixel_range)

    @cached_property
    def _pixel_range(self) -> int:
        """The value of a white pixel: 1, or 255 where all values are integers."""
        low, high = float(self.X.min()), float(self.X.max())
        integers = high > 1 and bool((np.round(self.X) == self.X).all())
        require(
            low >= 0 and high <= (255 if integers else 1),
            f"'{self.name}': pixels must be integers from 0 to 255 or fractions from 0 to 1, got {low:g} to {high:g}",
        )
        return 255 if integers else 1
