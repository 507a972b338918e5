"""The panel of the kernel regime: its settings, its command and its work, without a browser."""

import json
import math
import shlex
from urllib.parse import parse_qsl

import pytest

import softlabel as sl
from softlabel.app.links import query_of, settings_from
from softlabel.app.panels.kernel_settings import (
    ACTIVATIONS,
    DATA,
    INITS,
    ITERATIONS,
    ROWS,
    STRENGTHS,
    WIDTHS,
    KernelSettings,
)
from softlabel.app.work.kernel import TEST_ROWS, predict_and_simulate, view_of
from softlabel.cli.main import run
from softlabel.errors import InputError
from softlabel.networks.activations import ACTIVATIONS as ALL_ACTIVATIONS
from softlabel.studies.dynamics.comparison import INITS as ALL_INITS

SMALL = KernelSettings(rows=20, width=5, iterations=50)


class RecordingLine:
    def __init__(self):
        self.messages = []

    def send(self, kind, content=None):
        self.messages.append((kind, content))


def work(settings):
    line = RecordingLine()
    predict_and_simulate(line, *settings.arguments())
    return line.messages


def library(settings):
    options = sl.DynamicsOptions(
        activation=settings.activation, init=settings.init, learning_rate=settings.learning_rate, test_rows=TEST_ROWS
    )
    return sl.dynamics(settings.data, rows=settings.rows, width=settings.width, strength=settings.strength,
                       iterations=settings.iterations, options=options)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "values"),
    [("data", DATA), ("strength", STRENGTHS), ("width", WIDTHS), ("rows", ROWS), ("iterations", ITERATIONS),
     ("activation", ACTIVATIONS), ("init", INITS), ("learning_rate", [0.01, 1e-8])],
)  # fmt: skip
def test_every_value_of_a_control_goes_there_and_back(name, values):
    assert KernelSettings().model_dump()[name] in (*values, None)
    for value in values:
        settings = KernelSettings(**{name: value})
        assert settings_from(KernelSettings, dict(parse_qsl(query_of(settings)))) == (settings, [])


@pytest.mark.parametrize(
    "query",
    ["rows=81", "width=-5", "strength=nan", "strength=2", "activation=step", "init=nowhere", "iterations=1e9",
     "learning_rate=0", "learning_rate=inf", "data=/etc/passwd", "data=<b>"],
)  # fmt: skip
def test_impossible_values_are_noticed(query):
    settings, problems = settings_from(KernelSettings, dict(parse_qsl(query)))
    assert settings == KernelSettings()
    assert len(problems) == 1


def test_all_choices_of_the_library_are_there():
    assert set(ACTIVATIONS) == set(ALL_ACTIVATIONS)
    assert tuple(INITS) == ALL_INITS


@pytest.mark.parametrize(
    "changes",
    [{}, {"strength": math.inf, "init": "random", "activation": "relu"}, {"learning_rate": 0.01, "data": "xor"}],
)
def test_the_command_repeats_what_is_shown(capsys, changes):
    settings = SMALL.model_copy(update=changes)
    verb, *words = shlex.split(settings.command())
    assert verb == "softlabel"
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("dataset") == settings.data
    assert document == json.loads(json.dumps(library(settings).to_dict()))


def test_the_prediction_is_sent_before_the_simulation():
    messages = work(SMALL)
    first, last = (content for kind, content in messages if kind == "view")
    assert (first.headline, last.headline) == ("", library(SMALL).summary[0])
    assert messages[-1] == ("view", last)
    before = messages[: messages.index(("view", first))]
    assert before[0] == ("progress", "training the teacher: 0 of 50 steps")
    assert ("progress", "predicting the student's training") in before
    assert first.limits == last.limits
    result = library(SMALL)
    assert last == view_of(result)
    numbers, early = dict(last.numbers), dict(first.numbers)
    assert numbers["Training error at the end, simulated"] == f"{result.run.train[-1]:.4g}"
    assert numbers["Test error at the end, predicted"] == f"{result.test_predicted[-1]:.4g}"
    assert early["Test error at the end, predicted"] == numbers["Test error at the end, predicted"]
    assert early["Test error at the end, simulated"] == "…"
    assert numbers["Largest deviation from the prediction"] == f"{result.deviation:.2%} of ‖f(0) − y‖"


def test_a_rate_that_is_too_large_is_an_error_of_the_library():
    with pytest.raises(InputError, match="learning_rate must be below"):
        work(SMALL.model_copy(update={"learning_rate": 100.0}))
