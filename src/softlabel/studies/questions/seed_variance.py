"""Do soft labels make students of different seeds agree?"""

import math

import numpy as np

from softlabel.errors import require
from softlabel.lab.statistics import Interval, paired_spread_ratio
from softlabel.studies.conditions import Condition, ConditionsResult, ConditionsSettings, ConditionsStudy, Endpoint
from softlabel.studies.questions.recipes import ADAM, presets

DATA = {"digits": "digits", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
WIDTHS = (8, 32)
MEAN_GAP = "mean gap over all conditions"


def _conditions(quick: bool) -> list[Condition]:
    return [
        Condition(name=f"{title}, {width} neurons", data=data, task=None, width=width)
        for data, title in DATA.items()
        for width in (WIDTHS[1:] if quick else WIDTHS)
        if not (quick and data == "fashion-mnist")
    ]


class SeedVarianceStudy(ConditionsStudy):
    """Question: do students vary less from seed to seed with soft labels, and is that what users gain?

    Students of 8 and 32 neurons on all classes of digits, MNIST and Fashion-MNIST; output layer and biases are trained,
    Adam, no projection; each arm with its own settings. Primary endpoint: the ratio of the standard deviations of the
    test accuracy over seeds, soft/hard, geometric mean over conditions, with a 95% interval (that of Morgan and Pitman
    for pairs, half-widths of logarithms combined in quadrature). Beside it: the share of test rows on which two seeds
    disagree, and the gap of the worst tenth of the seeds, where a smaller spread would show.
    """

    name = "seed-variance"
    title = "Do soft labels make seeds agree?"
    question = (
        "Spread of the test accuracy over seeds, and rows on which two seeds disagree, with hard and soft labels."
    )
    presets = presets(ADAM, _conditions, runs=40)
    fewest_runs = 3

    def endpoints(self, settings: ConditionsSettings) -> list[Endpoint]:
        """The mean gap, beside which the spread stands."""
        weights = {one.name: 1 / len(settings.conditions) for one in settings.conditions}
        return [Endpoint(MEAN_GAP, weights)]

    def ratios(self, result: ConditionsResult) -> dict[str, Interval]:
        """The ratio of the spreads."""
        return {"spread over seeds, soft divided by hard (ratio)": spread_ratio(result)}

    def answer(self, result: ConditionsResult) -> str:
        """The ratio of spreads in words."""
        ratio = result.primary
        verdict = "smaller" if ratio.high < 1 else "larger" if ratio.low > 1 else "not shown to be different"
        return (
            f"The spread of the test accuracy over seeds is {verdict} with soft labels: {ratio:.2f} times that with "
            "hard labels."
        )

    def remarks(self, result: ConditionsResult) -> list[str]:
        """Disagreement of seeds, and whether the worst seeds gain more than the mean."""
        rows = [row.disagreement for row in result.rows]
        fewer = sum(row["soft"] < row["hard"] for row in rows)
        shares = [math.log(row["soft"] / row["hard"]) for row in rows if min(row.values()) > 0]
        average = f", on {math.exp(np.mean(shares)):.2f} times as many on average" if shares else ""
        worst = [np.quantile(row.values["soft"], 0.1) - np.quantile(row.values["hard"], 0.1) for row in result.rows]
        gain = "; the difference is what a smaller spread gives to users" if result.primary.high < 1 else ""
        return [
            f"Two seeds disagree on fewer test rows with soft labels under {fewer} of {len(rows)} conditions{average}.",
            "From hard to soft labels the tenth percentile of the accuracy over seeds changes by "
            f"{np.mean(worst):+.2f} points on average, the mean by {result.endpoints[MEAN_GAP].mean:+.2f}{gain}.",
        ]


def spread_ratio(result: ConditionsResult) -> Interval:
    """Standard deviation over seeds with soft labels divided by that with hard ones, geometric mean over conditions.

    A condition without any spread in an arm has no ratio and is left out.
    """
    logs = [
        paired_spread_ratio(row.values["soft"], row.values["hard"], result.settings.confidence)
        for row in result.rows
        if min(row.spread.values()) > 0
    ]
    require(bool(logs), "the accuracies of all seeds are equal: more `runs` may differ")
    mean = float(np.mean([one.mean for one in logs]))
    half = math.hypot(*((one.high - one.low) / 2 for one in logs)) / len(logs)
    return Interval(math.exp(mean), math.exp(mean - half), math.exp(mean + half), logs[0].runs)
