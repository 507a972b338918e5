"""`softlabel.studies.dynamics.dynamics`: one student, or one quantity that varies."""

import pytest

from softlabel.errors import InputError
from softlabel.studies.dynamics import DynamicsPrediction, DynamicsResult, Sweep
from softlabel.studies.dynamics.choices import _sentences
from softlabel.studies.dynamics.dynamics import DynamicsOptions, dynamics

SMALL = {"rows": 20, "width": 5, "teacher_width": 10, "iterations": 10}


def check_shown(result):
    """What a result shows in a terminal, a notebook and a figure."""
    assert repr(result) == f"<{type(result).__name__}: {result.summary[0]}>"
    assert str(result).splitlines() == result.summary
    assert all(sentence.endswith(".") for sentence in result.summary)
    html = result._repr_html_()
    assert "<table" in html
    assert "image/svg+xml" in html
    assert result.plot().axes


def test_one_student(tmp_path):
    result = dynamics("digits", **SMALL, out=tmp_path)
    assert isinstance(result, DynamicsResult)
    document = result.to_dict()
    assert (document["n"], document["d"], document["width"], document["strength"]) == (20, 64, 5, 1.0)
    assert document["curve"] == result.curve
    assert document["learning_rate"] == result.learning_rate < document["largest_step"]
    assert document["limit"] == dict(zip(("error", "printed_error"), result.limits or (), strict=True))
    assert [row["holds"] for row in document["assumptions"]] == [one.holds for one in result.assumptions]
    assert result.curve[0]["predicted"] == pytest.approx(result.curve[0]["simulated"])
    check_shown(result)
    assert (tmp_path / "figures" / "dynamics.svg").exists()


def test_the_prediction_comes_before_the_simulation():
    states = []
    result = dynamics("digits", **SMALL, options=DynamicsOptions(test_rows=15, progress=states.append))
    assert list(dict.fromkeys(state.stage for state in states)) == ["teacher", "prediction", "simulation"]
    assert [state.done for state in states if state.stage == "teacher"] == list(range(11))
    assert [state.done for state in states if state.stage == "simulation"] == [0, *range(11)]
    assert all((state.prediction is None) == (state.stage != "simulation") for state in states)
    assert "teacher: 3 of 10 steps" in states[3].sentence
    prediction = states[-1].prediction
    assert type(prediction) is DynamicsPrediction
    check_shown(prediction)
    assert prediction.limits == result.limits
    assert prediction.assumptions == result.assumptions
    for before, after in zip(prediction.curve, result.curve, strict=True):
        assert before == {name: after[name] for name in ("iteration", "predicted", "test_predicted")}
    assert prediction.to_dict() == {
        name: value for name, value in result.to_dict().items() if name not in ("deviation", "kernel_drift")
    } | {"curve": prediction.curve}
    names = [series.name for series in prediction.chart.panels[0].series]
    assert names == ["training, predicted", "test, predicted", "true limit", "printed limit"]
    assert [series.name for series in result.chart.panels[0].series] == [
        *names, "training, simulated", "test, simulated",
    ]  # fmt: skip


def test_test_rows_are_predicted_without_a_change_of_the_training():
    options = DynamicsOptions(test_rows=100)
    settings = {"rows": 60, "width": 200, "teacher_width": 300, "iterations": 60}
    result, alone = dynamics("moons", **settings, options=options), dynamics("moons", **settings)
    assert [{k: v for k, v in row.items() if "test" not in k} for row in result.curve] == alone.curve
    start = result.curve[0]
    assert start["test_predicted"] == pytest.approx(start["test_simulated"])
    for row in result.curve:
        assert row["test_predicted"] == pytest.approx(row["test_simulated"], rel=0.01)
        assert row["test_simulated"] != pytest.approx(row["simulated"], rel=0.01)
    assert result.table.header == ["iterations", "predicted", "simulated", "test, predicted", "test, simulated"]


def test_limits_near_zero_are_not_drawn():
    result = dynamics("digits", **SMALL, strength=0.0)  # fewer rows than inputs: everything can be learned
    assert max(result.limits or ()) < 1e-12
    assert [series.name for series in result.chart.panels[0].series] == ["training, predicted", "training, simulated"]
    assert result.chart.caption.endswith("A limit below 1% of the smallest error is not drawn.")


def test_the_poles_that_move_f_are_drawn():
    result = dynamics("digits", **SMALL)
    (series,) = result.pole_chart.panels[0].series
    assert series.stems
    assert set(series.x) <= set(result.dynamics.poles.tolist())
    assert 0.95 < sum(series.y) <= 1 + 1e-12
    assert result.dynamics.poles.max() in series.x


@pytest.mark.parametrize(
    ("options", "message"),
    [({"test_rows": 5}, "test_rows must be 0 with a sweep"), ({"progress": print}, "does not call `progress`")],
)
def test_options_of_one_student_are_refused_with_a_sweep(options, message):
    with pytest.raises(InputError, match=message):
        dynamics("digits", **SMALL, sweep={"widths": [4, 8]}, options=DynamicsOptions(**options))


def test_test_rows_are_limited_by_the_rows_that_are_left():
    with pytest.raises(InputError, match=r"test_rows must be at most the 980 rows that are not trained on, got 981"):
        dynamics("moons", **SMALL, options=DynamicsOptions(test_rows=981))
    with pytest.raises(InputError, match="test_rows must be a whole number"):
        DynamicsOptions(test_rows=-1)


@pytest.mark.parametrize(
    "sweep", [{"widths": [4, 8]}, {"strengths": [1, 0]}, {"distances": [0, 1.0]}, {"choices": [3]}]
)
def test_a_sweep(sweep):
    result = dynamics("digits", **SMALL, sweep=sweep)
    assert isinstance(result, Sweep)
    assert result.to_dict() == {"rows": result.rows, **result.facts}
    assert [len(line) for line in result.table.rows] == [len(result.header)] * len(result.lines)
    check_shown(result)


def test_every_strength_is_drawn():
    left, right = dynamics("digits", **SMALL, sweep={"strengths": [0, 0.1, float("inf")]}).chart.panels
    assert right.categories == ["0", "0.1", "∞"]
    assert [len(series.x) for series in right.series] == [3, 3]
    assert [series.name for series in left.series] == ["true limit", "λ = ∞, error only"]
    assert left.series[1].y[0] == right.series[0].y[2]


@pytest.mark.parametrize(
    ("direct", "words"),
    [(1.0, "by no more than sampling error at every size"), (2.0, "at 2 of 2 sizes and larger at 0")],
)
def test_two_stages_are_compared_in_words(direct, words):
    error = {"mean": 1.0, "half_width": 0.1}
    row = {"corrected": error, "expected": 1.0, "two stages": error, "direct, twice as long": error | {"mean": direct}}
    assert words in _sentences([row, row])[-1]


def test_an_infinite_strength_is_null():
    options = DynamicsOptions(init="random")
    assert dynamics("digits", **SMALL, strength=float("inf"), options=options).to_dict()["strength"] is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"options": DynamicsOptions(learning_rate=0.1)},
        {"sweep": {"widths": [4, 8]}},
        {"sweep": {"distances": [0, 1]}},
        {"sweep": {"choices": [3]}},
    ],
)
def test_a_student_that_has_nothing_to_learn_is_refused(settings):
    message = r"nothing to learn: with an infinite `strength` .*; use a finite `strength`"
    with pytest.raises(InputError, match=message):
        dynamics("digits", **SMALL, strength=float("inf"), **settings)


def test_widths_use_two_activations_unless_one_is_chosen():
    for activation, names in ((None, {"softplus", "tanh"}), ("erf", {"erf"})):
        options = DynamicsOptions(activation=activation)
        rows = dynamics("digits", **SMALL, sweep={"widths": [4, 8]}, options=options).rows
        assert {row["activation"] for row in rows} == names


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({}, "a sweep varies one quantity, got none"),
        ({"widths": [1, 2], "choices": [1]}, "got `widths` and `choices`"),
        ({"width": [1, 2]}, "unknown sweep 'width': did you mean 'widths'"),
        ({"choices": []}, "choices must contain at least one value"),
        ({"widths": [2.5, 4]}, "widths must be a whole number"),
        ({"distances": [0, float("inf")]}, "distances must be nonnegative numbers"),
        ({"strengths": [-1, 1]}, "strengths must be nonnegative numbers"),
    ],
)
def test_wrong_sweeps(sweep, message):
    with pytest.raises(InputError, match=message):
        dynamics("digits", sweep=sweep)
