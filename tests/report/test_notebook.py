import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.drawing import chart_figure
from softlabel.report.notebook import result_html
from softlabel.report.page import Cell, Table

HOSTILE = "</style></script><script>alert(1)</script><img src=x onerror=alert(1)>\" ' & \udcff"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append(tag)

    def handle_data(self, data) -> None:
        self.text += data


def parsed(text: str) -> Tags:
    parser = Tags()
    parser.feed(text)
    return parser


def figure():
    return chart_figure(Chart("c", "t", "c", [Panel("p", [Series("s", ["a", "b"], [1.0, 2.0])])]))


def test_headline_figure_and_table():
    table = Table("title", "how to read it", ["", "mean"], [["hard", Cell("1.0", "0.9 … 1.1", "good")]])
    text = result_html(["It works.", "And more."], figure(), table)
    for part in ("<strong>It works.</strong>", "And more.", "how to read it", "0.9 … 1.1", 'class="good"'):
        assert part in text
    (encoded,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', text)
    assert ElementTree.fromstring(base64.b64decode(encoded)).tag.endswith("svg")
    assert parsed(text).tags.count("script") == 0
    assert "http" not in text


def test_texts_stay_inert():
    table = Table(HOSTILE, HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE, HOSTILE)]])
    parser = parsed(result_html(HOSTILE, figure(), table))
    assert "script" not in parser.tags
    assert parser.tags.count("img") == 1
    assert parser.tags.count("style") == 1
    assert "alert(1)" in parser.text


def test_a_headline_is_enough():
    assert parsed(result_html("Done.")).tags == ["div", "style", "p", "strong"]
