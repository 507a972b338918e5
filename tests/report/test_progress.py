"""Progress as people see it: one bar in a terminal, a few lines elsewhere."""

import io
import logging

import pytest

from softlabel.lab import Progress
from softlabel.report import progress as module
from softlabel.report.progress import study_progress


def report(stage="look", done=0, bundles=4, left=None, share=0.0, **more) -> Progress:
    return Progress(stage, done, bundles, 0, 3 * done, 1.0, left, share=share, **more)


@pytest.fixture
def lines(caplog):
    caplog.set_level(logging.INFO, "softlabel")
    return lambda: [record.getMessage() for record in caplog.records]


def test_elsewhere_there_is_a_line_for_each_stage_and_one_from_time_to_time(lines, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    with study_progress() as progress:
        for done in range(5):
            progress(report("choose", done, left=40.0, at_most=True, run_seconds=2.0))
        for done in range(4):
            now[0] += 11
            progress(report("test", done, left=20.0, run_seconds=50.0))
    assert lines() == [
        "choose: 4 of 4 parts; 2 s so far, at most 40 s left",
        "test: 2 of 4 parts; 50 s so far, about 20 s left",
    ]


def test_a_teacher_does_not_add_lines_to_its_own(lines):
    with study_progress() as progress:
        for done in range(9):
            progress(report("teacher", done, 8))
    assert lines() == []


def test_nothing_is_shown_where_nobody_asks(lines):
    with study_progress(shown=False) as progress:
        progress(report(done=4))
    assert lines() == []


def test_a_terminal_has_one_bar_that_never_moves_back(monkeypatch):
    from rich.console import Console

    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr(module, "open_console", lambda shown: (console, True))
    shares = []
    from rich.progress import Progress as Bars

    update = Bars.update
    monkeypatch.setattr(
        Bars, "update", lambda self, bar, **fields: (shares.append(fields["completed"]), update(self, bar, **fields))
    )
    with study_progress() as progress:
        for stage, share, left in (("teacher", 0.2, 80.0), ("choose", 0.1, 300.0), ("test", 0.9, 5.0)):
            progress(report(stage, 1, left=left, share=share))
    assert shares == [0.2, 0.2, 0.9]
    shown = screen.getvalue()
    assert "90%" in shown
    assert "5 s left" in shown


@pytest.mark.parametrize(("seconds", "words"), [(3.2, "3 s"), (240, "4 min"), (9000, "2.5 h")])
def test_durations_have_units(seconds, words):
    assert module._duration(seconds) == words
