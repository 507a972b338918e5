"""One browser for the tests of a file; they are skipped where there is none."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH (make test installs it where it can)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def explorer(browser, tmp_path_factory):
    """An explorer of an empty directory of runs; it is started only where there is a browser."""
    from tests.browser.explorer import started

    with started(tmp_path_factory.mktemp("explorer") / "runs") as server:
        yield server
