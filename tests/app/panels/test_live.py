"""Live training: what is sent to the page equals what the library computes."""

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError
from typer.main import get_command
from typer.testing import CliRunner

import softlabel as sl
from softlabel.app.links import query_of, settings_from
from softlabel.app.panels.live_charts import curve_panels, plane_figure
from softlabel.app.work.live import GRID, LiveFrame, LiveStart, grid, train_live
from softlabel.app.work.live_settings import LENGTHS, LiveSettings
from softlabel.cli.main import app as command_line
from softlabel.report.bounds_chart import bounds_charts


class Recorder:
    """A line that keeps what is sent."""

    def __init__(self):
        self.messages, self.waits = [], 0

    def send(self, kind, content=None):
        self.messages.append((kind, content))

    def wait_while_paused(self):
        self.waits += 1

    def of(self, kind):
        return [content for one, content in self.messages if one == kind]


def trained(**changes) -> tuple[LiveSettings, LiveStart, list[LiveFrame]]:
    settings, line = LiveSettings(**({"epochs": 20, "width": 4} | changes)), Recorder()
    train_live(line, settings)
    (start,), frames = line.of("start"), line.of("frame")
    assert line.waits == len(frames)
    return settings, start, frames


@pytest.mark.parametrize("data", ["circles", "digits"])
def test_the_last_frame_is_what_train_gives(data):
    _, start, frames = trained(data=data, radius=2.0, temperature=2.0, seed=3)
    assert frames[0].step == 0
    assert frames[-1].step == start.steps == 20
    student = sl.Student(width=4, radius=2.0, learning_rate=1.0, biases=data == "circles")
    for arm, soft in (("hard", None), ("soft", "network")):
        own = replace(student, temperature=2.0 if soft else 1.0)
        problem = sl.load(data, seed=3)
        (errors,) = sl.train(
            problem, seeds=1, seed=3, student=own, epochs=20, batch_size=None, soft_labels=soft
        ).students
        assert frames[-1].values[arm]["test error"] == pytest.approx(errors.test_error, abs=1e-9)
        assert frames[-1].values[arm]["error"] == pytest.approx(errors.train_error, abs=1e-9)
        assert 0 < frames[-1].values[arm]["displacement"] <= 1 + 1e-5
    assert bool(frames[-1].maps) == (data == "circles")


def test_one_arm_needs_no_teacher():
    settings, start, frames = trained(labels="hard")
    assert start.teacher_error is None
    assert set(frames[-1].values) == {"hard"}
    assert list(settings.commands()) == ["hard"]


def test_the_map_shows_the_network():
    _, start, frames = trained(width=8)
    run = sl.train_students(
        sl.load("circles").train.scaled, [sl.Student(width=8, radius=10, biases=True)],
        sl.hard_labels(sl.load("circles").train.signs), epochs=20,
    )  # fmt: skip
    across, up = np.meshgrid(grid(), grid())
    expected = run[0].network.logits(np.stack([across.ravel(), up.ravel()], axis=1)).reshape(GRID, GRID)
    assert frames[-1].maps["hard"] == pytest.approx(expected, abs=1e-4)
    figure = plane_figure("hard", start, frames[0], frames[-1])
    assert np.shape(figure["data"][0]["z"]) == (GRID, GRID)
    assert len(figure["data"][4]["x"]) == 3 * 8


def test_curves_have_one_point_for_each_frame():
    settings, _, frames = trained()
    panels = curve_panels(settings, frames)
    lengths = [len(series.y) - len(frames) for panel in panels for series in panel.series]
    assert lengths == [0, 0, -1, -1, 0, 0, 0, 0]  # before the first step everything counts as an error
    assert panels[1].series[0].y[-1] == pytest.approx(100 * frames[-1].values["hard"]["test error"], abs=1e-4)


@pytest.mark.parametrize("settings", [LiveSettings(), LiveSettings(data="mnist", radius=0, batch_size=64, seed=7)])
def test_the_commands_are_accepted_by_the_command_line(settings):
    verb = get_command(command_line).commands["train"]
    for words in settings.commands().values():
        program, name, *arguments = shlex.split(words)
        assert (program, name) == ("softlabel", "train")
        chosen = verb.make_context("train", arguments).params
        assert chosen["width"] == [settings.width]
        assert chosen["radius"] == (settings.radius or None)
        assert chosen["biases"] == settings.planar


def test_hard_labels_are_dashed_as_in_the_chart_of_the_bounds():
    settings, _, frames = trained()
    margins, widths = [0.01, 0.1], sl.bounds.width_curves([0.01, 0.1], epsilon=0.1, n=1000)
    bounds = bounds_charts(sl.bounds.overview(0.05, 0.1, 1000), margins, widths)["tight"]
    for panel in (*bounds.panels, *curve_panels(settings, frames)):
        dashed = {series.role: series.dashed for series in panel.series if len(series.x) > 1}
        assert dashed == {"soft": False, "hard": True}


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 3, "learning_rate": 0.12345678},
        {"data": "moons", "radius": 0.0, "temperature": 2.5},
        {"data": "digits", "batch_size": 128, "epochs": 3},
    ],
)
def test_the_printed_commands_give_the_numbers_that_are_shown(changes):
    settings, _, frames = trained(**changes)
    for arm, words in settings.commands().items():
        done = CliRunner().invoke(command_line, [*shlex.split(words)[1:], "--json"])
        (student,) = json.loads(done.stdout)["students"]
        shown = frames[-1].values[arm]
        assert shown["test error"] == pytest.approx(student["test_error"], abs=1e-9)
        assert shown["error"] == pytest.approx(student["train_error"], abs=1e-9)


def test_commands_and_links_keep_every_digit():
    exact = {"radius": 1.2345678, "learning_rate": 0.12345678, "temperature": 2.3456789}
    query = {name: repr(value) for name, value in exact.items()}
    settings, problems = settings_from(LiveSettings, query)
    assert problems == []
    verb = get_command(command_line).commands["train"]
    for arm, words in settings.commands().items():
        chosen = verb.make_context("train", shlex.split(words)[2:]).params
        assert (chosen["radius"], chosen["learning_rate"]) == (1.2345678, 0.12345678)
        if arm == "soft":
            assert chosen["temperature"] == 2.3456789


def test_a_link_gives_the_same_settings():
    settings = LiveSettings(data="xor", width=16, radius=0.0, learning_rate=0.3)
    query = dict(pair.split("=") for pair in query_of(settings).split("&"))
    assert settings_from(LiveSettings, query) == (settings, [])


def test_impossible_settings():
    for changes in ({"width": 1}, {"radius": -1}, {"data": "circle"}, {"epochs": 0}, {"temperature": "nan"}):
        with pytest.raises(ValidationError):
            LiveSettings(**changes)
    assert set(LENGTHS) == set(LiveSettings.model_fields["data"].annotation.__args__)
