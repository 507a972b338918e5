"""Images in memory: checks, identity, order and augmentation."""

import numpy as np
import pytest
import torch

from softlabel.errors import InputError
from softlabel.networks.deep import Images
from softlabel.networks.deep.images import augment
from tests.networks.deep.small import images


def test_grey_images_get_a_channel_and_memory_is_channels_last():
    examples = Images.from_arrays(np.zeros((4, 6, 5)), [0, 1, 0, 1])
    assert examples.shape == (1, 6, 5)
    assert images(channels=3).pixels.is_contiguous(memory_format=torch.channels_last)


def test_the_fingerprint_is_of_pixels_and_order():
    examples = images()
    assert examples.fingerprint == images().fingerprint
    assert examples.rows(np.arange(len(examples))[::-1].copy()).fingerprint != examples.fingerprint
    touched = examples.pixels.clone()
    touched[0, 0, 0, 0] += 1e-6
    assert Images.from_arrays(touched, examples.labels).fingerprint != examples.fingerprint


def test_an_epochs_order_is_its_own_and_complete():
    examples = images()
    first, second = examples.order(0, 0), examples.order(0, 1)
    assert sorted(first.tolist()) == list(range(len(examples)))
    assert torch.equal(first, examples.order(0, 0))
    assert not torch.equal(first, second)
    assert not torch.equal(first, examples.order(1, 0))


def test_a_view_does_not_depend_on_the_batch():
    examples = images(20)
    all_images = augment(examples.pixels, torch.arange(20), 20, seed=1, view=4)
    some = torch.tensor([17, 3, 8])
    assert torch.equal(augment(examples.pixels[some], some, 20, 1, 4), all_images[some])
    assert not torch.equal(all_images, augment(examples.pixels, torch.arange(20), 20, 1, 5))


def test_an_augmented_image_is_the_image_shifted_and_perhaps_mirrored():
    one = torch.zeros(200, 1, 12, 12)
    one[:, 0, 5, 7] = 1
    moved = augment(one, torch.arange(200), 200, 0, 0)
    assert moved.sum((1, 2, 3)).tolist() == [1.0] * 200
    rows, columns = moved[:, 0].nonzero()[:, 1], moved[:, 0].nonzero()[:, 2]
    assert set(rows.tolist()) == set(range(1, 10))
    assert {int(c) for c in columns} >= {0, 1, 3, 11}  # 7 ± 4, and 4 ± 4 mirrored


@pytest.mark.parametrize(
    ("pixels", "labels", "message"),
    [
        (np.zeros((3, 4)), [0, 1, 0], r"\(n, channels, height, width\) or"),
        (np.full((2, 4, 4), np.nan), [0, 1], "must be finite"),
        (np.zeros((2, 4, 4)), [0, 1, 1], "there are 2 images"),
        (np.zeros((2, 4, 4)), [0, 0.5], "must be integers"),
        (np.zeros((2, 4, 4)), [0, -1], "0 … 0"),
    ],
)
def test_bad_images(pixels, labels, message):
    with pytest.raises(InputError, match=message):
        Images.from_arrays(pixels, labels)


def test_labels_beyond_the_classes():
    with pytest.raises(InputError, match=r"0 … 1 \(2 classes\), got 0 to 2"):
        Images.from_arrays(np.zeros((2, 4, 4)), [0, 2], classes=2)


def test_images_of_bytes_in_any_layout_are_the_same():
    """(10, 32, 32, 3) is ten color images, not images of 32 channels; bytes are fractions of 255."""
    table = np.random.default_rng(0).integers(0, 256, (10, 32, 32, 3), dtype=np.uint8)
    last, first = (
        Images.from_arrays(table, np.arange(10)),
        Images.from_arrays(table.transpose(0, 3, 1, 2), np.arange(10)),
    )
    assert last.shape == first.shape == (3, 32, 32)
    assert last.fingerprint == first.fingerprint
    assert last.pixels.numpy() == pytest.approx(table.transpose(0, 3, 1, 2) / 255, abs=1e-6)
    gray = Images.from_arrays(table[..., 0], np.arange(10))
    assert gray.shape == (1, 32, 32)
    assert float(gray.pixels.max()) == pytest.approx(table[..., 0].max() / 255)
    assert Images.from_arrays(table.astype(np.int64), np.arange(10)).fingerprint == first.fingerprint


def test_fractions_are_taken_as_they_are():
    table = np.random.default_rng(0).normal(size=(4, 9, 9, 3)).astype(np.float32)
    assert Images.from_arrays(table, [0, 1, 0, 1]).pixels.numpy() == pytest.approx(table.transpose(0, 3, 1, 2))


def test_a_layout_may_be_named():
    table = np.random.default_rng(0).random((5, 4, 4, 3)).astype(np.float32)
    with pytest.raises(InputError, match="the axis of channels is not clear"):
        Images.from_arrays(table, np.arange(5))
    assert Images.from_arrays(table, np.arange(5), layout="channels_last").shape == (3, 4, 4)
    assert Images.from_arrays(table, np.arange(5), layout="channels_first").shape == (4, 4, 3)
    with pytest.raises(InputError, match="layout must be one of auto"):
        Images.from_arrays(table, np.arange(5), layout="NHWC")


@pytest.mark.parametrize("labels", [[0, np.nan], [0, np.inf], ["a", "b"], [None, 1]])
def test_labels_that_are_not_integers(labels):
    with pytest.raises(InputError, match="labels must be integers"):
        Images.from_arrays(np.zeros((2, 8, 8)), labels)


def test_pixels_beyond_bytes_are_refused():
    with pytest.raises(InputError, match="pixels must be of an integer type"):
        Images.from_arrays(np.full((2, 8, 8), 1000), [0, 1])
    with pytest.raises(InputError, match="images must be numeric"):
        Images.from_arrays(np.full((2, 8, 8), "a"), [0, 1])
