"""Live training in a real browser: start, pause, resume and stop it as a person would."""

import json
import re
import shlex

import pytest
from typer.testing import CliRunner

import softlabel as sl
from softlabel.cli.main import app as command_line
from softlabel.errors import UnavailableError
from tests.browser.explorer import PHONE, open_panel, overflow, wait_until, watched_tab

QUICK = "/live?width=4&epochs=50&radius=5"
ENDLESS = "/live?data=digits&epochs=100000"


def number(page, row, column):
    """A number of the table of the training, by its row's name."""
    return page.locator(f"table.plain tr:has(td:text-is('{row}')) td").nth(column).inner_text()


def step(page):
    words = page.locator("text=/^step /").inner_text()
    return int(re.search(r"step ([\d,]+) of", words)[1].replace(",", ""))


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def wait_for_state(page, words):
    page.wait_for_selector(f"[role=status]:has-text('{words}')")


def test_a_training_shows_the_numbers_of_the_library(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, QUICK)
        press(page, "Start")
        wait_for_state(page, "Finished")
        assert step(page) == 50
        student = sl.Student(width=4, radius=5, biases=True)
        for column, soft in ((1, None), (2, "network")):
            (errors,) = sl.train(
                "circles", seeds=1, student=student, epochs=50, batch_size=None, soft_labels=soft
            ).students
            assert number(page, "test error", column) == f"{errors.test_error:.1%}"
            assert number(page, "training error", column) == f"{errors.train_error:.1%}"
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 6")
        plots = "[...document.querySelectorAll('.js-plotly-plot')]"
        assert page.evaluate(f"{plots}.slice(0, 2).map(p => p.data[0].type)") == ["contour", "contour"]
        points = page.evaluate(f"{plots}.slice(2).map(p => p.data[0].x.at(-1))")
        assert points == [50, 50, 50, 50]


@pytest.mark.parametrize(
    ("query", "planes"),
    [
        ("data=moons&width=4&epochs=20", 2),
        ("data=xor&width=8&epochs=20&radius=0", 2),
        pytest.param("data=mnist&width=4&epochs=1&batch_size=128", 0, marks=[pytest.mark.data, pytest.mark.slow]),
    ],
)
def test_every_data_set_is_trained_with_the_numbers_of_the_printed_commands(browser, explorer, query, planes):
    if "mnist" in query:
        try:
            sl.load("mnist")
        except UnavailableError:
            pytest.skip("MNIST cannot be had here")
    with watched_tab(browser) as page:
        open_panel(page, explorer, f"/live?{query}")
        press(page, "Start")
        page.wait_for_selector("[role=status]:has-text('Finished')", timeout=600_000)
        page.wait_for_function(f"document.querySelectorAll('.js-plotly-plot').length === {planes + 4}")
        assert "test rows" in page.inner_text("main.content")
        for column, words in enumerate(page.locator(".command pre").all_inner_texts(), start=1):
            done = CliRunner().invoke(command_line, [*shlex.split(words)[1:], "--json"])
            (student,) = json.loads(done.stdout)["students"]
            assert number(page, "test error", column) == f"{student['test_error']:.1%}"
            assert number(page, "training error", column) == f"{student['train_error']:.1%}"


def test_pause_resume_and_stop(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, ENDLESS)
        press(page, "Start")
        wait_for_state(page, "Training")
        wait_until(page, lambda: step(page) > 0)
        press(page, "Pause")
        wait_for_state(page, "Paused")
        before = -1
        while before != (before := step(page)):  # the step at work ends
            page.wait_for_timeout(1000)
        page.wait_for_timeout(1000)
        assert step(page) == before
        press(page, "Resume")
        wait_until(page, lambda: step(page) > before)
        press(page, "Stop")
        wait_for_state(page, "Stopped")
        assert page.get_by_role("button", name="Pause", exact=True).is_disabled()
        before = step(page)
        page.wait_for_timeout(800)
        assert step(page) == before


def test_settings_change_link_and_commands(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/live?width=16&radius=0")
        assert "--width 16" in page.locator(".command pre").first.inner_text()
        assert "--radius" not in page.locator(".command pre").first.inner_text()
        page.get_by_role("slider", name="Hidden neurons").locator("[tabindex]").focus()
        page.keyboard.press("ArrowRight")
        wait_until(page, lambda: page.url.endswith("/live?width=24&radius=0.0"))
        page.wait_for_selector("pre:has-text('--width 24')")
        page.reload()
        page.wait_for_selector("pre:has-text('--width 24')")


def test_other_data_bring_their_own_lengths(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/live")
        page.get_by_label("Data").click()
        page.get_by_role("option", name="digits").click()
        wait_until(page, lambda: page.url.endswith("/live?data=digits&epochs=500"))
        page.wait_for_selector("pre:has-text('softlabel train digits')")


@pytest.mark.parametrize(
    ("query", "words"),
    [("width=x", "“width=x” in the address is not possible"), ("data=nosuch&radius=-1", "“radius=-1”")],
)
def test_impossible_settings_in_the_address(browser, explorer, query, words):
    with watched_tab(browser) as page:
        open_panel(page, explorer, f"/live?{query}")
        assert words in page.locator("main.content").inner_text()


def test_an_error_of_the_library_is_one_sentence(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/live?width=5")
        press(page, "Start")
        page.wait_for_selector("[role=alert]")
        assert page.locator("[role=alert]").inner_text().startswith("width must be even with `init` 'symmetric'")


def test_by_keyboard_on_a_phone(browser, explorer):
    with watched_tab(browser, viewport=PHONE) as page:
        open_panel(page, explorer, QUICK)
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.closest('button')?.innerText") == "Start":
                break
        page.keyboard.press("Enter")
        wait_for_state(page, "Finished")
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot').length === 6")
        assert overflow(page) <= 0


def test_a_closed_tab_ends_its_training(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, ENDLESS)
        press(page, "Start")
        wait_until(page, lambda: explorer.working == 1)
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: explorer.working == 0)
