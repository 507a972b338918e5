"""The panels of the explorer: one file for each, and one line in `PANELS`."""

from softlabel.app.panels import home, kernel
from softlabel.app.panels.panel import ExplorerPanel

PANELS: tuple[ExplorerPanel, ...] = (home.PANEL, kernel.PANEL)
