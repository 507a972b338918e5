"""Publishes the files of `docs/results` beside the pages that link to them, and lets their links stay relative.

Sphinx would copy every linked file into a folder of its own, where a report would not find the script that it shares.
"""

import shutil
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

PUBLISHED = ("*/report.html", "*/results.json", "*/settings.toml", "plotly.min.js")
LOGGER = logging.getLogger(__name__)


def keep_relative_links(app: Sphinx, tree: nodes.document) -> None:
    """Replace download links between files of `results/` by ordinary relative links."""
    document = Path(app.env.doc2path(app.env.docname))
    if "results" not in document.relative_to(app.srcdir).parts[:1]:
        return
    for link in list(tree.findall(addnodes.download_reference)):
        target = link["reftarget"]
        if not (document.parent / target).is_file():
            LOGGER.warning("the linked file %s does not exist", target, location=link)
        text = [child.deepcopy() for child in link.children]
        link.replace_self(nodes.reference("", "", *text, refuri=target, internal=False))


def publish_files(app: Sphinx, problem: Exception | None) -> None:
    """Copy the files that result pages link to into the built site."""
    if problem is not None or app.builder.format != "html":
        return
    source = Path(app.srcdir) / "results"
    for pattern in PUBLISHED:
        for file in source.glob(pattern):
            target = Path(app.outdir) / "results" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", keep_relative_links, priority=400)  # before Sphinx collects files to download
    app.connect("build-finished", publish_files)
    return {"version": "1", "parallel_read_safe": True}
