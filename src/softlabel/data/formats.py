"""File formats of published image data sets: IDX (MNIST) and CIFAR's binary batches.

Only files whose checksum is right are parsed, so their content needs no checks.
"""

import numpy as np


def parse_idx(content: bytes) -> np.ndarray:
    """The array of bytes in an IDX file.

    The file has two zero bytes, a type code (8 for bytes), the number of dimensions, each dimension as a big-endian
    32-bit integer, and then the values in row-major order.
    """
    dimensions = content[3]
    shape = np.frombuffer(content, dtype=">u4", count=dimensions, offset=4)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)


def parse_cifar(content: bytes, pixels: int) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, channels·height·width) and labels (n,) of one CIFAR binary batch, both uint8.

    Each record is a label byte followed by `pixels` bytes, the channel planes, each in row-major order.
    """
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, 1 + pixels)
    return records[:, 1:], records[:, 0]


def format_cifar(images: np.ndarray, labels: np.ndarray) -> bytes:
    """The CIFAR binary batch of `images` (n, pixels, 3), channels interleaved, and `labels` (n,)."""
    planes = images.transpose(0, 2, 1).reshape(len(images), -1)
    return np.concatenate([labels[:, None], planes], axis=1).astype(np.uint8, copy=False).tobytes()
