import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from softlabel.data.formats import format_cifar, parse_cifar, parse_idx


def test_idx_header_of_the_published_files():
    content = bytes.fromhex("00000803 00000002 00000001 00000003") + bytes(range(6))
    np.testing.assert_array_equal(parse_idx(content), [[[0, 1, 2]], [[3, 4, 5]]])
    np.testing.assert_array_equal(parse_idx(bytes.fromhex("00000801 00000002 0709")), [7, 9])


@given(st.integers(1, 6), st.integers(1, 9), st.data())
def test_cifar_round_trip(n, pixels, data):
    images = data.draw(hnp.arrays(np.uint8, (n, pixels, 3)))
    labels = data.draw(hnp.arrays(np.uint8, n))
    planes, back = parse_cifar(format_cifar(images, labels), 3 * pixels)
    np.testing.assert_array_equal(back, labels)
    np.testing.assert_array_equal(planes.reshape(n, 3, pixels), images.transpose(0, 2, 1))
