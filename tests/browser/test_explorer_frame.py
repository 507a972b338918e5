"""What every page of the explorer has: head, navigation, light and dark, keyboard, no sideways scrolling."""

import pytest

from softlabel.app.panels import PANELS
from tests.browser.explorer import LAPTOP, PHONE, open_panel, overflow, started, watched_tab

FAILING_PANEL = """
import sys
from nicegui import ui
from softlabel.app import panels
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.cli.main import run

def fail():
    raise ValueError("<b>nothing</b> can be shown")

def build(explorer, query):
    ui.button("Fail", on_click=fail)
    ui.button("Go on", on_click=lambda: ui.label("It goes on."))

panels.PANELS = (*panels.PANELS, ExplorerPanel("/failing", "Failing", "Its button fails.", build))
sys.exit(run(sys.argv[1:]))
"""


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_panel_opens(browser, explorer, panel, size, scheme):
    with watched_tab(browser, viewport=size, color_scheme=scheme) as page:
        open_panel(page, explorer, panel.path)
        assert page.inner_text("h1.title") == panel.title
        assert page.title() == f"{panel.title} · softlabel"
        assert page.get_attribute(".nav-link.here", "href") == panel.path
        page.wait_for_timeout(300)
        assert overflow(page) <= 0, "the page must not scroll sideways"
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert background == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(13, 17, 23)")


def test_the_first_tab_stop_leads_past_the_navigation(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.tagName") == "MAIN"


def test_the_color_scheme_is_kept(browser, explorer):
    with watched_tab(browser, color_scheme="light") as page:
        open_panel(page, explorer)
        page.get_by_label("Color scheme").click()
        page.get_by_role("option", name="Dark").click()
        page.wait_for_selector("body.body--dark")
        page.reload()
        page.wait_for_selector("body.body--dark")


def test_what_fails_after_a_click_is_told_in_a_sentence(browser, tmp_path):
    with started(tmp_path / "runs", program=("-c", FAILING_PANEL)) as server:
        with watched_tab(browser) as page:
            open_panel(page, server, "/failing")
            page.get_by_role("button", name="Fail").click()
            page.wait_for_selector(".q-notification")
            page.get_by_role("button", name="Go on").click()
            page.wait_for_selector("text=It goes on.")
            notes = page.locator(".q-notification__message").all_inner_texts()
            assert notes == ["Something on this page failed (unexpected ValueError: <b>nothing</b> can be shown)."]
        _, errors = server.interrupt()
    assert errors.count("unexpected ValueError: <b>nothing</b> can be shown") == 1
