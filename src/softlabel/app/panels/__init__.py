"""The panels of the explorer: one file for each, and one line in `PANELS`."""

from softlabel.app.panels import ask, bounds, home, live, papers, runs
from softlabel.app.panels.panel import ExplorerPanel

PANELS: tuple[ExplorerPanel, ...] = (home.PANEL, ask.PANEL, live.PANEL, bounds.PANEL, runs.PANEL, papers.PANEL)
