"""The filter of the claims, and the picture that is shown first."""

from pathlib import Path

import pytest

import softlabel as sl
from softlabel.app.links import settings_from
from softlabel.app.panels.papers import PapersSettings, most_fitting
from softlabel.app.pictures import Picture


def shown(**query):
    settings, problems = settings_from(PapersSettings, query)
    assert problems == []
    return [claim for claim in sl.claims() if settings.keeps(claim)]


def test_without_a_filter_all_claims_are_shown():
    assert shown() == list(sl.claims())


def test_the_parts_of_the_filter_work_together():
    assert {(claim.paper, claim.verdict) for claim in shown(paper="Rahbar", verdict="holds")} == {("Rahbar", "holds")}
    assert [claim.key for claim in shown(paper="Mandal", text="FIGURE vgg")] == ["mandal-figure-1-vgg"]
    assert {claim.key for claim in shown(text="study:table1")} >= {"mandal-table-1-harder-data"}
    assert shown(text="no claim contains these words") == []


@pytest.mark.parametrize("query", [{"paper": "Nobody"}, {"verdict": "<b>"}, {"claim": "x"}, {"text": "x" * 101}])
def test_what_no_claim_has_is_not_possible(query):
    settings, problems = settings_from(PapersSettings, query)
    assert settings == PapersSettings()
    assert len(problems) == 1


@pytest.mark.parametrize(("key", "study", "first"), [
    ("rahbar-figure-2", "kernel-regime", "figure2"),
    ("mandal-table-1-harder-data", "table1", "table1"),
    ("open-number-of-training-rows", "sample-size", "sample-size"),
    ("open-mechanism", "mechanism", "ball"),
])  # fmt: skip
def test_the_picture_of_the_claim_is_first(key, study, first):
    claim = next(claim for claim in sl.claims() if claim.key == key)
    assert claim.studies[0] == study
    published = Path(__file__).parents[3] / "docs" / "results" / study / "figures"
    pictures = [Picture(study, path.stem, published, True, "") for path in sorted(published.glob("*.png"))]
    assert most_fitting(pictures, claim)[0].name == first
