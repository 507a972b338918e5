"""What the panels of one explorer share."""

from dataclasses import dataclass, field
from pathlib import Path

from softlabel.app.children import Children
from softlabel.app.run_files import RunFiles


@dataclass
class Explorer:
    """One explorer.

    runs        directory whose runs are shown, and below which new ones are made
    children    processes that work for it
    files       files of runs that it sends
    """

    runs: Path
    children: Children = field(default_factory=Children)
    files: RunFiles = field(init=False)

    def __post_init__(self) -> None:
        self.files = RunFiles(self.runs)

    def close(self) -> None:
        """End all work."""
        self.children.close()
