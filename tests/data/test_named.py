import hashlib

import numpy as np
import pytest

from softlabel.data import CATALOGUE, cache_folder, fetch, verify
from softlabel.data.loading import load_raw
from softlabel.data.named import load_named

MD5 = {
    "mnist": [
        "6bbc9ace898e44ae57da46a324031adb",
        "a25bea736e30d166cdddb491f175f624",
        "2646ac647ad5339dbf082846283269ea",
        "27ae3e4e09519cfbb04c329615203637",
    ],
    "fashion-mnist": [
        "f4a8712d7a061bf5bd6d2ca38dc4d50a",
        "9018921c3c673c538a1fc5bad174d6f9",
        "8181f5470baa50b63fa0f6fddb340f0a",
        "15d484375f8d13e6eb1aabb0c3f46965",
    ],
    "cifar10": [
        "5dd7e06a14cb22eb9f671a540d1b7c25",
        "5ea93a67294ea407fff1d09f752e9692",
        "942cd6a4bcdd0dd3c604fbe906cb4421",
        "ae636b3ba5c66a11e91e8cb52e771fcb",
        "53f37980c15c3d472c316c40844f3f0d",
        "803d5f7f4d78ea53de84dbe85f74fb6d",
    ],
}


def test_binary_batches_in_order(named_cifar):
    data = load_named("tiny-cifar")
    assert data.inputs.shape == (30, 12)
    assert dict(data.parts) == {"train": slice(0, 20), "test": slice(20, 30)}
    inputs, labels = data.part("test")
    np.testing.assert_allclose(inputs, named_cifar["test"].reshape(10, -1) / 255, rtol=1e-6)
    np.testing.assert_array_equal(labels, np.arange(10))
    some = load_named("tiny-cifar", keep=[3, 5])
    assert dict(some.parts) == {"train": slice(0, 4), "test": slice(4, 6)}
    np.testing.assert_array_equal(some.labels, [3, 5, 3, 5, 3, 5])


@pytest.mark.data
@pytest.mark.parametrize("name", list(MD5))
def test_the_real_files_are_the_published_ones(name, real):
    real(name)
    assert all(file.state == "right" for file in verify(name))
    found = [
        hashlib.md5((cache_folder() / name / file.name).read_bytes()).hexdigest() for file in CATALOGUE[name].files
    ]
    assert found == MD5[name]


@pytest.mark.data
@pytest.mark.parametrize("name", ["mnist", "fashion-mnist"])
def test_the_real_idx_sets(name, real):
    real(name)
    data = load_raw(name)
    assert data.inputs.shape == (70_000, 784)
    assert data.inputs.dtype == np.float32
    assert (data.inputs.min(), data.inputs.max()) == (0, 1)
    assert len(data.part("test")[1]) == 10_000
    assert data.labels[:5].tolist() == ([5, 0, 4, 1, 9] if name == "mnist" else [9, 0, 0, 3, 0])


@pytest.mark.data
def test_the_real_cifar10(real):
    real("cifar10")
    data = load_raw("cifar10")
    assert data.inputs.shape == (60_000, 3072)
    assert np.bincount(data.labels).tolist() == [6000] * 10
    assert np.bincount(data.part("test")[1]).tolist() == [1000] * 10
    assert data.classes[data.labels[0]] == "frog"
    means = data.part("train")[0].reshape(50_000, 3, -1).mean(axis=(0, 2), dtype=np.float64)
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=1e-4)
    assert fetch("cifar10").source is None
