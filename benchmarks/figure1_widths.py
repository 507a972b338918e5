"""Does a quarter of the channels mislead? Figure 1 at full width against Figure 1 at a quarter of it.

    python -m benchmarks.figure1_widths [FULL QUARTER]

Both are directories of finished runs of `figure1` with the same noise levels; by default those in docs/results. Printed
for every family of networks that both have: the slope of soft − hard on the noise in either run, and the difference
with a 95% interval over the seeds of both runs and the test images that they share.
"""

import sys
from pathlib import Path

import softlabel as sl
from softlabel.lab.statistics import crossed_difference
from softlabel.studies.figure1 import Figure1Result

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def main(full: Path, quarter: Path) -> None:
    runs = []
    for directory in (full, quarter):
        result = sl.read_run(directory)
        if not isinstance(result, Figure1Result):
            sys.exit(f"'{directory}' is not a run of figure1")
        runs.append(result)
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


if __name__ == "__main__":
    names = sys.argv[1:] or [str(RESULTS / "figure1-full-width"), str(RESULTS / "figure1")]
    if len(names) != 2:
        sys.exit(__doc__)
    main(*map(Path, names))
