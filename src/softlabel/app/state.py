"""What the panels of one explorer share."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from softlabel.app.children import Children
from softlabel.app.questions import Questions
from softlabel.app.run_files import RunFiles

UPLOADS = ".uploads"


@dataclass
class Explorer:
    """One explorer.

    runs        directory whose runs are shown, and below which new ones are made
    children    processes that work for it
    files       files of runs that it sends
    questions   what visitors have asked
    uploads     directory of the files that visitors are about to ask about; each tab deletes its own
    """

    runs: Path
    children: Children = field(default_factory=Children)
    files: RunFiles = field(init=False)
    questions: Questions = field(init=False)
    uploads: Path = field(init=False)

    def __post_init__(self) -> None:
        self.files = RunFiles(self.runs)
        self.questions = Questions(self.runs, self.children)
        self.uploads = self.runs / UPLOADS / str(os.getpid())
        _delete_orphans(self.runs / UPLOADS)

    def close(self) -> None:
        """End all work, and delete uploads that were not asked about."""
        self.children.close()
        shutil.rmtree(self.uploads, ignore_errors=True)


def _delete_orphans(root: Path) -> None:
    """Delete what explorers that are gone have left."""
    if not root.is_dir() or root.is_symlink():
        return
    for directory in root.iterdir():
        if directory.name.isdecimal() and (directory.name == str(os.getpid()) or not _is_alive(int(directory.name))):
            shutil.rmtree(directory, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
