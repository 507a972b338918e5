from xml.etree import ElementTree

import pytest

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.drawing import chart_figure, draw, figure_text

NAMES = ["$\\frac{$", "$x$ and $y$", "\\$", "[/a]", "</script>", "\x1b[31m\u202e\n", "名前", "a_b^c", "$" * 3]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_can_be_drawn(name, tmp_path):
    series = [Series(name, [name, "b"], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], marks=True), Series(name, ["b"], [1.0])]
    chart = Chart("chart", name, name, [Panel(name, series, name, name)])
    png, svg = draw(chart, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(svg)


def test_logarithmic_axes_have_plain_numbers():
    panel = Panel("", [Series("", [3e-4, 30.0], [12.0, 80.0])], log_x=True, log_y=True)
    figure = chart_figure(Chart("chart", "", "", [panel]))
    figure.draw_without_rendering()
    (axes,) = figure.axes
    shown = [text.get_text() for axis in (axes.xaxis, axes.yaxis) for text in axis.get_ticklabels(which="both")]
    assert {"0.001", "0.1", "10", "20", "40"} <= set(shown)
    assert not any("times" in text for text in shown)


def test_names_that_do_not_fit_side_by_side_are_slanted():
    for names, rotation in (("hard", "soft"), 0), ([f"check number {k}" for k in range(8)], 30):
        figure = chart_figure(Chart("chart", "", "", [Panel("", [Series("", names, [1.0] * len(names))])]))
        assert {text.get_rotation() for text in figure.axes[0].get_xticklabels()} == {rotation}


def test_dollars_begin_no_formula():
    assert figure_text("$\\frac{$") == "\\$\\frac{\\$"
    assert figure_text("a\x1bb\n") == "a\\x1bb\\n"


def test_stems_reach_down_to_the_axis_and_lines_may_have_no_points():
    stems = Series("stems", [1.0, 2.0], [3.0, 4.0], stems=True, marks=True)
    line = Series("line", [1.0, 2.0], [1.0, 1.0], points=False)
    (axes,) = chart_figure(Chart("chart", "", "", [Panel("", [stems, line])])).axes
    (drawn,) = axes.collections
    assert [segment.tolist() for segment in drawn.get_segments()] == [[[1, 0], [1, 3]], [[2, 0], [2, 4]]]
    assert axes.lines[1].get_marker() == ""
