import json
from dataclasses import replace
from html.parser import HTMLParser

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.interactive import plotly_json
from softlabel.report.page import Cell, Page, Table, write_page

HOSTILE = "</script><script>alert(1)</script><!--<script>\" ' & $\\frac{$ \u2028 \x1b[31m <a href='javascript:1'>"


class Scripts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag in ("script", "a"):
            self.tags.append(tag)


def chart() -> Chart:
    series = Series(HOSTILE, [HOSTILE, "b"], [1.0, 2.0], [0.5, 1.0], [1.5, 3.0], marks=True)
    return Chart("chart", HOSTILE, HOSTILE, [Panel(HOSTILE, [series], HOSTILE, HOSTILE)])


def test_names_stay_inert_in_the_page(tmp_path):
    table = Table(HOSTILE, HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE, HOSTILE)]])
    page = Page(HOSTILE, HOSTILE, [HOSTILE], [table], [chart()], [table], [HOSTILE], {HOSTILE: HOSTILE}, {"a": HOSTILE},
                HOSTILE, [HOSTILE])  # fmt: skip
    text = write_page(page, tmp_path).read_text(encoding="utf-8")
    parser = Scripts()
    parser.feed(text)
    assert parser.tags == ["script", "script"]  # Plotly's and the page's own
    own = text[text.rindex("<script>") + len("<script>") : text.rindex("</script>")]
    figure = own[own.index("const charts = {") :].splitlines()[0]
    assert not set(figure) & set("<>&\u2028")


def test_negative_decimals_have_real_minus_signs_and_names_keep_their_hyphens(tmp_path):
    table = Table("", "", [""], [[Cell("-0.50", "-0.75 … -0.25"), "VGG-8.1"], ["a-1.5", "2026-11-18"]])
    page = Page("t", "q", ["It is -1.25 (-2.0 … +0.5)."], [table], [], [], [], {}, {}, "--levels -0.5")
    page = replace(page, warnings=["below by -3.5"], method=["slope -4.5"], notes=["-6.5"], advice=["costs -7.5"])
    text = write_page(page, tmp_path).read_text(encoding="utf-8")
    assert all(shown in text for shown in ("by −3.5", "slope −4.5", ">−6.5", "costs −7.5"))
    for shown in ("−0.50", "−0.75 … −0.25", "VGG-8.1", "a-1.5", "2026-11-18", "−1.25 (−2.0 … +0.5)", "--levels -0.5"):
        assert shown in text


def test_plotly_gets_names_as_they_are():
    figure = json.loads(plotly_json(chart()))
    (trace,) = figure["data"]
    assert trace["name"].startswith("&lt;/script&gt;&lt;script&gt;")
    assert "alert" not in trace["hovertemplate"]


def test_a_page_with_a_name_that_is_no_utf_8(tmp_path):
    page = Page("t\udcff", "q", [], [], [], [], [], {}, {}, "command")
    assert "t\\udcff" in write_page(page, tmp_path).read_text(encoding="utf-8")
