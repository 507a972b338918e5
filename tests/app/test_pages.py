"""What a visitor is told where something fails after the page was built."""

import pytest

from softlabel.app import pages
from softlabel.errors import InputError


@pytest.fixture
def told(monkeypatch):
    sentences = []
    monkeypatch.setattr(pages.ui, "notify", lambda sentence, **_: sentences.append(sentence))
    return sentences


def test_the_same_failure_is_told_once_and_another_one_at_once(told):
    notify = pages._notifier()
    for _ in range(100):
        notify(KeyError("gamma"))
    notify(InputError("`rows` must be positive, got \u202e-1"))
    assert told == [
        "Something on this page failed (unexpected KeyError: 'gamma').",
        r"Something on this page failed (`rows` must be positive, got \u202e-1).",
    ]
    pages._notifier()(KeyError("gamma"))
    assert len(told) == 3, "another page is told itself"


def test_the_same_failure_is_told_again_after_a_while(told, monkeypatch):
    monkeypatch.setattr(pages, "QUIET", 0.0)
    notify = pages._notifier()
    for _ in range(3):
        notify(ValueError("x" * 10_000))
    assert len(told) == 3
    assert len(told[0]) < 400
