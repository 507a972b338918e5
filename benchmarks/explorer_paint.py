"""From a started explorer to its first page: asked are at most 2 s until something is painted.

Every panel is opened in a fresh tab, several times in turn with a page of one line of another server, which is the
least that a browser needs. Measured in the browser: from the request to the first paint of content.

    python -m benchmarks.explorer_paint
"""

import http.server
import statistics
import sys
import tempfile
import threading
from pathlib import Path

from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.explorer import started

from benchmarks.measure import write
from softlabel.app.panels import PANELS

ASKED, ROUNDS = 2.0, 5
PAINTED = "performance.getEntriesByName('first-contentful-paint').length > 0"
TIME = "performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"


class OneLine(http.server.BaseHTTPRequestHandler):
    """The smallest page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<p>a line</p>")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""


def paint(browser, address: str) -> float:
    """Seconds from the request to the first paint of content, in a tab without a cache."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(PAINTED)
    seconds = page.evaluate(TIME)
    context.close()
    return seconds


def main() -> None:
    from playwright.sync_api import sync_playwright

    if CHROMIUM is None:
        sys.exit("no chromium on the PATH")
    least = http.server.ThreadingHTTPServer(("127.0.0.1", 0), OneLine)
    threading.Thread(target=least.serve_forever, daemon=True).start()
    times: dict[str, list[float]] = {"one line": [], **{panel.title: [] for panel in PANELS}}
    with tempfile.TemporaryDirectory() as runs, started(Path(runs)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for _ in range(ROUNDS):
            times["one line"].append(paint(browser, f"http://127.0.0.1:{least.server_port}/"))
            for panel in PANELS:
                times[panel.title].append(paint(browser, server.url.rstrip("/") + panel.path))
        browser.close()
    least.shutdown()
    peer = statistics.median(times["one line"])
    for name, values in times.items():
        middle = statistics.median(values)
        print(f"{name:16} {middle:.2f} s ({min(values):.2f} … {max(values):.2f}), {middle / peer:.1f} × one line")
    first = times["Overview"][0]
    worst = max(max(values) for values in times.values())
    print(f"first page of a new server {first:.2f} s, worst of all {worst:.2f} s (asked: {ASKED:g} s)")
    write("explorer_paint", {"seconds": times, "first": first, "worst": worst, "asked": ASKED})


if __name__ == "__main__":
    main()
