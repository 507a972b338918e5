"""BibTeX entries: of the papers behind a study, of its data, and of softlabel."""

import pytest

import softlabel as sl
from softlabel.data.catalogue import CATALOGUE
from softlabel.report.citations import CITATIONS, citations


@pytest.mark.parametrize("name", [name for name, entry in CATALOGUE.items() if entry.format != "toy"])
def test_every_published_data_set_is_cited(name):
    assert CITATIONS[name] in citations("table1", name)


def test_a_problem_is_cited_by_its_name():
    assert CITATIONS["digits"] in citations("verdict", str(sl.load("digits")))
    assert citations("verdict", "heart.csv: 3 inputs, classes no, yes") == citations("verdict")
    assert citations("verdict", "rahbar") == citations("verdict")  # the key of a paper is no data set


def test_every_entry_has_an_author_and_papers_have_their_number():
    assert all(" author " in entry for entry in CITATIONS.values())
    assert all(" eprint " in CITATIONS[paper] for paper in ("mandal", "rahbar"))
