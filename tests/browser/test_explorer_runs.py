"""The panel of runs in a real browser: what it shows is what the library says, and looking at a run changes nothing."""

import json
import os
import shutil
import sqlite3
import threading
from pathlib import Path
from urllib.parse import quote

import pytest

import softlabel as sl
from softlabel.lab import Ledger
from softlabel.printable import printable
from softlabel.report.page import typeset
from softlabel.studies.students import theory
from tests.browser.explorer import PHONE, open_panel, overflow, started, watched_tab
from tests.studies.students.quick import verdict
from tests.studies.students.toy import Toy
from tests.studies.test_run_states import contents

TOY = Toy(rows=300, sharp=4.0)
SETTINGS = {"seeds": 3, "epochs": 2, "batch_size": 64}
HOSTILE = "<img src=x onerror=document.title='ran'><script>document.title='ran'<script>"
ATTACK = """<!doctype html><title>Report</title><p id=log></p><script>
const log = (name, ok) => { document.getElementById("log").textContent += name + (ok ? " worked. " : " failed. ") };
try { localStorage.setItem("softlabel-scheme", "Dark"); log("storage", true) } catch { log("storage", false) }
try { log("opener", !!window.opener.document) } catch { log("opener", false) }
fetch("/runs").then(() => log("fetch", true), () => log("fetch", false));
</script>"""
WAIT = 20_000


def ask(out, width=3, **more):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WORK", "MIN_WORK"):
            patch.setattr(theory, name, 1e8)
        return verdict(TOY.inputs, TOY.labels, TOY.truth, width=width, out=out, **SETTINGS, **more)


@pytest.fixture(scope="module")
def server(browser, tmp_path_factory):
    """An explorer of runs of many kinds; its directory is as it was when all tests are over."""
    runs = tmp_path_factory.mktemp("explorer") / "runs"
    ask(runs / "one")
    ask(runs / "group" / "two", width=4)
    sl.train(TOY.inputs, TOY.labels, width=2, seeds=1, epochs=1, out=runs / "trained")
    for name in ("damaged", "logged", "copy", HOSTILE.replace("/", "")):
        shutil.copytree(runs / "one", runs / name)
    with sqlite3.connect(runs / "damaged" / "ledger.sqlite") as database:
        database.execute("UPDATE outcomes SET metrics = '{}' WHERE position = 0")
    database = sqlite3.connect(runs / "logged" / "ledger.sqlite")
    database.execute("PRAGMA journal_mode = wal")
    database.close()
    (runs / "copy" / "ledger.sqlite").unlink()
    _make_hostile(runs / HOSTILE.replace("/", ""))
    (runs / "broken").mkdir()
    (runs / "broken" / "ledger.sqlite").write_bytes(b"no database")
    (runs / "away").symlink_to(runs.parent)
    unnamed = Path(os.fsdecode(bytes(runs) + b"/odd-\xff"))
    unnamed.mkdir()
    (unnamed / "ledger.sqlite").touch()
    before = contents(runs)
    with started(runs) as server:
        yield server
    after = {path: content for path, content in contents(runs).items() if "live" not in path.relative_to(runs).parts}
    before.pop(runs), after.pop(runs)  # "live" was added
    assert after == before


def _make_hostile(run_dir: Path) -> None:
    with Ledger(run_dir / "ledger.sqlite") as ledger:
        settings = ledger.meta("settings") | {"data": HOSTILE, HOSTILE: [HOSTILE]}
        ledger.set_meta(
            settings=settings, command=f"softlabel {HOSTILE}\nreboot", environment={HOSTILE: {"a": HOSTILE}}
        )
    (run_dir / "results.json").write_text(json.dumps({"answer": HOSTILE, HOSTILE: {"x": HOSTILE}}))
    (run_dir / "report.html").write_text(ATTACK)


def open_run(page, server, name, **more):
    query = "&".join(f"{key}={quote(value)}" for key, value in {"run": name, **more}.items())
    open_panel(page, server, f"/runs?{query}")
    page.wait_for_selector(".run-view strong", timeout=WAIT)


def rows_of(table):
    return table.evaluate(
        "table => [...table.rows].map(row => [...row.cells].map(cell => cell.firstChild.textContent))"
    )


def shown_table(table):
    """A table of a result as the page shows its rows."""
    return [[typeset(cell.text) for cell in row] for row in table.cells]


def test_all_runs_are_listed_and_filtered(browser, server):
    with watched_tab(browser) as page:
        open_panel(page, server, "/runs")
        page.get_by_text("9 runs").wait_for(timeout=WAIT)
        names = page.locator(".run-entry:visible .run-name").all_inner_texts()
        expected = [printable(path.relative_to(server.runs)) for path in sl.find_runs(server.runs)]
        assert sorted(names) == sorted(expected)
        page.get_by_role("button", name="odd-").click()
        page.get_by_text("The name of this directory is not valid UTF-8").wait_for()
        page.get_by_label("State").click()
        page.get_by_role("option", name="damaged").click()
        page.get_by_text("1 run of 9").wait_for()
        assert page.locator(".run-entry:visible .run-name").all_inner_texts() == ["damaged"]
        page.wait_for_url("**/runs?state=damaged")
        page.reload()
        page.get_by_text("1 run of 9").wait_for(timeout=WAIT)
        page.get_by_label("State").click()
        page.get_by_role("option", name="any").click()
        page.get_by_label("Study", exact=True).click()
        page.get_by_role("option", name="train", exact=True).click()
        page.get_by_text("1 run of 9").wait_for()
        page.get_by_label("Name, study or data").fill("nothing like it")
        page.get_by_text("No run of 9 matches the filters.").wait_for()


def test_a_run_shows_what_the_library_says(browser, server):
    result = sl.read_run(server.runs / "one", rewrite=False)
    page_of_result, state = result.page(), sl.inspect_run(server.runs / "one")
    with watched_tab(browser) as page:
        open_panel(page, server, "/runs")
        page.get_by_role("button", name="one finished").click(timeout=WAIT)
        page.wait_for_selector(".run-answer", timeout=WAIT)
        page.wait_for_url("**/runs?run=one")
        assert page.inner_text(".run-answer") == typeset(page_of_result.answer[0])
        tables = page.locator(".run-view table.plain")
        assert rows_of(tables.first)[1:] == shown_table(page_of_result.tables[0])
        count = len([page_of_result.picture, *page_of_result.charts])
        page.wait_for_function(f"document.querySelectorAll('.run-view .main-svg').length >= {count}")
        page.get_by_text("Bundles of trainings").click()
        bundles = page.get_by_label("Bundles", exact=True).locator("table")
        assert [row[1] for row in rows_of(bundles)[1:]] == [bundle.name for bundle in state.bundles]
        page.get_by_text("Settings", exact=True).click()
        assert page.get_by_role("row", name="width 3", exact=True).is_visible()
        page.get_by_text("Environment", exact=True).click()
        python = state.environment["python"]
        assert page.get_by_role("row", name=f"python {python}", exact=True).is_visible()
        assert overflow(page) <= 0


def test_the_cells_are_downloaded(browser, server, tmp_path):
    sl.export_cells(server.runs / "one", tmp_path / "cells.csv")
    with watched_tab(browser) as page:
        open_run(page, server, "one")
        with page.expect_download(timeout=WAIT) as download:
            page.get_by_role("button", name="Download the cells (CSV)").click()
        assert download.value.suggested_filename == "one-cells.csv"
        assert Path(download.value.path()).read_bytes() == (tmp_path / "cells.csv").read_bytes()


def test_two_runs_side_by_side(browser, server):
    first, second = (sl.read_run(server.runs / name, rewrite=False).page() for name in ("one", "group/two"))
    with watched_tab(browser) as page:
        open_run(page, server, "one")
        page.get_by_role("button", name="Show group/two beside the chosen run").click(timeout=WAIT)
        page.wait_for_url("**/runs?run=one&beside=group%2Ftwo")
        page.wait_for_function("document.querySelectorAll('.run-answer').length == 2", timeout=WAIT)
        assert page.locator(".run-answer").all_inner_texts() == [typeset(one.answer[0]) for one in (first, second)]
        differing = page.get_by_label("What differs", exact=True).locator("table")
        assert ["width", "3", "4"] in rows_of(differing)
        assert overflow(page) <= 0
        page.get_by_role("button", name="Show one run").click()
        page.wait_for_url("**/runs?run=one")
        page.wait_for_function("document.querySelectorAll('.run-view').length == 1")


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ("damaged", "damaged", "differ from what was written"),
        ("broken", "unreadable", "is not a ledger of softlabel"),
        ("trained", "finished", "is a run of train, which has no ledger.sqlite"),
        ("copy", "finished", "a copy of its documents"),
        ("logged", "finished", ""),
    ],
)
def test_runs_that_are_not_as_usual(browser, server, name, status, sentence):
    with watched_tab(browser, viewport=PHONE) as page:
        open_run(page, server, name)
        assert page.inner_text(".run-view strong") == status
        assert sentence in page.inner_text(".run-view")
        page.wait_for_function("!document.querySelector('.run-view .busy')", timeout=WAIT)
        if name in ("damaged", "copy"):
            images = page.locator(".run-figure")
            assert images.count() == len(sl.inspect_run(server.runs / name).figures)
            images.first.scroll_into_view_if_needed()
            page.wait_for_function("document.querySelector('.run-figure').naturalWidth > 0")
        assert overflow(page) <= 0


def test_a_run_at_work_grows_and_finishes_in_an_open_page(browser, server):
    bundle, seen = threading.Semaphore(0), threading.Event()

    def wait(at):
        if at.stage != "teacher":
            seen.set()
            assert bundle.acquire(timeout=60)

    worker = threading.Thread(target=ask, args=(server.runs / "live",), kwargs={"progress": wait}, daemon=True)
    worker.start()
    assert seen.wait(60)
    with watched_tab(browser) as page:
        open_run(page, server, "live")
        assert page.inner_text(".run-view strong") == "running"
        page.get_by_text("Stage “choose”: 0 of 3 bundles").wait_for(timeout=WAIT)
        bar, shares = page.get_by_role("progressbar", name="Progress of the run"), []
        bundles = page.get_by_label("Bundles", exact=True).locator("tbody tr")
        for done in (1, 2):
            bundle.release()
            page.get_by_text(f"Stage “choose”: {done} of 3 bundles").wait_for(timeout=WAIT)
            assert bundles.count() == done
            shares.append(float(bar.get_attribute("aria-valuenow")))
        assert 0 < shares[0] < shares[1] < 1
        bundle.release(100)
        worker.join(60)
        page.wait_for_selector(".run-answer", timeout=WAIT)
        assert page.inner_text(".run-view strong") == "finished"
        result = sl.read_run(server.runs / "live", rewrite=False)
        assert page.inner_text(".run-answer") == typeset(result.page().answer[0])
        assert not bar.is_visible()
        page.get_by_role("link", name="Open the report").wait_for()


def test_hostile_names_settings_and_results_are_text(browser, server):
    name = HOSTILE.replace("/", "")
    with watched_tab(browser) as page:
        open_run(page, server, name)
        page.wait_for_selector(".run-answer", timeout=WAIT)
        assert page.inner_text(".run-view h2") == name
        assert page.inner_text(".run-answer") == HOSTILE
        page.get_by_text("Settings", exact=True).click()
        page.get_by_text("Environment", exact=True).click()
        assert page.locator("img[src=x]").count() == 0
        assert f"softlabel {HOSTILE}\\nreboot" in page.locator(".command pre").all_inner_texts()
        page.get_by_role("button", name="Show one beside the chosen run").click(timeout=WAIT)
        page.get_by_text("What differs: ").wait_for(timeout=WAIT)
        assert page.title() == "Runs · softlabel"


def test_a_hostile_report_cannot_reach_the_explorer(browser, server):
    with watched_tab(browser) as page:
        open_run(page, server, HOSTILE.replace("/", ""))
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Open the report").click(timeout=WAIT)
        report = opened.value
        report.wait_for_function("document.getElementById('log').textContent.includes('fetch')")
        assert report.inner_text("#log") == "storage failed. opener failed. fetch failed."
        assert page.evaluate("localStorage.getItem('softlabel-scheme')") != "Dark"


def test_the_report_is_drawn_without_the_explorer(browser, server):
    with watched_tab(browser) as page:
        open_run(page, server, "one")
        with page.context.expect_page() as opened:
            page.get_by_role("link", name="Open the report").click(timeout=WAIT)
        report = opened.value
        report.wait_for_selector("#chart-answer .main-svg")
        assert report.url.startswith(f"{server.url}run-files/")
        assert "one" not in report.url.rpartition("/")[2]


@pytest.mark.parametrize("name", ["..", "../outside", "/etc", "away", "away/outside", "one/../..", "a\0b"])
def test_names_that_lead_outside_are_refused(browser, server, name):
    with watched_tab(browser) as page:
        open_panel(page, server, f"/runs?run={quote(name)}&beside=one&state=great")
        page.get_by_text("leads out of the directory of runs").wait_for(timeout=WAIT)
        page.get_by_text("“state=great” in the address is not possible").wait_for()
        page.wait_for_selector(".run-answer", timeout=WAIT)
        assert page.inner_text(".run-view h2") == "one"


def test_a_name_without_a_run(browser, server):
    with watched_tab(browser) as page:
        open_panel(page, server, "/runs?run=nothing")
        page.get_by_text("is not a run directory").wait_for(timeout=WAIT)


def test_by_keyboard_alone(browser, server):
    with watched_tab(browser) as page:
        open_panel(page, server, "/runs")
        page.get_by_text("9 runs").or_(page.get_by_text("10 runs")).wait_for(timeout=WAIT)

        def tab_to(text):
            for _ in range(60):
                page.keyboard.press("Tab")
                label = page.evaluate("(e => e.getAttribute('aria-label') || e.textContent)(document.activeElement)")
                if text in label:
                    return
            raise AssertionError(f"no tab stop '{text}'")

        tab_to("Name, study or data")
        page.keyboard.type("group")
        page.get_by_text("1 run of").wait_for()
        tab_to("group/two")
        page.keyboard.press("Enter")
        page.wait_for_selector(".run-answer", timeout=WAIT)
        focused = page.evaluate("document.activeElement.textContent")
        assert "group/two" in focused, "the focus stays on the chosen entry"
        tab_to("Bundles of trainings")
        page.keyboard.press("Enter")
        assert page.get_by_label("Bundles", exact=True).is_visible()
