"""The result of `benchmarks.cross_test` as a page."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

INTRODUCTION = """# Are cross-tested verdicts right?

On small tables `verdict` tests every row once, in five folds. Here it runs on simulated data sets of some hundred rows,
each with its own rows, folds, teachers and students. The scores are shifted so that the true gap, over other data sets
of the same kind, is 0 points, or 1, 2 or 4. A *false winner* is a winner where the true gap is 0; the limit is 5%.
*Power* is the share of verdicts "soft wins". Trees and ridge classifiers learn from MNIST (30 principal components),
{seeds} seeds per data set, with fixed settings. *Whole verdicts* are those of `softlabel verdict --width 8 --seeds 20`
on rows of real tables: two-layer students, with teacher, settings and number of epochs chosen in every fold. Their
settings are chosen by accuracy for both accuracies, by log loss for log loss and AUC. The factor for overlapping
training sets was chosen among six variants while the simulations with trees and ridge were explored: for these the
numbers are not an independent check, for whole verdicts they are.
"""
FIRST = """| students | metric | data sets | false winners | power at 1 | at 2 | at 4 | power at 2, one test part |
| --- | --- | --: | --: | --: | --: | --: | --: |"""
SECOND = """
Single intervals at 95%: how often they cover the gap over other data sets, with the factor 1 + K/(K − 1) for
overlapping training sets and without it (the interval of Bayle, Bayle, Janson and Mackey, 2020), before the allowance
for rows that were not met:

| students | metric | spread of gaps | with the factor | half-width | without | half-width |
| --- | --- | --: | --: | --: | --: | --: |"""
THIRD = """
AUC with few positive rows: how often intervals at level {level:.1%} miss the gap of two students with normal scores,
with and without the allowance for rows that were not met, and their half-widths in points:

| rows of the classes | areas | correlation | missed, with it | half-width | missed, without | half-width |
| --: | --: | --: | --: | --: | --: | --: |"""


def write_page(path: Path, results: Mapping[str, Any]) -> None:
    """Write README.md."""
    verdicts = {name: one for name, one in results.items() if isinstance(one, dict) and "cross-tested" in one}
    curves = {name: one for name, one in results.items() if isinstance(one, dict) and "nominal" in one}
    lines = [INTRODUCTION.format(**results), FIRST]
    for name, one in verdicts.items():
        students, metric = name.rsplit(": ", 1)
        full, part = one["cross-tested"], one["one fold"]
        shares = [f"{full[key]:.1%}" for key in ("false winners", "power at 1", "power at 2", "power at 4")]
        lines.append(
            f"| {students} | {metric} | {one['data_sets']} | {' | '.join(shares)} | {part['power at 2']:.1%} |"
        )
    lines.append(SECOND)
    for name, one in verdicts.items():
        students, metric = name.rsplit(": ", 1)
        sides = [one[f"coverage, {side}"] for side in ("cross-tested", "without the factor")]
        cells = " | ".join(f"{side['other data sets']:.1%} | {side['mean_half_width']:.2f}" for side in sides)
        lines.append(f"| {students} | {metric} | {one['spread_of_gaps']:.2f} | {cells} |")
    if curves:
        lines.append(THIRD.format(level=next(iter(curves.values()))["nominal"]))
    for name, one in curves.items():
        rows, rest = name.removeprefix("AUC of ").split(" rows, areas ")
        areas, correlation = rest.split(", correlation ")
        cells = [
            f"{one[f'missed, {side}']:.1%} | {one[f'half-width, {side}']:.2f}"
            for side in ("with the floor", "scores alone")
        ]
        lines.append(f"| {rows} | {areas.strip('()')} | {correlation} | {' | '.join(cells)} |")
    lines += [
        "",
        "Commands: `python -m benchmarks.cross_test`, `python -m benchmarks.whole_verdicts --packages PACKAGES`. All "
        "numbers: [results.json](results.json).",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
