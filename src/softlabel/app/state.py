"""What the panels of one explorer share."""

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from softlabel.app.children import Children
from softlabel.app.questions import Questions
from softlabel.app.run_files import RunFiles
from softlabel.app.temporary import delete_orphans

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
        shutil.rmtree(self.uploads, ignore_errors=True)  # of an earlier process that had the same number
        delete_orphans(self.runs / UPLOADS, "([0-9]+)")

    def close(self) -> None:
        """End all work, and delete uploads that were not asked about."""
        self.children.close()
        shutil.rmtree(self.uploads, ignore_errors=True)
