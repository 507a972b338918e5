"""`softlabel.studies.margin`: which rows a margin is about, and what the result shows."""

from dataclasses import replace

import numpy as np
import pytest

import softlabel as sl
from softlabel.data import load
from softlabel.errors import InputError
from softlabel.studies.margin import DatasetMargin, MarginOptions, _init_chart, margin
from softlabel.studies.signed_rows import are_signed, signed_rows
from softlabel.theory.margin import margin as certified_margin

X = np.array([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0], [-0.6, 0.8]])
SIGNS = np.array([1, 1, -1, -1])
QUICK = {"rtol": 0.5, "work_limit": 1e8}


def blobs(classes=3, rows=60):
    rng = np.random.default_rng(0)
    y = np.arange(rows) % classes
    return 5 * np.eye(classes)[y] + rng.normal(size=(rows, classes)), y


def test_arrays_in_the_ball_with_signs_are_used_unchanged():
    result, direct = margin(X, SIGNS, **QUICK), certified_margin(X, SIGNS, **QUICK)
    assert (result.lower, result.upper, result.teacher_lower) == (direct.lower, direct.upper, direct.teacher_lower)
    assert result.dataset == "data"


@pytest.mark.parametrize("change", [lambda x, y: (3 * x, y), lambda x, y: (x, y > 0), lambda x, y: (x, None)])
def test_other_arrays_are_not(change):
    assert not are_signed(*change(X, SIGNS))


def test_arrays_with_large_norms_are_scaled(caplog):
    table, y = blobs(2)
    with caplog.at_level("INFO", logger="softlabel"):
        data = signed_rows(10 * table, np.where(y > 0, 1, -1))
    assert np.linalg.norm(data.X, axis=1).max() == pytest.approx(1, abs=1e-6)
    assert "standardized" in caplog.text


def test_parts_of_a_problem():
    problem = load("digits", classes="3,8")
    full, train = signed_rows(problem), signed_rows(problem, part="train")
    assert len(full.X) == len(problem)
    np.testing.assert_array_equal(train.X, problem.train.in_unit_ball)
    np.testing.assert_array_equal(train.y, problem.train.signs)
    assert len(signed_rows(problem, rows=10).X) == 10


def test_a_problem_a_name_and_a_frame_agree():
    pl = pytest.importorskip("polars")
    table, y = blobs(2)
    frame = pl.DataFrame(table, schema=["a", "b"]).with_columns(pl.Series("kind", y))
    margins = [margin((table, y), **QUICK), margin(table, y, **QUICK), margin(frame, label="kind", **QUICK)]
    assert len({one.upper for one in margins}) == 1


def test_several_classes():
    table, y = blobs()
    result = margin(table, y, several_classes=True, **QUICK)
    assert isinstance(result, DatasetMargin)
    assert list(result.classes) == ["0", "1", "2"]
    assert result.upper == min(one.upper for one in result.classes.values())
    document = result.to_dict()
    assert [row["class"] for row in document["classes"]] == ["0", "1", "2"]
    assert document["seconds"] == pytest.approx(sum(row["seconds"] for row in document["classes"]))
    assert len(result.table.rows) == 3
    assert len(result.plot().axes) == 1


@pytest.mark.parametrize("widths", [(8,), (8, 32)])
@pytest.mark.parametrize("points", [X, np.vstack([X[:3], X[:1] / 2])], ids=["separable", "margin 0"])
def test_the_figure_of_initializations(widths, points, tmp_path):
    result = margin(points, SIGNS, out=tmp_path, options=MarginOptions(init_widths=widths), **QUICK)
    assert (result.upper > 0) == (points is X)
    assert (tmp_path / "figures" / "init-margins.png").stat().st_size > 5000
    (panel,) = _init_chart(result.init_margins, widths, result).panels
    assert panel.band == (result.lower, result.upper)
    (series,) = panel.series  # no line that could be taken for an estimate of γ*
    assert list(series.x) == list(widths)


def test_what_a_notebook_shows():
    result = margin(X, SIGNS, **QUICK)
    assert repr(result).startswith("<DatasetMargin: γ* in [")
    html = result._repr_html_()
    assert "<table" in html
    assert "image/svg+xml" in html


def test_wrong_arguments():
    with pytest.raises(InputError, match="unknown part 'all'"):
        margin("digits", part="all")
    with pytest.raises(InputError, match="init_widths must be positive even integers, got 3"):
        MarginOptions(init_widths=(3,))
    with pytest.raises(InputError, match="set `out`"):
        margin(X, SIGNS, options=MarginOptions(init_widths=(4,)))
    with pytest.raises(InputError, match="rows must be a whole number from 2"):
        margin(X, SIGNS, rows=1)


def test_several_classes_are_bounded_together(monkeypatch):
    """The smallest margin lies between the smallest lower and the smallest upper end, which may be of other classes."""
    ends = iter([(0.010, 0.011), (0.002, 0.012), (0.020, 0.030)])
    seen = []

    def invented(x, signs, name, *, confidence, **more):
        seen.append(confidence)
        lower, upper = next(ends)
        one = certified_margin(x, signs, work_limit=1e7)
        return replace(one, lower=lower, upper=upper, teacher_lower=lower / 2, floor=lower / 4)

    monkeypatch.setattr("softlabel.studies.margin.search_margin", invented)
    result = margin(*blobs(), several_classes=True)
    assert seen == pytest.approx([1 - 0.05 / 3] * 3)
    assert (result.lower, result.upper, result.confidence) == (0.002, 0.011, 0.95)
    assert (result.teacher_lower, result.floor) == (0.001, 0.0005)


def test_progress_is_reported():
    states = []
    sl.margin("digits", rows=10, rtol=0.5, work_limit=1e7, options=sl.MarginOptions(progress=states.append))
    assert states
    assert all(isinstance(state, sl.MarginProgress) and state.lower <= state.upper for state in states)
