"""`claims`: the list as Python objects."""

import dataclasses
import tomllib
from importlib.resources import files

import pytest

import softlabel as sl

EXAMPLE = sl.Claim("Rahbar", "Theorem 9 (a)", "Says.", "holds", "", ("study:table1", "tests/a.py::test_b", "study:x"))


def test_the_claims_are_those_of_the_file():
    entries = tomllib.loads(files("softlabel.studies").joinpath("claims.toml").read_text(encoding="utf-8"))["claim"]
    assert [dataclasses.asdict(claim) for claim in sl.claims()] == [
        entry | {"checks": tuple(entry["checks"])} for entry in entries
    ]


def test_checks_are_divided_into_studies_and_tests():
    assert EXAMPLE.key == "rahbar-theorem-9-a"
    assert EXAMPLE.studies == ("table1", "x")
    assert EXAMPLE.tests == ("tests/a.py::test_b",)
    assert EXAMPLE.commands == ("softlabel reproduce table1", "softlabel reproduce x", "pytest tests/a.py::test_b")
    assert EXAMPLE.authors.startswith("Rahbar, Panahi")


def test_a_claim_without_checks_has_no_command():
    assert sl.Claim("Open", "Seeds", "How many?", "undecided", "", ()).commands == ()


def test_nobody_can_change_the_list_for_others():
    assert sl.claims() is sl.claims()
    with pytest.raises(dataclasses.FrozenInstanceError):
        sl.claims()[0].verdict = "fails"  # pyright: ignore[reportAttributeAccessIssue]
