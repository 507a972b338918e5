"""Pages of verdict and plan in a real browser: the answer comes first, and on a phone nothing is cut off."""

import shutil
from pathlib import Path

import pytest

from tests.studies.students.quick import plan, verdict
from tests.studies.students.toy import Toy

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH (make test installs it where it can)")
TOY = Toy(rows=600, sharp=4.0)
QUICK = {"epochs": 3, "batch_size": 64}
RESULTS = Path(__file__).parents[2] / "docs" / "results"
SIZES = {"laptop": (1280, 900), "phone": (390, 844)}
CUT_OFF = """
    [...document.querySelectorAll("h1, h2, p, li, figure, figcaption, details, pre, .wide, .plot, .plot svg")]
        .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 0.5)
        .map((element) => element.outerHTML.slice(0, 80))
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    out = tmp_path_factory.mktemp("runs")
    data = (TOY.inputs, TOY.labels, TOY.truth)
    asked = verdict(*data, width=3, seeds=4, out=out / "verdict", **QUICK)
    planned = plan(*data, accuracy=0.7, widths=[2, 4, 8], seeds=3, confirm=0, bisections=0, out=out / "plan", **QUICK)
    return {"verdict": asked.report, "plan": planned.report}


@pytest.mark.parametrize("name", ["verdict", "plan"])
@pytest.mark.parametrize("size", SIZES)
def test_nothing_is_cut_off(browser, reports, name, size):
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height})
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(reports[name].as_uri())
    page.wait_for_selector("#chart-answer .main-svg")
    for fold in page.locator("details").all():
        fold.evaluate("fold => fold.open = true")
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.evaluate(CUT_OFF) == []
    assert problems == []
    page.close()


@pytest.mark.parametrize("name", ["verdict", "plan"])
def test_the_answer_is_on_the_first_screen(browser, reports, name):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(reports[name].as_uri())
    page.wait_for_selector("#chart-answer .main-svg")
    lead = page.locator(".lead").bounding_box()
    picture = page.locator("#chart-answer").bounding_box()
    assert lead["y"] + lead["height"] <= picture["y"] + 1
    assert picture["y"] + picture["height"] <= 900
    page.close()


def test_figures_keep_their_height_when_the_window_changes(browser):
    """A chart with one panel lost its height when the window was resized, and the text below ran over it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((RESULTS / "table1" / "report.html").as_uri())
    page.wait_for_selector("#chart-gap-by-radius .main-svg")
    heights = """[...document.querySelectorAll(".plot")].map((plot) =>
        [plot.getBoundingClientRect().height, plot.querySelector(".svg-container").getBoundingClientRect().height])"""
    before = page.evaluate(heights)
    page.set_viewport_size({"width": 1200, "height": 2500})
    page.wait_for_timeout(500)
    assert page.evaluate(heights) == before
    assert all(outer == inner > 300 for outer, inner in before)
    page.close()
