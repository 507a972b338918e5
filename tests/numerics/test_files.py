"""Files are written whole or not at all, with ordinary permissions, and a disk's refusal is a sentence."""

import errno
import os
import stat
import threading

import pytest
import torch

from softlabel.errors import InputError, SoftlabelError
from softlabel.numerics.files import WriteError, is_unfinished, replacing, replacing_all, write_bytes, write_text
from softlabel.numerics.tensor_files import save_tensors
from tests.faults.disks import files_up_to


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_complete_and_nothing_else(tmp_path):
    write_text(tmp_path / "new" / "a.txt", "γ")
    write_bytes(tmp_path / "new" / "a.txt", b"b")
    assert (tmp_path / "new" / "a.txt").read_bytes() == b"b"
    assert names(tmp_path / "new") == ["a.txt"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions_are_those_of_any_new_file(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_text(tmp_path / "a.txt", "")
        save_tensors(tmp_path / "t.safetensors", {"x": torch.zeros(3)}, "toy", {})
        with replacing_all(tmp_path / "all") as place:
            save_tensors(place / "t.safetensors", {"x": torch.zeros(3)}, "toy", {})
    finally:
        os.umask(before)
    for path in (tmp_path / "a.txt", tmp_path / "t.safetensors", tmp_path / "all" / "t.safetensors"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@pytest.mark.parametrize("accident", [ValueError("bad"), KeyboardInterrupt()])
def test_an_accident_leaves_the_old_file(tmp_path, accident):
    write_text(tmp_path / "a.txt", "old")

    def write() -> None:
        with replacing(tmp_path / "a.txt") as part:
            part.write_text("half of the n")
            raise accident

    with pytest.raises(type(accident)):
        write()
    assert (tmp_path / "a.txt").read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "write",
    [
        lambda path: write_bytes(path, b"x" * 10_000),
        lambda path: save_tensors(path, {"x": torch.zeros(10_000)}, "toy", {}),
    ],
)
def test_a_full_disk_is_a_sentence_and_leaves_the_old_file(tmp_path, write):
    path = tmp_path / "a.safetensors"
    path.write_text("old")
    with files_up_to(2000), pytest.raises(WriteError, match=r"a.safetensors' cannot be written: File too large"):
        write(path)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.safetensors"]


def test_the_kind_of_error_says_who_can_help(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot be written: '.*file' is not a folder; choose another place"):
        write_text(tmp_path / "file" / "a.txt", "")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match=r"folder' is a folder: choose another name"):
        write_text(tmp_path / "folder", "")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(WriteError, match="No space left on device; free some") as raised, replacing(tmp_path / "a"):
        raise full
    assert isinstance(raised.value, SoftlabelError)
    assert not isinstance(raised.value, InputError)


def test_several_writers_of_one_file_do_not_meet(tmp_path):
    """Each has a temporary file of its own: all succeed, and the file is one of theirs."""
    both = threading.Barrier(2)
    failures: list[BaseException] = []

    def writer(letter: str) -> None:
        try:
            with replacing(tmp_path / "a.txt") as part:
                part.write_text(letter * 1000)
                both.wait(10)
        except BaseException as problem:
            failures.append(problem)

    threads = [threading.Thread(target=writer, args=(letter,)) for letter in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert (tmp_path / "a.txt").read_text() in ("a" * 1000, "b" * 1000)
    assert names(tmp_path) == ["a.txt"]


def test_several_files_or_none(tmp_path):
    def write() -> None:
        with replacing_all(tmp_path / "new") as place:
            (place / "a").write_text("1")
            raise ValueError("bad")

    with pytest.raises(ValueError, match="bad"):
        write()
    assert names(tmp_path / "new") == []
    with replacing_all(tmp_path / "new") as place:
        (place / "a").write_text("1")
        (place / "b").write_text("2")
        assert is_unfinished(place.name)
    assert names(tmp_path / "new") == ["a", "b"]
