"""The explorer: a local web page that calls the public functions of softlabel. It needs the extra `explorer`."""

from softlabel.app.server import explore

__all__ = ["explore"]
