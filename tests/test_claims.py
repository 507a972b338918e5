"""The list of claims: every check it names exists, every closed claim has one, and its page is up to date."""

import ast
import importlib.util
from pathlib import Path

import pytest

from softlabel.studies.registry import PAPER_STUDIES

HERE = Path(__file__).parents[1]
VERDICTS = {"holds", "holds partly", "fails", "corrected", "open"}
ANSWERS = {"answered", "undecided"}  # of questions that the papers leave open


def _renderer():
    spec = importlib.util.spec_from_file_location("render_claims", HERE / "docs" / "render_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RENDERER = _renderer()
CLAIMS = RENDERER.load_claims()


def exists(check: str) -> bool:
    if check.startswith("study:"):
        return check.removeprefix("study:") in PAPER_STUDIES
    file, _, name = check.partition("::")
    path = HERE / file
    if not path.is_file() or not file.startswith("tests/"):
        return False
    defined = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    return name in defined and name.startswith("test_")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim['paper']}: {claim['where']}")
def test_every_claim_is_complete_and_its_checks_exist(claim):
    assert set(claim) == {"paper", "where", "says", "checks", "verdict", "comment"}
    assert claim["paper"] in RENDERER.NAMES
    assert claim["verdict"] in (ANSWERS if claim["paper"] == "Open" else VERDICTS)
    missing = [check for check in claim["checks"] if not exists(check)]
    assert missing == []
    if claim["verdict"] != "open":
        assert claim["checks"], "a claim that is judged must name what judged it"


def test_no_claim_stands_twice():
    places = [(claim["paper"], claim["where"]) for claim in CLAIMS]
    assert len(set(places)) == len(places)


def test_a_check_that_does_not_exist_is_noticed():
    assert not exists("study:nothing")
    assert not exists("tests/test_claims.py::test_nothing")
    assert not exists("tests/nothing.py::test_nothing")
    assert exists("tests/test_claims.py::test_no_claim_stands_twice")


def test_the_page_is_up_to_date():
    page = HERE / "docs" / "papers" / "claims.md"
    assert page.read_text(encoding="utf-8") == RENDERER.render(CLAIMS), "run python docs/render_claims.py"
