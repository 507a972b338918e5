"""The page in a real browser: no console error, no request, figures there, on a laptop and a phone, light and dark."""

import shutil
from pathlib import Path

import pytest

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table, write_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (make test installs it where it can)")


def sample_page() -> Page:
    curves = [
        Series("hard labels", ["10", "50", "none"], [84.0, 90.0, 95.0], [83, 89, 94], [85, 91, 96], role="hard"),
        Series("soft labels", ["10", "50", "none"], [90.0, 92.0, 95.1], [89, 91, 94], [91, 93, 96], role="soft"),
    ]
    return Page(
        title="A page <of> a test & nothing else",
        question="Does it hold?",
        answer=["It does, </script> notwithstanding."],
        tables=[Table("One", "how to read it", ["", "a", "b"], [["x", Cell("1.0", "0.9 … 1.1", "good"), "2"]])],
        charts=[
            Chart(
                "one", "One chart", "what to see </script>", [Panel(f"panel {k}", curves, "B", "%") for k in range(3)]
            ),
            Chart("two", "Another", "more", [Panel("dots", [Series("d", ["a", "b"], [1, 2], marks=True)])]),
        ],
        extra_tables=[Table("More", "rows", ["", "c"], [["y", "3"]])],
        method=["by hand"],
        settings={"cells": 3},
        environment={"python": "3"},
        command="softlabel nothing",
        citations=["@misc{nothing}"],
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return write_page(sample_page(), tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 900), (390, 844)], ids=["laptop", "phone"])
def test_it_works_by_itself(browser, path, scheme, size):
    width, height = size
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    problems, requests = [], []
    page.on("console", lambda message: problems.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("#chart-one .main-svg")
    page.wait_for_selector("#chart-two .main-svg")
    assert problems == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1
    assert page.title() == "A page <of> a test & nothing else · softlabel"
    assert page.locator("#chart-one .scatterlayer .trace").count() == 6
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert overflow <= 0, "the page must not scroll sideways"
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")
    page.close()


def test_figures_lie_beside_it(path):
    names = sorted(file.name for file in (path.parent / "figures").iterdir())
    assert names == ["one.png", "one.svg", "two.png", "two.svg"]
