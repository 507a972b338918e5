"""Settings of the documentation site: `make docs` builds it into docs/_build/html."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from softlabel import __version__

project = "softlabel"
author = "The softlabel developers"
copyright = author
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "api_pages",
    "command_pages",
    "docstrings",
    "result_pages",
]
exclude_patterns = ["_build"]

# Every warning is an error (-W), and so is every reference without a target.
nitpicky = True
nitpick_ignore_regex = [(r"py:.*", r"(?!softlabel\b).*\..*")]  # names of other packages

smartquotes = False  # quotes are code more often than not
default_role = "code"  # single backticks in docstrings are code
autodoc_typehints = "none"  # docstrings name the types
autodoc_member_order = "bysource"
autosummary_generate = False  # the pages are written by api_pages
numpydoc_show_class_members = False
numpydoc_validation_checks = set()

myst_enable_extensions = ["attrs_inline", "attrs_block", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

html_theme = "pydata_sphinx_theme"
html_title = "softlabel"
html_static_path = ["_static"]
html_css_files = ["softlabel.css"]
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "softlabel", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "show_prev_next": True,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "papers/claims": []}
