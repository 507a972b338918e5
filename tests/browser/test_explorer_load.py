"""Many tabs at once, and what becomes of their trainings when tabs close or the explorer ends."""

from contextlib import ExitStack

import pytest

from tests.browser.explorer import open_panel, started, wait_until, watched_tab

ENDLESS = "/live?data=digits&epochs=100000&labels=hard"
TABS = 10


def train(page, server):
    open_panel(page, server, ENDLESS)
    page.get_by_role("button", name="Start", exact=True).click()


@pytest.mark.slow
def test_ten_tabs_training_at_once_keep_the_page_usable(browser, explorer):
    with ExitStack() as tabs:
        pages = [tabs.enter_context(watched_tab(browser)) for _ in range(TABS)]
        for page in pages:
            train(page, explorer)
        wait_until(pages[0], lambda: explorer.working == TABS, 120)
        for page in pages:
            page.wait_for_selector("text=/^step [1-9]/", timeout=60_000)
        page = tabs.enter_context(watched_tab(browser))
        open_panel(page, explorer, "/bounds")
        page.get_by_role("slider").first.locator("[tabindex]").focus()
        before = page.url
        page.keyboard.press("ArrowRight")
        wait_until(page, lambda: page.url != before)
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: explorer.working == 0)


def test_ctrl_c_ends_every_training(browser, tmp_path):
    with started(tmp_path / "runs") as server:
        page = browser.new_page()  # it notices that its server is gone, which is an error on its console
        train(page, server)
        wait_until(page, lambda: server.working == 1)
        (training,) = server.workers
        code, errors = server.interrupt()
        page.close()
    assert code == 130
    assert "Traceback" not in errors
    assert not training.exists()
