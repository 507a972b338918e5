"""What the panels of one explorer share."""

from dataclasses import dataclass, field
from pathlib import Path

from softlabel.app.children import Children


@dataclass
class Explorer:
    """One explorer.

    runs        directory whose runs are shown, and below which new ones are made
    children    processes that work for it
    """

    runs: Path
    children: Children = field(default_factory=Children)

    def close(self) -> None:
        """End all work."""
        self.children.close()
