"""The command line: one file a verb, each a thin wrapper of one call."""

from softlabel.cli.main import main

__all__ = ["main"]
