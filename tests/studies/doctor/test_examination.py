"""The result of `doctor`: order of findings, as text, as JSON and in a notebook."""

import pytest

from softlabel.studies.doctor import Examination, Finding


def finding(name: str, severity="mistake", degree: float = 0.0) -> Finding:
    return Finding(name, severity, {"file": "<a>.csv"}, {"rows": 1200, "share": 0.25}, "fix it", degree)


def test_findings_are_sorted_and_shown():
    unsorted = [finding("hard labels"), finding("constant columns", "hint"), finding("hard labels", degree=2.0)]
    result = Examination.from_findings(["data 'a.csv'"], [*unsorted, finding("misaligned labels")])
    assert [(one.name, one.degree) for one in result.findings] == [
        ("misaligned labels", 0.0), ("hard labels", 2.0), ("hard labels", 0.0), ("constant columns", 0.0),
    ]  # fmt: skip
    assert repr(result) == "<Examination: 3 mistakes, 1 hint.>"
    assert "evidence  rows: 1,200; share: 0.25" in str(result)
    assert result.to_dict()["findings"][0] == result.findings[0].to_dict()
    html = result._repr_html_()
    assert "<strong>3 mistakes, 1 hint.</strong>" in html
    assert "file: &lt;a&gt;.csv" in html
    assert '<table class="prose">' in html


def test_counts_of_evidence_are_read_with_their_total():
    one = Finding("rows twice", "mistake", {}, {"rows that occur before": 2, "of": 10, "the first": "rows 1 and 3"}, "")
    assert "rows that occur before: 2 of 10; the first: rows 1 and 3" in str(one)


def test_nothing_to_report():
    result = Examination.from_findings(["data 'a.csv'"], [])
    assert repr(result) == "<Examination: No known mistake was found.>"
    assert "<table" not in result._repr_html_()


def test_only_known_mistakes_have_names():
    with pytest.raises(ValueError, match="is not in NAMES"):
        finding("too good to be true")
