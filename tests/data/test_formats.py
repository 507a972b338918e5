import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softlabel.data.formats import format_cifar, format_idx, parse_cifar, parse_idx, read_bytes
from softlabel.errors import InputError

_KINDS = [np.uint8, np.int8, np.int16, np.int32, np.float32, np.float64]
_ARRAYS = st.sampled_from(_KINDS).flatmap(
    lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=5))
)


@given(_ARRAYS)
def test_idx_round_trip(array):
    back = parse_idx(format_idx(array), "file", ndim=array.ndim)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)


@given(hnp.arrays(np.uint8, (3, 4, 5)), st.data())
def test_a_truncated_idx_file_is_always_noticed(array, data):
    content = format_idx(array)
    cut = data.draw(st.integers(0, len(content) - 1))
    with pytest.raises(InputError, match=r"truncated|not an IDX"):
        parse_idx(content[:cut], "file")


def test_idx_header_of_the_published_files():
    content = bytes.fromhex("00000803 00000002 00000001 00000003") + bytes(range(6))
    np.testing.assert_array_equal(parse_idx(content, "x"), [[[0, 1, 2]], [[3, 4, 5]]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "starts with nothing"),
        (b"\x1f\x8b\x08\x00rest", r"starts with 1f 8b 08 00.*was it decompressed\?"),
        (b"\0\0\x07\x01" + bytes(8), "not an IDX file"),
        (b"\0\0\x08\x03\0\0", "6 bytes, its IDX header alone takes 16"),
        (format_idx(np.zeros(3, np.uint8)) + b"!", r"too long: 12 bytes where its shape \(3,\) takes 11"),
        (b"\0\0\x08\x02" + b"\xff" * 8, "truncated"),
    ],
)
def test_what_is_no_idx_file(content, message):
    with pytest.raises(InputError, match=message):
        parse_idx(content, "file")


def test_idx_of_the_wrong_rank_and_of_a_wrong_type():
    with pytest.raises(InputError, match="1 dimensions where 3 are expected"):
        parse_idx(format_idx(np.zeros(3, np.uint8)), "file", ndim=3)
    with pytest.raises(InputError, match="cannot store complex128 values"):
        format_idx(np.zeros(3, complex))


@given(st.integers(1, 6), st.integers(1, 9), st.data())
def test_cifar_round_trip(n, pixels, data):
    images = data.draw(hnp.arrays(np.uint8, (n, pixels, 3)))
    labels = data.draw(hnp.arrays(np.uint8, n))
    planes, back = parse_cifar(format_cifar(images, labels), "batch", (3, pixels, 1))
    np.testing.assert_array_equal(back, labels)
    np.testing.assert_array_equal(planes.reshape(n, 3, pixels), images.transpose(0, 2, 1))


@pytest.mark.parametrize("content", [b"", bytes(3072), bytes(3073 * 2 + 1)])
def test_a_broken_cifar_batch(content):
    with pytest.raises(InputError, match="not a multiple of 3073 bytes"):
        parse_cifar(content, "batch")


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*No such file"):
        read_bytes(tmp_path / "none")
