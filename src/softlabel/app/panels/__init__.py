"""The panels of the explorer: one file for each, and one line in `PANELS`."""

from softlabel.app.panels import ask, bounds, home, kernel, live, papers, runs
from softlabel.app.panels.panel import ExplorerPanel

PANELS: tuple[ExplorerPanel, ...] = (
    home.PANEL,
    ask.PANEL,
    live.PANEL,
    bounds.PANEL,
    kernel.PANEL,
    runs.PANEL,
    papers.PANEL,
)
