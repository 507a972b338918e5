"""What the panel of the bounds shows are the numbers of `sl.bounds`, whichever slider moved last."""

import asyncio
import json
from pathlib import Path

import pytest
from nicegui import Client
from nicegui.page import page
from typer.testing import CliRunner

import softlabel as sl
from softlabel.app.links import query_of, settings_from
from softlabel.app.panels.bounds import POINTS, STEPS, BoundsPage, BoundsSettings
from softlabel.app.state import Explorer
from softlabel.app.work.margin import certify
from softlabel.cli.main import app
from softlabel.report.bounds_chart import neurons
from softlabel.report.bounds_tables import requirement_table

MOVES = [("gamma", 0.0025), ("epsilon", 0.5), ("n", 30), ("delta", 1e-6), ("kappa", 0.01), ("alpha", 100.0), ("c", 0.2),
         ("kappa", 1.0), ("gamma", 0.5), ("alpha", 1.0)]  # fmt: skip


def with_page(work, settings=None):
    """Build the page as for a browser, and call `work` with it."""

    async def run():
        with Client(page("/bounds"), request=None):
            shown = BoundsPage(Explorer(Path("runs")), settings or BoundsSettings())
            shown.build()
            work(shown)

    asyncio.run(run())


def check(shown):
    """Compare everything that the page shows with the overview of its settings."""
    numbers = shown.settings.model_dump()
    overview = sl.bounds.overview(**numbers)
    table = requirement_table(overview)
    texts = [[cell.text.replace("\N{MINUS SIGN}", "-") for cell in row] for row in shown.cells]
    assert texts == [[cell.text for cell in row] for row in table.cells]
    widths = [overview.families[family][arm].width for family in overview.families for arm in ("soft", "hard")]
    for text, width in zip([row[1] for row in texts], widths, strict=False):
        assert text == neurons(width) if not isinstance(width, int) or width < 10**13 else True
    for arm in ("soft", "hard"):
        assert neurons(overview.families["tight"][arm].width) in shown.lead.text
    for family, plotted in shown.plots.items():
        traces = {trace["name"]: trace for trace in plotted.figure["data"]}
        for arm in ("soft", "hard"):
            width = overview.families[family][arm].width
            assert list(traces[f"{arm} labels at γ"]["y"]) == ([] if width is None else [width])
            if width is not None:
                line = traces[f"{arm} labels"]
                assert len(line["x"]) == POINTS
                for index in (0, POINTS // 2, POINTS - 1):
                    case = numbers | {"gamma": line["x"][index]}
                    assert line["y"][index] == sl.bounds.overview(**case).families[family][arm].width


def test_every_move_shows_the_numbers_of_the_library():
    def work(shown):
        check(shown)
        for name, value in MOVES:
            shown.move(name, value)
            check(shown)

    with_page(work)


def test_the_margin_of_data_is_taken_over_exactly():
    numbers = {"gamma": 0.025055195469, "n": 1797, "c": 0.9999999403953552}

    def work(shown):
        shown.use(numbers)
        assert shown.settings == BoundsSettings(**numbers)
        check(shown)
        shown.move("epsilon", 0.2)
        assert shown.settings == BoundsSettings(**numbers, epsilon=0.2)
        check(shown)

    with_page(work)


@pytest.mark.parametrize("settings", [
    BoundsSettings(),
    BoundsSettings(gamma=0.025055195469, epsilon=1e-3, n=1797, delta=0.01, c=0.25, kappa=0.5, alpha=3.0),
])  # fmt: skip
def test_the_command_and_the_link_repeat_the_settings(settings):
    words = settings.command.split()
    assert words[:2] == ["softlabel", "bounds"]
    answer = json.loads(CliRunner().invoke(app, [*words[1:], "--json"]).stdout)
    assert answer == json.loads(json.dumps(sl.bounds.overview(**settings.model_dump()).to_dict()))
    query = dict(pair.split("=") for pair in query_of(settings).split("&") if pair)
    assert settings_from(BoundsSettings, query) == (settings, [])


@pytest.mark.parametrize("wrong", ["0", "0.6", "nan", "x", "-1", "1e-300"])
def test_an_impossible_margin_falls_back(wrong):
    settings, problems = settings_from(BoundsSettings, {"gamma": wrong, "n": "10"})
    assert settings == BoundsSettings(n=10)
    assert len(problems) == 1


def test_every_position_of_every_slider_is_possible():
    for name, values in STEPS.items():
        for value in values:
            numbers = BoundsSettings(**{name: value}).model_dump()
            assert sl.bounds.overview(**numbers).families["tight"]["soft"].width


class RecordedLine:
    """Stands in for the pipe to the explorer."""

    def __init__(self):
        self.sent = []

    def send(self, kind, content=None):
        self.sent.append((kind, content))


def test_the_work_sends_progress_the_interval_and_what_the_command_line_uses():
    line = RecordedLine()
    certify(line, "digits", 10)  # pyright: ignore[reportArgumentType]
    margin = sl.margin("digits", rows=10)
    assert [kind for kind, _ in line.sent if kind != "progress"] == ["interval", "numbers"]
    assert line.sent[0][0] == "progress"
    sent = dict(line.sent)
    assert f"[{margin.lower:.4g}, {margin.upper:.4g}]" in sent["interval"]
    inputs = margin.bounds().inputs
    assert sent["numbers"] == {name: inputs[name] for name in ("gamma", "n", "c")}
    assert sent["numbers"]["gamma"] <= margin.upper
