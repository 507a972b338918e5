"""File formats of published image data sets: IDX (MNIST) and CIFAR's binary batches."""

from pathlib import Path

import numpy as np

from softlabel.errors import InputError

_IDX_TYPES = {
    0x08: np.dtype(np.uint8),
    0x09: np.dtype(np.int8),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}


def parse_idx(content: bytes, name: str, ndim: int | None = None) -> np.ndarray:
    """The array in an IDX file.

    The file has two zero bytes, a type code, the number of dimensions, each dimension as a big-endian 32-bit integer,
    and then the values in row-major order.
    """
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _IDX_TYPES:
        raise InputError(
            f"'{name}' is not an IDX file: it starts with {content[:4].hex(' ') or 'nothing'}, not with "
            f"00 00 and a type code; was it decompressed?"
        )
    dtype, dimensions = _IDX_TYPES[content[2]], content[3]
    if ndim is not None and dimensions != ndim:
        raise InputError(f"'{name}' contains an IDX array of {dimensions} dimensions where {ndim} are expected")
    header = 4 + 4 * dimensions
    if len(content) < header:
        raise InputError(f"'{name}' is truncated: {len(content)} bytes, its IDX header alone takes {header}")
    shape = tuple(int(size) for size in np.frombuffer(content, dtype=">u4", count=dimensions, offset=4))
    values = 1
    for size in shape:
        values *= size
    expected = header + values * dtype.itemsize
    if len(content) != expected:
        state = "truncated" if len(content) < expected else "too long"
        raise InputError(f"'{name}' is {state}: {len(content)} bytes where its shape {shape} takes {expected}")
    array = np.frombuffer(content, dtype=dtype, offset=header).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)


def format_idx(array: np.ndarray) -> bytes:
    """`array` as the content of an IDX file."""
    for code, dtype in _IDX_TYPES.items():
        if array.dtype == dtype.newbyteorder("="):
            shape = np.array(array.shape, dtype=">u4").tobytes()
            return bytes([0, 0, code, array.ndim]) + shape + array.astype(dtype).tobytes()
    raise InputError(f"IDX files cannot store {array.dtype} values: convert them to uint8, int or float first")


def parse_cifar(content: bytes, name: str, shape: tuple[int, ...] = (3, 32, 32)) -> tuple[np.ndarray, np.ndarray]:
    """Pixels (n, channels·height·width) and labels (n,) of one CIFAR binary batch, both uint8.

    Each record is a label byte followed by the channel planes, each in row-major order.
    """
    record = 1 + int(np.prod(shape))
    if not content or len(content) % record:
        raise InputError(
            f"'{name}' is not a CIFAR binary batch or is truncated: {len(content)} bytes are not a multiple "
            f"of {record} bytes"
        )
    records = np.frombuffer(content, dtype=np.uint8).reshape(-1, record)
    return records[:, 1:], records[:, 0]


def format_cifar(images: np.ndarray, labels: np.ndarray) -> bytes:
    """The CIFAR binary batch of `images` (n, pixels, 3), channels interleaved, and `labels` (n,)."""
    planes = images.transpose(0, 2, 1).reshape(len(images), -1)
    return np.concatenate([labels[:, None], planes], axis=1).astype(np.uint8, copy=False).tobytes()


def read_bytes(path: Path) -> bytes:
    """The content of a file; an `InputError` says why it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read '{path}': {error.strerror or error}") from None
