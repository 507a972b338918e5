"""The explorer calls the public functions of softlabel; what it takes from inner modules is listed here."""

import ast
from pathlib import Path

import softlabel as sl
import softlabel.app

ALLOWED = {
    "softlabel": "the public functions",
    "softlabel.errors": "errors become sentences on the page; the parts of such sentences",
    "softlabel.printable": "text from files is shown safely",
    "softlabel.report.charts": "charts of results are shown; colors of soft and hard labels",
    "softlabel.report.interactive": "charts of results as Plotly figures, as in the reports",
    "softlabel.report.page": "tables and pages of results are shown as in the reports",
    "softlabel.report.bounds_chart": "the chart of the bounds, as in the reports",
    "softlabel.report.bounds_tables": "the table of the bounds, as in the reports",
    "softlabel.data": "names and descriptions of the data sets to choose from",
    "softlabel.lab.file_names": "uploads get names as runs do",
    "softlabel.numerics.files": "a question is written so that no half of it is ever read",
    "softlabel.studies.run": "the default directory of runs",
}
PRELOADED = {"softlabel.networks", "softlabel.studies"}  # only imported early, so that processes start soon
ROOT = Path(softlabel.app.__file__).parent
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}


def imported(tree: ast.Module) -> set[str]:
    """The modules of softlabel that a file imports, wherever it does."""
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules.add(node.module)
    return {name for name in modules if name.split(".")[0] == "softlabel" and not name.startswith("softlabel.app")}


def test_every_import_from_an_inner_module_has_a_reason():
    used = set()
    for path, tree in TREES.items():
        allowed = set(ALLOWED) | (PRELOADED if path.name == "preload.py" else set())
        modules = imported(tree)
        assert modules <= allowed, f"{path.name} imports {sorted(modules - allowed)}: use softlabel, or give a reason"
        used |= modules
    assert used == set(ALLOWED) | PRELOADED, "what is listed is imported"


def test_names_of_softlabel_are_public():
    public, used = {*sl.__all__, "__file__"}, set()
    for tree in TREES.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sl":
                used.add(node.attr)
            elif isinstance(node, ast.ImportFrom) and node.module == "softlabel":
                used |= {alias.name for alias in node.names}
    assert {"train_students", "verdict", "bounds"} <= used
    assert used <= public, sorted(used - public)
