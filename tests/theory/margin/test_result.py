"""The result of a margin computation as JSON, as text, in a notebook and as a figure."""

import dataclasses
import io
import json

import numpy as np
import pytest

from softlabel.theory.margin import Margin, ZeroMargin, margin

KEYS = [
    "n", "d", "gamma_lower", "gamma_upper", "relative_width", "confidence", "gamma_kernel", "gamma_kernel_lower",
    "gamma_floor", "gamma_teacher_lower", "zero", "asymptotic", "limited_by", "operations", "seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def result() -> Margin:
    x = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8]])
    return margin(x, np.array([1, -1, -1]), work_limit=1e9)


def zero() -> Margin:
    return margin(np.array([[1.0, 0.0], [0.5, 0.0]]), np.array([1, -1]))


def test_it_is_a_json_document(result):
    document = json.loads(json.dumps(result.to_dict()))
    assert list(document) == KEYS
    assert (document["gamma_lower"], document["gamma_upper"]) == (result.lower, result.upper)
    assert document["relative_width"] == pytest.approx(1 - result.lower / result.upper)
    assert document["zero"] is None
    assert zero().to_dict()["zero"] == {"rows": [0, 1], "reason": zero().zero.reason}  # pyright: ignore


def test_its_text_has_one_line(result):
    assert repr(result).startswith(f"<Margin: γ* in [{result.lower:.4g}, {result.upper:.4g}] with confidence 95%")
    assert repr(zero()) == "<Margin: γ* = 0: rows 0 and 1 are parallel and labeled differently>"


def test_a_notebook_shows_escaped_text(result):
    assert f"{result.lower:.4g} … {result.upper:.4g}" in result._repr_html_()
    hostile = dataclasses.replace(result, zero=ZeroMargin((0,), "<script>"))
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()


@pytest.mark.parametrize(
    "change", [{}, {"lower": 0.0, "floor": 0.0, "teacher_lower": -0.01}, {"upper": 0.0, "lower": 0.0}]
)
def test_the_figure_can_be_drawn(result, change):
    figure = dataclasses.replace(result, **change).plot()
    figure.savefig(io.BytesIO(), format="png")
    (axes,) = figure.axes
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_yticklabels()] == [name for name, *_ in result._quantities]


def test_the_figure_of_a_zero_margin_gives_the_reason():
    assert zero().plot()._suptitle.get_text().startswith("γ* = 0: rows 0 and 1")  # pyright: ignore
