"""What every page of the explorer has: head, navigation, light and dark, keyboard, no sideways scrolling."""

import pytest

from softlabel.app.panels import PANELS
from tests.browser.explorer import LAPTOP, PHONE, open_panel, overflow, watched_tab


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
