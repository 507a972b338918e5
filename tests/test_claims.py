"""The page of claims: every check it names exists, every closed claim has one, and it is up to date."""

import ast
import importlib.util
from dataclasses import fields
from pathlib import Path

import pytest

import softlabel as sl
from softlabel.studies.claims import ANSWERS, PAPERS, STUDY, VERDICTS
from softlabel.studies.registry import PAPER_STUDIES

HERE = Path(__file__).parents[1]
CLAIMS = sl.claims()


def _renderer():
    spec = importlib.util.spec_from_file_location("render_claims", HERE / "docs" / "render_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exists(check: str) -> bool:
    if check.startswith(STUDY):
        return check.removeprefix(STUDY) in PAPER_STUDIES
    file, _, name = check.partition("::")
    path = HERE / file
    if not path.is_file() or not file.startswith("tests/"):
        return False
    defined = {node.name for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)}
    return name in defined and name.startswith("test_")


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: f"{claim.paper}: {claim.where}")
def test_every_claim_is_complete_and_its_checks_exist(claim):
    assert all(isinstance(getattr(claim, each.name), str) for each in fields(claim) if each.name != "checks")
    assert claim.where
    assert claim.says
    assert claim.paper in PAPERS
    assert claim.verdict in (ANSWERS if claim.paper == "Open" else VERDICTS)
    missing = [check for check in claim.checks if not exists(check)]
    assert missing == []
    if claim.verdict != "open":
        assert claim.checks, "a claim that is judged must name what judged it"


def test_no_claim_stands_twice():
    assert len({claim.key for claim in CLAIMS}) == len(CLAIMS) > 30


def test_a_check_that_does_not_exist_is_noticed():
    assert not exists("study:nothing")
    assert not exists("tests/test_claims.py::test_nothing")
    assert not exists("tests/nothing.py::test_nothing")
    assert exists("tests/test_claims.py::test_no_claim_stands_twice")


def test_the_page_is_up_to_date():
    page = HERE / "docs" / "papers" / "claims.md"
    assert page.read_text(encoding="utf-8") == _renderer().render(CLAIMS), "run python docs/render_claims.py"
