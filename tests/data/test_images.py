"""Images from NPZ files, folders and arrays: layouts, values, and what is refused."""

import os
import socket

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from softlabel.data import load
from softlabel.data.images import channels_first, image_layout, read_image_file, read_image_folder
from softlabel.errors import InputError


def folder(path, sizes=((8, 8),), per_class=3, classes=("cat", "dog")):
    rng = np.random.default_rng(0)
    for name in classes:
        (path / name).mkdir(parents=True)
        for place in range(per_class):
            size = sizes[place % len(sizes)]
            table = rng.integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
            Image.fromarray(table).save(path / name / f"{place}.png")
    return path


def test_a_named_set():
    problem = load("digits")
    assert problem.images.shape == (1797, 1, 8, 8)
    assert (problem.images.min(), problem.images.max()) == (0, 1)
    pair = load("digits", classes="3,8")
    assert pair.classes == ("3", "8")
    assert pair.test.images.shape == (len(pair.test), 1, 8, 8)


def test_a_folder_of_class_folders(tmp_path):
    images, labels, classes = read_image_folder(folder(tmp_path / "pets"))
    assert images.shape == (6, 3, 8, 8)
    assert classes == ("cat", "dog")
    assert labels.tolist() == [0, 0, 0, 1, 1, 1]
    table = np.asarray(Image.open(tmp_path / "pets" / "dog" / "0.png")).transpose(2, 0, 1) / 255
    assert images[3] == pytest.approx(table, abs=1e-6)


def test_sizes_differ_unless_resized(tmp_path):
    path = folder(tmp_path / "pets", sizes=((8, 8), (10, 6)), per_class=20)
    with pytest.raises(InputError, match=r"1.png' has 10 × 6 pixels, other images have 8 × 8; pass `size` to resize"):
        load(path)
    problem = load(path, size=12)
    assert problem.image_shape == (3, 12, 12)
    assert str(problem.scaler) == "inputs as they are"
    np.testing.assert_array_equal(problem.images.reshape(40, -1), problem.X)
    with pytest.raises(InputError, match="which holds images, does not take `label`, `drop`: leave them out"):
        load(path, "y", drop=["a"])


@pytest.mark.parametrize(
    ("shape", "expected"), [((5, 8, 8), (5, 1, 8, 8)), ((5, 8, 9, 3), (5, 3, 8, 9)), ((5, 3, 8, 9), (5, 3, 8, 9))]
)
def test_arrays_of_any_layout(tmp_path, shape, expected):
    table = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=table, labels=np.array(["b", "a", "b", "a", "a"]))
    images, labels, classes = read_image_file(tmp_path / "a.npz")
    assert images.shape == expected
    assert images.max() == pytest.approx(table.max() / 255)
    assert classes == ("a", "b")
    assert labels.tolist() == [1, 0, 1, 0, 0]


@given(
    st.sampled_from([1, 3, 4]), st.integers(5, 12), st.integers(5, 12), st.sampled_from(["uint8", "float32", "float64"])
)
@settings(max_examples=40, deadline=None)
def test_every_layout_of_the_same_images_gives_the_same_problem(channels, height, width, dtype):
    images = np.random.default_rng(0).integers(0, 256, (40, channels, height, width), dtype=np.uint8)
    labels = np.arange(40) % 2
    first = load((images, labels))
    table = images if dtype == "uint8" else images.astype(dtype) / np.dtype(dtype).type(255)
    last = load((np.ascontiguousarray(table.transpose(0, 2, 3, 1)), labels))
    assert first.image_shape == last.image_shape == (channels, height, width)
    np.testing.assert_allclose(first.images, images / np.float32(255), atol=1e-7)
    np.testing.assert_allclose(last.images, first.images, atol=1e-7)
    np.testing.assert_array_equal(last.train.rows, first.train.rows)
    np.testing.assert_allclose(last.train.images, first.images[first.train.rows], atol=1e-7)
    if channels == 1:
        assert load((images[:, 0], labels)).fingerprint == first.fingerprint


@given(st.tuples(*[st.integers(1, 12)] * 3))
def test_a_layout_is_recognized_or_refused_but_never_guessed(shape):
    first, last = shape[0] in (1, 3, 4), shape[2] in (1, 3, 4)
    images = np.zeros((2, *shape))
    if first == last:
        assert image_layout(shape) == (None, False)
        with pytest.raises(InputError, match=r"the axis of channels is not clear .*channels first"):
            channels_first(images, "images")
    else:
        expected = shape if first else (shape[2], *shape[:2])
        assert image_layout(shape) == (expected, last)
        assert channels_first(images, "images").shape == (2, *expected)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_a_table_of_images_in_any_layout_has_images_and_keeps_its_columns(tmp_path, dtype):
    table = np.random.default_rng(0).integers(0, 256, (60, 6, 7, 3)).astype(dtype)
    np.savez(tmp_path / "last.npz", X=table, y=np.arange(60) % 2)
    problem = load(tmp_path / "last.npz")
    np.testing.assert_array_equal(problem.X, table.reshape(60, -1))
    assert problem.image_shape == (3, 6, 7)
    np.testing.assert_allclose(problem.images, table.transpose(0, 3, 1, 2) / 255, atol=1e-6)
    np.testing.assert_allclose(problem.test.images, problem.images[problem.test.rows])
    np.testing.assert_array_equal(problem.as_images(problem.X[:3]), table[:3].transpose(0, 3, 1, 2))


def test_values_that_are_no_pixels_are_a_table_without_images(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "a.npz", X=rng.normal(size=(60, 6, 7)), y=np.arange(60) % 2)
    problem = load(tmp_path / "a.npz")
    with pytest.raises(InputError, match="pixels must be integers from 0 to 255 or fractions from 0 to 1"):
        problem.train.images  # noqa: B018
    np.savez(tmp_path / "b.npz", X=rng.random((60, 3, 7, 3)), y=np.arange(60) % 2)
    problem = load(tmp_path / "b.npz")
    assert not problem.has_images
    with pytest.raises(InputError, match=r"'b.npz' has no images"):
        problem.images  # noqa: B018


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(3)}, "has no array 'images, labels'; it contains x"),
        ({"images": np.zeros((3, 4)), "labels": np.zeros(3)}, "images must be numbers"),
        ({"images": np.zeros((3, 4, 4)), "labels": np.zeros(2)}, "3 images, but labels have shape"),
        ({"images": np.zeros((3, 4, 4)), "labels": np.zeros(3)}, "1 class"),
        ({"images": np.full((2, 4, 4), np.inf), "labels": np.arange(2)}, "not finite"),
        ({"images": np.zeros((0, 4, 4)), "labels": np.zeros(0)}, "contains no images"),
        ({"images": np.full((2, 4, 4), -1.0), "labels": np.arange(2)}, "fractions from 0 to 1, got -1 to -1"),
        ({"images": np.full((2, 4, 4), 3.0), "labels": np.arange(2)}, "do not standardize them"),
    ],
)
def test_bad_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_image_file(tmp_path / "a.npz")


def test_bad_sources(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="is not a readable NPZ file"):
        load(tmp_path / "a.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        load(tmp_path / "empty.npz")
    np.savez(tmp_path / "cut.npz", images=np.zeros((9, 8, 8)), labels=np.arange(9))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:-60])
    with pytest.raises(InputError, match="is not a readable NPZ file"):
        load(tmp_path / "cut.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(InputError, match="not an NPZ archive"):
        load(tmp_path / "one.npz")
    with pytest.raises(InputError, match=r"0 class\(es\)"):
        load(tmp_path)
    path = folder(tmp_path / "pets")
    (path / "dog" / "z.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"z.png' cannot be read as an image"):
        load(path)
    (path / "empty").mkdir()
    (path / "dog" / "z.png").unlink()
    with pytest.raises(InputError, match="empty' contains no images"):
        load(path)


def test_classes_of_a_folder_can_be_chosen(tmp_path):
    path = folder(tmp_path / "pets", per_class=10, classes=("cat", "dog", "fox"))
    assert load(path, classes="fox,cat").classes == ("fox", "cat")
    assert load(path, leave_out="dog").classes == ("cat", "fox")


@pytest.mark.parametrize("shape", [(5, 3, 9, 3), (5, 1, 4, 4), (5, 4, 4, 3), (5, 8, 9, 10), (5, 2, 8, 8), (5, 8, 8, 2)])
def test_a_file_of_unclear_layout_is_refused(tmp_path, shape):
    np.savez(tmp_path / "a.npz", images=np.zeros(shape, np.uint8), labels=np.arange(5) % 2)
    with pytest.raises(InputError, match=r"the axis of channels is not clear .*images.transpose"):
        read_image_file(tmp_path / "a.npz")


def named_socket(path):
    endpoint = socket.socket(socket.AF_UNIX)
    endpoint.bind(os.path.relpath(path))
    endpoint.close()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is a named pipe, and only regular files are read"),
        (lambda path: path.symlink_to("/dev/zero"), "is a device, and only regular files are read"),
        (named_socket, "is a socket, and only regular files are read"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b""), r"is empty \(0 bytes\)"),
        (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 90), "cannot be read as an image"),
        (lambda path: path.symlink_to("nowhere"), "there is no file"),
    ],
)
def test_only_pictures_in_regular_files_are_opened(tmp_path, monkeypatch, make, message):
    monkeypatch.chdir(tmp_path)
    path = folder(tmp_path / "pets")
    make(path / "dog" / "z.png")
    with pytest.raises(InputError, match=message) as caught:
        load(path)
    assert "\n" not in str(caught.value)
