"""Paths taken literally, and regular files only."""

import os
from pathlib import Path

import pytest

from softlabel.errors import InputError
from softlabel.numerics.local_files import local_path, read_content, require_regular_file, silent_stderr


def test_a_tilde_stands_for_home_unless_there_is_such_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert local_path("~/t.csv") == tmp_path / "home" / "t.csv"
    assert local_path("~nobody-of-this-name/t.csv") == Path("~nobody-of-this-name/t.csv")
    (tmp_path / "~").mkdir()
    (tmp_path / "~" / "t.csv").write_text("a")
    assert local_path("~/t.csv") == Path("~/t.csv")
    assert local_path("data[1].csv") == Path("data[1].csv")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is no file"),
        (lambda path: path.mkdir(), "is a folder: name a file in it"),
        (os.mkfifo, "is a named pipe, and only regular files are read"),
        (lambda path: path.symlink_to("/dev/null"), "is a device, and only regular files are read"),
        (lambda path: path.symlink_to(path), "cannot be read"),
        (lambda path: path.write_bytes(b""), r"is empty \(0 bytes\)"),
    ],
)
def test_what_is_no_regular_file(tmp_path, make, message):
    make(tmp_path / "f")
    for read in (require_regular_file, read_content):
        with pytest.raises(InputError, match=message):
            read(tmp_path / "f")


@pytest.mark.parametrize("name", ["a\0b", "n" * 300, "f/under-a-file"])
def test_names_that_cannot_be(tmp_path, name):
    (tmp_path / "f").write_text("a")
    with pytest.raises(InputError, match=r"cannot be read|there is no file"):
        require_regular_file(tmp_path / name)


def test_links_to_files_are_followed(tmp_path):
    (tmp_path / "f").write_bytes(b"abc")
    (tmp_path / "link").symlink_to(tmp_path / "f")
    assert read_content(tmp_path / "link") == b"abc"


def test_native_code_is_silent_for_a_while(capfd):
    with silent_stderr():
        os.write(2, b"noise")
    os.write(2, b"words")
    assert capfd.readouterr().err == "words"
