from xml.etree import ElementTree

import pytest

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.drawing import draw, figure_text

NAMES = ["$\\frac{$", "$x$ and $y$", "\\$", "[/a]", "</script>", "\x1b[31m\u202e\n", "名前", "a_b^c", "$" * 3]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_can_be_drawn(name, tmp_path):
    series = [Series(name, [name, "b"], [1.0, 2.0], [0.5, 1.5], [1.5, 2.5], marks=True), Series(name, ["b"], [1.0])]
    chart = Chart("chart", name, name, [Panel(name, series, name, name)])
    png, svg = draw(chart, tmp_path)
    assert png.read_bytes().startswith(b"\x89PNG")
    ElementTree.parse(svg)


def test_dollars_begin_no_formula():
    assert figure_text("$\\frac{$") == "\\$\\frac{\\$"
    assert figure_text("a\x1bb\n") == "a\\x1bb\\n"
