"""The result of `benchmarks.tables` as a page."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

INTRODUCTION = """# Tables as people have them

Every table goes through `doctor`, `verdict`, `plan`, `predict` and the exported ONNX file with the options that its
owner would add, and the default budgets. The ONNX file is used in a fresh environment with onnxruntime and NumPy alone,
from the raw columns; *difference* is the largest one between its probabilities and those of `predict`. The accuracy
that `plan` has to reach is 80% of the way from the most frequent class to boosted trees.
"""
BEFORE = """## Every row tested, or one part of the rows

`verdict` tests every row of a table with 100 to 4,999 rows once, in five folds (`--cross-test 5`), unless rows are
ordered by time. The same question with one part of test rows, a fifth of all (`--cross-test 0`), as the larger tables
have it:
"""


def write_page(folder: Path, entries: Sequence[dict[str, Any]], settings: dict[str, Any]) -> None:
    """Write README.md."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        INTRODUCTION,
        "| table | from | trouble | options | doctor | verdict | gap in points | calibration error, hard / soft | "
        "smallest student, hard / soft | difference |",
        "| --- | --- | --- | --- | --- | --- | --: | --: | --: | --: |",
        *(row(entry) for entry in entries),
        "",
        BEFORE,
        *before_and_after(entries),
        "",
        *shares(entries),
        "",
        "Command (the first lines of the file say how the folder PACKAGES is made):",
        "",
        "```bash",
        'python -m benchmarks.tables --packages PACKAGES --once "--cross-test 0"',
        "```",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def row(entry: dict[str, Any]) -> str:
    """One table of the page."""
    start = [entry["table"], entry["package"], ", ".join(entry["trouble"]), f"`{' '.join(entry['options']) or '–'}`",
             ", ".join(dict.fromkeys(entry.get("findings", []))) or "–"]  # fmt: skip
    if "refused" in entry:
        return "| " + " | ".join([*start, f"refused: {entry['refused']}", "–", "–", "–", "–"]) + " |"
    verdict = entry["verdict"]
    errors = " / ".join(f"{verdict['arms'][arm]['calibration_error']:.3f}" for arm in ("hard", "soft"))
    widths = " / ".join(str(entry["widths"].get(arm) or "none") for arm in ("hard", "soft"))
    worst = max((student["difference"] for student in entry["students"]), default=None)
    end = [verdict["verdict"], gap_of(verdict), errors, widths,
           "–" if worst is None else f"{worst:.1e}"]  # fmt: skip
    return "| " + " | ".join([*start, *end]) + " |"


def before_and_after(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Verdict and gap of the tables that are tested in folds, beside those of one part."""
    lines = [
        "| table | rows tested | verdict | gap | rows tested | verdict | gap |",
        "| --- | --: | --- | --: | --: | --- | --: |",
    ]
    for entry in entries:
        if "once" in entry and entry["verdict"]["folds"]:
            sides = [
                f"{side['rows']:,} | {side['verdict']} | {gap_of(side)}" for side in (entry["once"], entry["verdict"])
            ]
            lines.append(f"| {entry['table']} | {' | '.join(sides)} |")
    return lines


def gap_of(verdict: dict[str, Any]) -> str:
    gap = verdict["gap"]
    return f"{gap['mean']:+.2f} ({gap['low']:+.2f} … {gap['high']:+.2f})"


def shares(entries: Sequence[dict[str, Any]]) -> list[str]:
    """How many verdicts are undecided, with every row tested and with one part of test rows."""
    lines = []
    for key, words in (("verdict", "As it is"), ("once", "With one part of test rows")):
        verdicts = Counter(entry[key]["verdict"] for entry in entries if key in entry)
        if verdicts:
            counts = ", ".join(f"{count} {name}" for name, count in verdicts.most_common())
            lines.append(f"- {words}: {counts} (of {sum(verdicts.values())} tables).")
    halves = [(half(entry["once"]), half(entry["verdict"])) for entry in entries
              if "once" in entry and entry["verdict"]["folds"]]  # fmt: skip
    if halves:
        ratios = sorted(once / folds for once, folds in halves)
        lines.append(
            f"- Intervals of one part are {ratios[0]:.1f} to {ratios[-1]:.1f} times as wide as those of all rows "
            f"(median {median(ratios):.1f})."
        )
    refused = sum("refused" in entry for entry in entries)
    return [*lines, f"- Refused: {refused} of {len(entries)}."]


def half(verdict: dict[str, Any]) -> float:
    """Half the width of the interval of a gap."""
    return (verdict["gap"]["high"] - verdict["gap"]["low"]) / 2
