"""Images from names, arrays and folders; what is refused, and how."""

import os
import socket

import numpy as np
import pytest
from PIL import Image

from softlabel.data.image_sets import load_images
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
    held = load_images("digits")
    assert held.pixels.shape == (1797, 1, 8, 8)
    assert (held.pixels.min(), held.pixels.max()) == (0, 1)
    pair = load_images("digits", "3,8")
    assert pair.classes == ("3", "8")
    assert set(pair.labels) == {0, 1}


def test_a_folder_of_class_folders(tmp_path):
    held = load_images(folder(tmp_path / "pets"))
    assert held.pixels.shape == (6, 3, 8, 8)
    assert held.classes == ("cat", "dog")
    assert held.labels.tolist() == [0, 0, 0, 1, 1, 1]
    table = np.asarray(Image.open(tmp_path / "pets" / "dog" / "0.png")).transpose(2, 0, 1) / 255
    assert held.pixels[3] == pytest.approx(table, abs=1e-6)


def test_sizes_differ_unless_brought_to_one(tmp_path):
    path = folder(tmp_path / "pets", sizes=((8, 8), (10, 6)))
    with pytest.raises(InputError, match=r"1.png' has 10 × 6 pixels, others 8 × 8; give --size"):
        load_images(path)
    assert load_images(path, size=12).pixels.shape == (6, 3, 12, 12)


@pytest.mark.parametrize(
    ("shape", "found"), [((5, 8, 8), (5, 1, 8, 8)), ((5, 8, 9, 3), (5, 3, 8, 9)), ((5, 3, 8, 9), (5, 3, 8, 9))]
)
def test_arrays_of_any_layout(tmp_path, shape, found):
    table = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    np.savez(tmp_path / "a.npz", images=table, labels=np.array(["b", "a", "b", "a", "a"]))
    held = load_images(tmp_path / "a.npz")
    assert held.pixels.shape == found
    assert held.pixels.max() == pytest.approx(table.max() / 255)
    assert held.classes == ("a", "b")
    assert held.labels.tolist() == [1, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros(3)}, "has no array 'images, labels'; it holds x"),
        ({"images": np.zeros((3, 4)), "labels": np.zeros(3)}, "images must be numbers"),
        ({"images": np.zeros((3, 4, 4)), "labels": np.zeros(2)}, "3 images, but labels have shape"),
        ({"images": np.zeros((3, 4, 4)), "labels": np.zeros(3)}, "1 class"),
        ({"images": np.full((2, 4, 4), np.inf), "labels": np.arange(2)}, "not finite"),
        ({"images": np.zeros((0, 4, 4)), "labels": np.zeros(0)}, "holds no images"),
        ({"images": np.full((2, 4, 4), -1.0), "labels": np.arange(2)}, "fractions from 0 to 1, got -1 to -1"),
        ({"images": np.full((2, 4, 4), 3.0), "labels": np.arange(2)}, "networks standardise by themselves"),
    ],
)
def test_bad_arrays(tmp_path, arrays, message):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(InputError, match=message):
        load_images(tmp_path / "a.npz")


def test_bad_sources(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"no")
    with pytest.raises(InputError, match="is not a readable NPZ file"):
        load_images(tmp_path / "a.npz")
    (tmp_path / "empty.npz").write_bytes(b"")
    with pytest.raises(InputError, match=r"is empty \(0 bytes\)"):
        load_images(tmp_path / "empty.npz")
    np.savez(tmp_path / "cut.npz", images=np.zeros((9, 8, 8)), labels=np.arange(9))
    (tmp_path / "cut.npz").write_bytes((tmp_path / "cut.npz").read_bytes()[:-60])
    with pytest.raises(InputError, match="is not a readable NPZ file"):
        load_images(tmp_path / "cut.npz")
    np.save(tmp_path / "one.npy", np.zeros(3))
    (tmp_path / "one.npy").rename(tmp_path / "one.npz")
    with pytest.raises(InputError, match="not an NPZ archive"):
        load_images(tmp_path / "one.npz")
    with pytest.raises(InputError, match="did you mean 'cifar10'"):
        load_images("cifar")
    with pytest.raises(InputError, match=r"table.csv' does not exist"):
        load_images(tmp_path / "table.csv")
    (tmp_path / "table.csv").write_text("a,b")
    with pytest.raises(InputError, match="holds no images"):
        load_images(tmp_path / "table.csv")
    with pytest.raises(InputError, match=r"0 class\(es\)"):
        load_images(tmp_path)
    path = folder(tmp_path / "pets")
    with pytest.raises(InputError, match="from a named set only"):
        load_images(path, "cat,dog")
    (path / "dog" / "z.png").write_bytes(b"no image")
    with pytest.raises(InputError, match=r"z.png' cannot be read as an image"):
        load_images(path)
    (path / "empty").mkdir()
    (path / "dog" / "z.png").unlink()
    with pytest.raises(InputError, match="empty' holds no images"):
        load_images(path)


@pytest.mark.parametrize("shape", [(5, 3, 9, 3), (5, 1, 4, 4), (5, 4, 4, 3), (5, 8, 9, 10), (5, 2, 8, 8), (5, 8, 8, 2)])
def test_channels_that_cannot_be_told_are_not_guessed(tmp_path, shape):
    np.savez(tmp_path / "a.npz", images=np.zeros(shape, np.uint8), labels=np.arange(5) % 2)
    with pytest.raises(InputError, match=r"channels cannot be told from height and width .*images.transpose"):
        load_images(tmp_path / "a.npz")


def named_socket(path):
    held = socket.socket(socket.AF_UNIX)
    held.bind(os.path.relpath(path))
    held.close()


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
        load_images(path)
    assert "\n" not in str(caught.value)
