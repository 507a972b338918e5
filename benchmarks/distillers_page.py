"""The result of `benchmarks.distillers`: a JSON document, and a page with one table per data set."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

INTRODUCTION = """# Students of softlabel, AutoGluon, scikit-learn and LightGBM

Every method gets the same training rows of a table and is measured on the same test rows, which none has seen. The
students of `softlabel plan` are the smallest ones of their family that reach an accuracy on rows that `plan` sets
aside: 80% of the way from the most frequent class to boosted trees (60% or 40% where no student reaches it; the column
*goal* says which). AutoGluon's teacher is fitted and `TabularPredictor.distill` is called with its defaults, with
{time_limit:g} seconds each. The small models of scikit-learn and LightGBM learn hard labels.

Tables have at most {rows:,} rows where nothing else is said, of which 60% are for training. `plan` trains on 60% of
these, and keeps the others to choose settings and to test the students that it promises something about; the small
models learn from all of them.
Accuracy, log loss, size and latency are means over the splits (their number is in the table), with the range of the
accuracy; a difference of two accuracies on the test rows of one split (40% of the rows) has a standard error of about
a point. Latency is that of one thread, from raw rows in memory (strings and missing values included) to probabilities:
softlabel's students run in onnxruntime, the others in Python as their libraries provide it, which makes most of the
difference: logistic regression takes milliseconds there, too. Size is what has to be
deployed, without the libraries: the ONNX file, AutoGluon's `clone_for_deployment`, the pickled pipeline. Training is
what the method took in all: both kinds of labels, the teacher and all sizes of a family for `plan`, which has no time
limit; all students together for `distill`.
"""
RESPECTS = ("accuracy", "log_loss", "bytes", "milliseconds", "milliseconds_thousand")


def write_page(folder: Path, entries: Sequence[dict[str, Any]], settings: dict[str, Any]) -> None:
    """Write results.json and README.md."""
    kept = {name: settings[name] for name in ("tables", "families", "seeds", "rows", "time_limit", "plan", "remark")}
    folder.mkdir(parents=True, exist_ok=True)
    of_table = {name: [e for e in entries if e["table"] == name] for name in unique(entries, "table")}
    summaries = {name: summarized(runs) for name, runs in of_table.items()}
    document = {"settings": kept, "summary": summaries, "runs": list(entries)}
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    command = "python -m benchmarks.distillers --packages PACKAGES --rivals RIVALS/bin/python"
    command += f" --tables {kept['tables']} --rows {kept['rows']} --seeds {kept['seeds']}"
    remark = [kept["remark"], ""] if kept["remark"] else []
    lines = [INTRODUCTION.format(**kept), *remark, *compared(of_table), ""]
    for name, methods in summaries.items():
        lines += [f"## {name}", "", *table_of(methods), ""]
    lines += ["Command (its first lines say how PACKAGES and RIVALS are made):", "", "```bash", command, "```", "",
              "All numbers: [results.json](results.json)."]  # fmt: skip
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def unique(entries: Sequence[dict[str, Any]], key: str) -> list[str]:
    return list(dict.fromkeys(entry[key] for entry in entries))


def summarized(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Means over seeds for every method; a method that gave no model for a seed says for how many it did."""
    rows = []
    seeds = len(unique(entries, "seed"))
    for name in unique(entries, "name"):
        runs = [entry for entry in entries if entry["name"] == name and entry["accuracy"] is not None]
        kind = next(entry["kind"] for entry in entries if entry["name"] == name)
        if not runs:
            absent = sum(entry["name"] == name for entry in entries)
            rows.append({"name": name, "kind": kind, "runs": 0, "of": seeds, "without": absent})
            continue
        means = {key: statistics.fmean(run[key] for run in runs) for key in (*RESPECTS, "seconds")}
        accuracies = [run["accuracy"] for run in runs]
        ways = sorted({run["way"] for run in runs if "way" in run}, reverse=True)
        rows.append({"name": name, "kind": kind, "runs": len(runs), "of": seeds, **means, "low": min(accuracies),
                     "high": max(accuracies), "ways": ways})  # fmt: skip
    return rows


def table_of(methods: Sequence[dict[str, Any]]) -> list[str]:
    """A Markdown table of the methods on one data set."""
    lines = [
        "| model | splits | goal | accuracy | log loss | size | 1 row | 1,000 rows | training |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for row in methods:
        if not row["runs"]:
            splits = f"{row['without']}/{row['of']}"
            lines.append(f"| {row['name']} | {splits} | – | no student reaches the goal | – | – | – | – | – |")
            continue
        goal = ", ".join(f"{way:.0%}" for way in row["ways"]) or "–"
        accuracy = f"{row['accuracy']:.4f} ({row['low']:.4f} … {row['high']:.4f})"
        cost = f"{row['bytes'] / 1000:,.1f} kB | {row['milliseconds']:.3f} ms | {row['milliseconds_thousand']:.2f} ms"
        lines.append(
            f"| {row['name']} | {row['runs']}/{row['of']} | {goal} | {accuracy} | {row['log_loss']:.4f} | {cost} "
            f"| {row['seconds']:.0f} s |"
        )
    return lines


def compared(of_table: dict[str, list[dict[str, Any]]]) -> list[str]:
    """The student of each side that its own validation prefers, on every data set and in every respect."""
    lines = [
        "For every split, the student that each side would choose by its own validation rows, without the test rows:",
        "",
        "| data set | softlabel chooses | AutoGluon chooses | accuracy | log loss | size | 1 row | 1,000 rows |",
        "| --- | --- | --- | --: | --: | --: | --: | --: |",
    ]
    for name, runs in of_table.items():
        ours, theirs = (chosen(runs, kind) for kind in ("softlabel student", "AutoGluon student"))
        both = sorted(ours.keys() & theirs.keys())
        names = [", ".join(unique(list(side.values()), "name")) or "–" for side in (ours, theirs)]
        names = [each.replace("softlabel: ", "").replace("AutoGluon: ", "") for each in names]
        if not both:
            lines.append(f"| {name} | {names[0]} | {names[1]} | – | – | – | – | – |")
            continue
        means = [
            {key: statistics.fmean(side[seed][key] for seed in both) for key in RESPECTS} for side in (ours, theirs)
        ]
        gain = 100 * (means[0]["accuracy"] - means[1]["accuracy"])
        loss = means[0]["log_loss"] - means[1]["log_loss"]
        size, one, thousand = (f"{means[1][key] / means[0][key]:.1f}×" for key in RESPECTS[2:])
        lines.append(
            f"| {name} | {names[0]} | {names[1]} | {gain:+.2f} points | {loss:+.4f} | {size} | {one} | {thousand} |"
        )
    ending = (
        "Differences are softlabel − AutoGluon: accuracy above 0 and log loss below 0 favor softlabel. Factors are "
        "AutoGluon / softlabel: above 1, softlabel is smaller or faster."
    )
    return [*lines, "", ending]


def chosen(runs: Sequence[dict[str, Any]], kind: str) -> dict[int, dict[str, Any]]:
    """For each seed the student of one side with the best score on that side's own rows."""
    best: dict[int, dict[str, Any]] = {}
    for run in runs:
        if run["kind"] == kind and run["accuracy"] is not None:
            rival = best.get(run["seed"])
            best[run["seed"]] = run if rival is None or run["own_score"] > rival["own_score"] else rival
    return best
