"""Publishes runs under docs/results: python docs/publish.py FOLDER [FOLDER …]

Of every run the report, `results.json`, `settings.toml` and the PNG figures are copied to the folder of the same name
in docs/results. A run writes a report that needs no other file, and Plotly's script is almost all of it; published
reports load `docs/results/plotly.min.js` instead. The page README.md of a result is written by hand.
"""

import re
import shutil
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
SHARED = "plotly.min.js"
LOADING = f'<script src="../{SHARED}"></script>'
POLICY = "script-src 'unsafe-inline'"
UNPUBLISHED = re.compile(r", figures/[\w-]+\.svg(?=\))")


def published(page: str, script: str) -> str:
    """The report with the shared script instead of the embedded one, and without names of SVG files."""
    page = UNPUBLISHED.sub("", page)
    if LOADING in page:
        return page
    embedded = re.search(r"<script>.*?</script>", page, re.DOTALL)
    if embedded is None or script.strip()[:200] not in embedded[0]:
        raise ValueError("the report embeds another version of Plotly than the installed one; rebuild the report first")
    page = page[: embedded.start()] + LOADING + page[embedded.end() :]
    return page.replace(POLICY, f"{POLICY} 'self' file:")


def publish(run: Path, results: Path, script: str) -> None:
    """Copy what is published of a run to the folder of its name."""
    target = results / run.resolve().name
    shutil.rmtree(target / "figures", ignore_errors=True)
    (target / "figures").mkdir(parents=True)
    for figure in sorted((run / "figures").glob("*.png")):
        shutil.copy(figure, target / "figures")
    for name in ("results.json", "settings.toml"):
        shutil.copy(run / name, target)
    report = (run / "report.html").read_text(encoding="utf-8")
    (target / "report.html").write_text(published(report, script), encoding="utf-8")


def main() -> None:
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs()
    for run in sys.argv[1:]:
        publish(Path(run), RESULTS, script)
    (RESULTS / SHARED).write_text(script, encoding="utf-8")


if __name__ == "__main__":
    main()
