"""A directory for the temporary files of one test."""

import shutil
import tempfile
from pathlib import Path

import pytest


@pytest.fixture
def temporary(monkeypatch):
    """A directory that processes take for the system's; its name is short because sockets need that."""
    directory = tempfile.mkdtemp(prefix="sl-", dir="/tmp")
    monkeypatch.setenv("TMPDIR", directory)
    yield Path(directory)
    shutil.rmtree(directory)
