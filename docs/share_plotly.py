"""Makes the reports in docs/results load one shared Plotly script: python docs/share_plotly.py

A run writes a report that needs no other file, and Plotly's script is almost all of it. The reports that are kept in
the repository load `docs/results/plotly.min.js` instead. Run this after copying a report into docs/results.
"""

import re
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
SHARED = "plotly.min.js"
LOADING = f'<script src="../{SHARED}"></script>'
POLICY = "script-src 'unsafe-inline'"


def share_script(page: str, script: str) -> str:
    """Return the report with the embedded script replaced by a reference to the shared file."""
    if LOADING in page:
        return page
    embedded = re.search(r"<script>.*?</script>", page, re.DOTALL)
    if embedded is None or script.strip()[:200] not in embedded[0]:
        raise ValueError("the report embeds another version of Plotly than the installed one; rebuild the report first")
    page = page[: embedded.start()] + LOADING + page[embedded.end() :]
    return page.replace(POLICY, f"{POLICY} 'self' file:")


def main() -> None:
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
    reports = {path: share_script(path.read_text(encoding="utf-8"), script) for path in RESULTS.glob("*/report.html")}
    (RESULTS / SHARED).write_text(script, encoding="utf-8")
    for path, page in reports.items():
        path.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
