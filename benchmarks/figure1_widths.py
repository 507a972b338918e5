"""Does a quarter of the channels mislead? Figure 1 at full width against Figure 1 at a quarter of it.

    python -m benchmarks.figure1_widths [FULL QUARTER]

Both are directories of finished runs of `figure1` with the same noise levels; by default those in docs/results. Printed
for every family of networks that both have: the slope of soft − hard on the noise in either run, and the difference
with a 95% interval over the seeds of both runs and the test images that they share. Then, for every noise level, the
same of soft − hard among seeds whose teacher learned: a teacher at chance has nothing to teach.
"""

import sys
from pathlib import Path

from softlabel.errors import SoftlabelError
from softlabel.lab import read_results
from softlabel.lab.statistics import Interval, crossed_difference, crossed_mean
from softlabel.studies.figure1 import Figure1Result, Figure1Study
from softlabel.studies.run import open_ledger

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def finished_run(directory: Path) -> Figure1Result:
    """The result of a run, without writing its page again."""
    with open_ledger(directory) as ledger:
        if ledger.meta("study") != Figure1Study.name:
            sys.exit(f"'{directory}' is not a run of figure1")
        study = Figure1Study.from_settings(ledger.meta("settings"))
        return study.judge(read_results(study, ledger), {})


def main(full: Path, quarter: Path) -> None:
    runs = [finished_run(directory) for directory in (full, quarter)]
    if runs[0].settings.levels != runs[1].settings.levels:
        sys.exit(f"the runs have different noise levels, {runs[0].settings.levels} and {runs[1].settings.levels}")
    for family in runs[0].settings.families:
        if family not in runs[1].settings.families:
            continue
        slopes = [result.slopes(family) for result in runs]
        for result, slope in zip(runs, slopes, strict=True):
            interval = next(one.slope for one in result.families if one.name == family)
            width = result.settings.width_multiplier
            print(
                f"{family}, {width:g} times the channels, {len(slope)} seeds: {interval:+.2f} points per 0.1 of noise"
            )
        print(f"{family}, difference: {crossed_difference(*slopes, confidence=0.95):+.2f}")
        for level in runs[0].settings.levels:
            report_level(family, level, runs)


def report_level(family: str, level: float, runs: list[Figure1Result]) -> None:
    """soft − hard at one level in both runs, among seeds whose teacher learned, and the difference."""
    tables = [result.gaps_where_teacher_learned(family, level) for result in runs]
    for result, table in zip(runs, tables, strict=True):
        name = f"{family}, noise {level:g}, {result.settings.width_multiplier:g} times the channels"
        learned = f"the teacher learned with {len(table)} of {len(result.settings.seeds_of(family))} seeds"
        gap = "" if len(table) < 2 else f"; soft − hard {Interval.from_estimate(crossed_mean(table), 0.95):+.2f}"
        print(f"{name}: {learned}{gap}")
    if all(len(table) >= 2 for table in tables):
        print(f"{family}, noise {level:g}, difference: {crossed_difference(*tables, confidence=0.95):+.2f}")


if __name__ == "__main__":
    names = sys.argv[1:] or [str(RESULTS / "figure1-full-width"), str(RESULTS / "figure1")]
    if len(names) != 2:
        sys.exit(__doc__)
    try:
        main(*map(Path, names))
    except SoftlabelError as problem:  # no run, or an unfinished one
        sys.exit(str(problem))
