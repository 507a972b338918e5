"""Takes the pictures of the explorer: python docs/draw_explorer.py

It needs Chromium and the extra `dev`. Runs and the dropped table are made in a temporary directory.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.explorer import PHONE, open_panel, started, watched_tab

FIGURES = Path(__file__).parent / "figures"
SIZE = {"width": 1180, "height": 860}
COLORS = 128  # of a picture, which makes it a third as large


def save(page, name: str, height: int) -> None:
    """A picture of the top of the page."""
    path = FIGURES / f"explorer-{name}.png"
    page.wait_for_timeout(1500)
    page.screenshot(
        path=path, full_page=True, clip={"x": 0, "y": 0, "width": page.viewport_size["width"], "height": height}
    )
    with Image.open(path) as image:
        image.convert("RGB").quantize(COLORS).save(path, optimize=True)
    print(path.name, path.stat().st_size // 1000, "kB")


def penguins(directory: Path) -> Path:
    """A table with text, numbers and gaps."""
    from palmerpenguins import load_penguins

    path = directory / "penguins.csv"
    load_penguins().to_csv(path, index=False)
    return path


def main() -> None:
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        sys.exit("no chromium on the PATH")
    directory = Path(tempfile.mkdtemp())
    table, runs = penguins(directory), directory / "runs"
    verdict = [sys.executable, "-m", "softlabel", "verdict", str(table), "--label", "species", "--width", "8"]
    subprocess.run([*verdict, "--out", str(runs / "penguins")], check=True)
    with sync_playwright() as playwright, started(runs) as server:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        with watched_tab(browser, viewport=SIZE, color_scheme="light") as page:
            page.set_default_timeout(180_000)
            open_panel(page, server, "/live")
            page.get_by_role("button", name="Start", exact=True).click()
            page.wait_for_selector("[role=status]:has-text('Finished')")
            save(page, "live", 900)
            open_panel(page, server, "/bounds")
            save(page, "bounds", 1000)
            open_panel(page, server, "/try")
            page.locator("input[type=file]").first.set_input_files(str(table))
            page.wait_for_selector("text=3 classes")
            save(page, "try", 1180)
            open_panel(page, server, "/runs?run=penguins")
            page.wait_for_selector(".run-answer")
            save(page, "runs", 1000)
            open_panel(page, server, "/papers?paper=Mandal&text=theorem")
            page.locator("tbody:not(.hidden) .opener").first.click()
            page.wait_for_selector("tr.details")
            page.wait_for_timeout(1000)
            save(page, "papers", 1000)
        with watched_tab(browser, viewport=SIZE, color_scheme="dark") as page:
            page.set_default_timeout(180_000)
            open_panel(page, server, "/kernel")
            page.wait_for_selector(".headline:has-text('.')")
            save(page, "kernel", 1000)
        with watched_tab(browser, viewport=PHONE, color_scheme="light") as page:
            open_panel(page, server, "/bounds")
            save(page, "phone", 844)
        browser.close()
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
