"""NPY and NPZ files that declare more than they hold, unpack to more than fits, or hold something else."""

import io
import os
import struct
import warnings
import zipfile

import numpy as np
import pytest

from softlabel import memory
from softlabel.data.images import read_image_file
from softlabel.data.tables import load_table
from softlabel.errors import InputError
from softlabel.numerics import array_files
from softlabel.numerics.array_files import array_names, read_array, read_arrays
from tests.mutations import refusals


def npy(shape="(2, 3)", dtype="'<f8'", order="False", content=b"\0" * 48):
    header = f"{{'descr': {dtype}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


def array(values):
    stream = io.BytesIO()
    np.save(stream, values, allow_pickle=True)
    return stream.getvalue()


def packed(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


def declaring(size):
    """An archive whose table of contents says that `images` has so many bytes."""
    content = bytearray(packed(labels=array(np.arange(4) % 2), images=npy("(4, 8, 8)", "'|u1'", content=b"\0" * 256)))
    place = content.rindex(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", size)
    return bytes(content)


def encrypted():
    content = bytearray(packed(images=array(np.zeros((4, 8, 8))), labels=array(np.arange(4))))
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = -1
        while (place := content.find(mark, place + 1)) >= 0:
            content[place + offset] |= 1
    return bytes(content)


def damaged():
    content = bytearray(packed(images=array(np.random.default_rng(0).random((40, 8, 8))), labels=array(np.arange(40))))
    content[300] ^= 0xFF
    return bytes(content)


def twice():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):
            archive.writestr("images.npy", array(np.zeros((4, 8, 8))))
    return stream.getvalue()


LABELS = array(np.arange(4) % 2)
ARRAYS = [
    (npy("(18_000_000_000_000, 1)".replace("_", ""), "'|u1'"), "declares 16.4 TiB"),
    (npy("(4611686018427387904, 8)"), "declares"),
    (npy("(-1, 6)"), "no side can be negative"),
    (npy("(9223372036854775807, 0)"), "which is no array"),
    (npy("(3, 4)"), "declares 96 bytes .* and holds 48 bytes"),
    (npy("(1000000000000,)", "'<U0'", content=b""), "holds values of type <U0"),
    (npy("(2, 3)", "[('a', '<f8')]"), r"holds values of type \[\('a', '<f8'\)\]"),
    (npy("(2,)", "'|O'"), "holds Python objects, which softlabel never unpickles"),
    (npy("(2, 3)", "'M8[ns]'"), "has inputs of type"),
    (npy("(2, 3)", "'<c16'", content=b"\0" * 96), "has inputs of type complex128"),
    (npy("(2, 3)", "'nothing'"), "is not a readable NPY file"),
    (npy("'shape'"), "is not a readable NPY file"),
    (npy("(" * 500 + ")" * 500), "is not a readable NPY file"),
    (npy("(2, 3)")[:60], "is not a readable NPY file"),
    (b"\x93NUMPY\x09\x00" + b"\0" * 90, "is not a readable NPY file|of version"),
    (b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "is not a readable NPY file"),
]
IMAGES = [
    (declaring(2**32 - 2), "looks like a decompression bomb"),
    (packed(images=b"GIF89a" + b"\0" * 99, labels=LABELS), "array 'images' is no array: NumPy did not write it"),
    (packed(images=array(np.array([{}] * 4)), labels=LABELS), "holds Python objects, which softlabel never unpickles"),
    (packed(images=npy("(18000000000000, 8, 8)", "'|u1'"), labels=LABELS), "declares 1,047.7 TiB"),
    (encrypted(), "is encrypted"),
    (damaged(), "is not a readable NPZ file"),
    (twice(), "holds two arrays called 'images'"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.array([0, 1, np.nan, 1]))), "1 labels are missing"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.array([0, 1, np.inf, 1]))), "1 labels are missing"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.array([0, 1, 0.5, 1]))), "not integers .*'0.5'"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.array(["a", "", "b", "b"]))), "1 labels are missing"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.array([b"a", b"b"] * 2))), "got values of type"),
    (packed(images=array(np.zeros((4, 8, 8))), labels=array(np.zeros(4, "c16"))), "got values of type complex128"),
    (packed(images=array(np.full((4, 8, 8), np.nan)), labels=LABELS), "not finite"),
    (packed(), "has no array 'images, labels'; it contains none"),
]


@pytest.mark.parametrize(("content", "message"), ARRAYS)
def test_hostile_arrays_are_one_line(tmp_path, capfd, content, message):
    (tmp_path / "t.npy").write_bytes(content)
    (tmp_path / "t.npz").write_bytes(packed(X=content, y=array(np.arange(2))))
    for name in ("t.npy", "t.npz"):
        check_refused(lambda name=name: load_table(tmp_path / name, "y" if name == "t.npz" else "last"), message, capfd)


@pytest.mark.parametrize(("content", "message"), IMAGES)
def test_hostile_archives_are_one_line(tmp_path, capfd, content, message):
    (tmp_path / "t.npz").write_bytes(content)
    check_refused(lambda: read_image_file(tmp_path / "t.npz"), message, capfd)


def check_refused(read, message, capfd):
    message = message.replace("is not a readable NPY file", "is not a readable NP[YZ] file")
    with pytest.raises(InputError, match=message) as caught:
        read()
    assert "\n" not in str(caught.value)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/zero"), lambda path: path.mkdir()])
def test_only_regular_files_are_opened(tmp_path, make):
    for name in ("t.npy", "t.npz"):
        make(tmp_path / name)
        with pytest.raises(InputError, match=r"only regular files are read|is a folder"):
            read_array(tmp_path / name)
        with pytest.raises(InputError, match=r"only regular files are read|is a folder"):
            array_names(tmp_path / name)


def test_a_bomb_is_recognized_by_what_it_declares(tmp_path, monkeypatch):
    """Nothing is unpacked: the table of contents is enough."""
    np.savez_compressed(tmp_path / "t.npz", a=np.zeros(300_000))
    monkeypatch.setattr(array_files, "BOMB_SIZE", 1_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", None)
    with pytest.raises(InputError, match=r"unpacks from .* to 2.3 MiB, which looks like a decompression bomb"):
        read_arrays(tmp_path / "t.npz", ["a"])


def test_memory_bounds_what_is_read(tmp_path, monkeypatch):
    np.savez(tmp_path / "t.npz", a=np.zeros(3000), b=np.zeros(3000))
    np.save(tmp_path / "t.npy", np.zeros(3000))
    monkeypatch.setattr(memory, "available_memory", lambda: 60_000)
    assert read_arrays(tmp_path / "t.npz", ["a"])[0].shape == (3000,)
    with pytest.raises(InputError, match=r"needs 47.1 KiB of memory, and 58.6 KiB are available"):
        read_arrays(tmp_path / "t.npz", ["a", "b"])
    monkeypatch.setattr(memory, "available_memory", lambda: 40_000)
    with pytest.raises(InputError, match=r"needs 23.4 KiB of memory"):
        read_array(tmp_path / "t.npy")


@pytest.mark.parametrize(
    "values",
    [
        np.arange(24.0).reshape(2, 3, 4), np.asfortranarray(np.arange(6).reshape(2, 3)), np.array(3.5),
        np.zeros((0, 4)), np.arange(5, dtype=">i4"), np.array(["é", "bc"]), np.array([True, False]), np.zeros((3, 0)),
        np.arange(3, dtype=np.float16),
    ],
)  # fmt: skip
def test_arrays_are_read_as_numpy_reads_them(tmp_path, values):
    np.save(tmp_path / "t.npy", values)
    np.savez_compressed(tmp_path / "t.npz", values=values, other=1)
    assert array_names(tmp_path / "t.npz") == ["values", "other"]
    for result in (read_array(tmp_path / "t.npy"), read_arrays(tmp_path / "t.npz", ["values"])[0]):
        assert result.dtype == values.dtype.newbyteorder("=")
        assert np.array_equal(result, values)
    if values.size:
        assert np.array_equal(read_array(tmp_path / "t.npy", mmap=True), values)


def test_mutated_files_are_read_or_refused_in_one_line(tmp_path):
    rng = np.random.default_rng(0)
    stream = io.BytesIO()
    np.savez_compressed(stream, images=rng.integers(0, 255, (9, 8, 8), dtype=np.uint8), labels=np.arange(9) % 3)
    messages = refusals(stream.getvalue(), tmp_path / "t.npz", read_image_file, 200)
    table = array(rng.normal(size=(30, 4)))
    messages += refusals(table, tmp_path / "t.npy", lambda path: load_table(path, "last"), 200)
    assert len(messages) > 100
    assert not [line for line in messages if "\n" in line]
