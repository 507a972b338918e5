"""Safetensors files: whole or not at all, with the permissions that the umask gives."""

import os

import pytest
import torch

from softlabel.numerics.tensor_files import read_tensors, save_tensors


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_files_have_the_permissions_that_the_umask_gives(tmp_path, umask, mode):
    before = os.umask(umask)
    try:
        save_tensors(tmp_path / "a.safetensors", {"x": torch.ones(2)}, "kind", {})
    finally:
        os.umask(before)
    assert (tmp_path / "a.safetensors").stat().st_mode & 0o777 == mode
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_a_path_may_be_a_string(tmp_path):
    save_tensors(f"{tmp_path}/sub/a.safetensors", {"x": torch.ones(2)}, "kind", {"about": "x"})
    tensors, metadata = read_tensors(f"{tmp_path}/sub/a.safetensors", "kind", "thing")
    assert torch.equal(tensors["x"], torch.ones(2))
    assert metadata == {"format": "kind", "about": "x"}


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path, monkeypatch):
    save_tensors(tmp_path / "a.safetensors", {"x": torch.ones(2)}, "kind", {})
    old = (tmp_path / "a.safetensors").read_bytes()

    def full(self, content):
        self.touch()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        save_tensors(tmp_path / "a.safetensors", {"x": torch.zeros(9)}, "kind", {})
    assert (tmp_path / "a.safetensors").read_bytes() == old
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]
