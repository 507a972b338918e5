"""Many tabs at once, and what becomes of their trainings when tabs close or the explorer ends."""

import time
from contextlib import ExitStack

import pytest

from tests.browser.explorer import open_panel, started, wait_until, watched_tab

ENDLESS = "/live?data=digits&epochs=100000&labels=hard"
TABS = 10
ANSWER, OPENING, MOVING = 10.0, 60.0, 20.0  # seconds; the browser shares its cores with ten trainings and their charts


def train(page, server):
    open_panel(page, server, ENDLESS)
    page.get_by_role("button", name="Start", exact=True).click()


@pytest.mark.slow
def test_ten_tabs_training_at_once_keep_the_page_usable(browser, explorer):
    with ExitStack() as tabs:
        pages = [tabs.enter_context(watched_tab(browser)) for _ in range(TABS)]
        for page in pages:
            train(page, explorer)
        wait_until(pages[0], lambda: explorer.working == TABS, 300)
        for page in pages:
            page.wait_for_selector("text=/^step [1-9]/", timeout=300_000)
        page = tabs.enter_context(watched_tab(browser))
        page.set_default_timeout(120_000)
        asked = time.monotonic()
        assert page.context.request.get(f"{explorer.url}bounds", timeout=120_000).ok
        began = time.monotonic()
        open_panel(page, explorer, "/bounds")
        opened = time.monotonic()
        page.get_by_role("slider").first.locator("[tabindex]").focus()
        before = page.inner_text(".answer")
        page.keyboard.press("ArrowRight")
        page.wait_for_function("before => document.querySelector('.answer').innerText !== before", arg=before)
        moved = time.monotonic()
        assert explorer.working == TABS
        assert began - asked < ANSWER, "the server is not busy with the trainings"
        assert opened - began < OPENING, "a panel opens soon"
        assert moved - opened < MOVING, "a slider is answered soon"
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: explorer.working == 0)


def test_ctrl_c_ends_every_training(browser, tmp_path):
    with started(tmp_path / "runs") as server:
        page = browser.new_page()  # it notices that its server is gone, which is an error on its console
        train(page, server)
        page.wait_for_selector("text=/^step [1-9]/", timeout=60_000)  # by then the process that warms up has ended
        wait_until(page, lambda: server.working == 1)
        (training,) = server.workers
        code, errors = server.interrupt()
        page.close()
    assert code == 130
    assert "Traceback" not in errors
    assert not training.exists()
