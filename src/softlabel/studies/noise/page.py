"""Figure 1 as JSON and as a page."""

from dataclasses import asdict
from typing import Any

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.citations import citations
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.noise.judging import ARMS, Family, Interval, Judgement
from softlabel.studies.noise.settings import FAMILIES, Noise

QUESTION = (
    "Do harder data gain more from soft labels? Deep students on CIFAR-10 cats and dogs with Gaussian noise (Mandal, "
    "Lin and Srikant, section 4)."
)
NAMES = {"vgg": "VGG 8+3 → 2+3", "resnet": "ResNet-20 → ResNet-8"}
WORDS = {
    "holds": "the gap grows with the noise",
    "does not hold": "the gap shrinks with the noise",
    "open": "not decided whether the gap changes with the noise",
}


def document(judged: Judgement, report: str) -> dict[str, Any]:
    """What `reproduce figure1 --json` prints."""
    return {
        "families": [
            {
                "family": family.name,
                "teacher": FAMILIES[family.name][0],
                "student": FAMILIES[family.name][1],
                "levels": [asdict(level) for level in family.levels],
                "slope": asdict(family.slope),
                "verdict": family.verdict,
            }
            for family in judged.families
        ],
        "settings": judged.settings.model_dump(mode="json"),
        "report": report,
    }


def summary(judged: Judgement) -> list[str]:
    """What came out, a line a family."""
    return [
        f"{NAMES[family.name]}: {WORDS[family.verdict]}; soft − hard changes by {_signed(family.slope)} points per 0.1 "
        f"of noise (mean gap {sum(level.gap.mean for level in family.levels) / len(family.levels):+.2f})."
        for family in judged.families
    ]


def page(judged: Judgement, environment: dict[str, Any], again: str) -> Page:
    """The page of a run."""
    settings = judged.settings
    return Page(
        title="Noisy images, deep students: Figure 1",
        question=QUESTION,
        answer=summary(judged),
        tables=[_table(judged)],
        charts=[_chart(judged)],
        further_tables=[_further(judged)],
        method=_method(settings),
        settings=settings.model_dump(mode="json"),
        environment=environment,
        again=again,
        citations=citations("figure1", settings.data),
    )


def _method(settings: Noise) -> list[str]:
    side = "both sides, with the factor T²" if settings.temperature_on == "both" else "the labels only"
    return [
        f"Images of both classes, split 80/10/10 by every seed; noise of standard deviation σ in pixels [0, 1] added "
        f"once to all splits, so the teacher sees the same data. {settings.runs} seeds.",
        f"Networks of {settings.width:g} times the full width; Adam, step {settings.rate:g}, L2 {settings.vgg_decay:g} "
        f"(VGG) and {settings.resnet_decay:g} (ResNet), batches of {settings.batch}, at most {settings.epochs} epochs, "
        f"stopped after {settings.patience} without a better validation accuracy; the best weights are tested, once.",
        f"Soft labels: the teacher's logits on the training images, temperature {settings.temperature:g} on {side}, "
        f"weight {settings.soft_share:g}. Both arms have the same start, order, epochs and patience.",
        "Primary endpoint, fixed before running: the slope of the paired gap on σ, one for each seed, with the Student "
        f"interval of their mean ({settings.confidence:.0%}). Each family is judged by itself.",
    ]


def _signed(value: Interval) -> str:
    return f"{value.mean:+.2f} ({value.low:+.2f} … {value.high:+.2f})"


def _ends(value: Interval, digits: str = ".2f") -> Cell:
    return Cell(f"{value.mean:{digits}}", f"{value.low:{digits}} … {value.high:{digits}}")


def _table(judged: Judgement) -> Table:
    rows: list[list[Cell | str]] = []
    for family in judged.families:
        tone = {"holds": "good", "does not hold": "bad"}.get(family.verdict, "muted")
        for place, level in enumerate(family.levels):
            head = NAMES[family.name] if place == 0 else ""
            accuracies = [_ends(level.arms[arm]) for arm in ARMS]
            slope = [_ends(family.slope, "+.2f"), Cell(family.verdict, "", tone)] if place == 0 else ["", ""]
            rows.append([head, f"{level.noise:g}", *accuracies, _ends(level.gap, "+.2f"), *slope])
    return Table(
        "Test accuracy against noise",
        f"Claim: harder data gain more. Per cent, means over seeds with {judged.settings.confidence:.0%} intervals; "
        "the slope is the change of the gap for 0.1 of noise.",
        ["", "noise σ", *ARMS, "soft − hard", "slope", "claim"],
        rows,
    )


def _further(judged: Judgement) -> Table:
    metrics = (("calibration_error", ".3f"), ("agreement", ".3f"), ("epochs", ".1f"))
    rows: list[list[Cell | str]] = []
    for family in judged.families:
        for level in judged.settings.levels:
            line: list[Cell | str] = [NAMES[family.name], f"{level:g}"]
            for metric, digits in metrics:
                arms = ARMS if metric != "agreement" else ("hard", "soft")
                line += [f"{judged.mean_of(family.name, arm, metric, level):{digits}}" for arm in arms]
            rows.append(line)
    return Table(
        "Calibration, agreement with the teacher, epochs",
        "Means over seeds: expected calibration error, share of test images on which student and teacher agree, epochs "
        "trained. " + _parameters(judged.families),
        ["", "noise σ", "calibration: teacher", "hard", "soft", "agreement: hard", "soft", "epochs: teacher", "hard",
         "soft"],
        rows,
    )  # fmt: skip


def _parameters(families: list[Family]) -> str:
    parts = [
        f"{NAMES[family.name]}: {family.parameters['teacher']:,} and {family.parameters['soft']:,}"
        for family in families
    ]
    return f"Parameters of teacher and student: {'; '.join(parts)}."


def _chart(judged: Judgement) -> Chart:
    noise = list(judged.settings.levels)
    above, below = [], []
    for family in judged.families:
        series = []
        for arm in ARMS:
            values = [level.arms[arm] for level in family.levels]
            series.append(_series(arm, noise, values, arm))
        above.append(Panel(NAMES[family.name], series, "noise σ", "test accuracy, %"))
        gaps = [level.gap for level in family.levels]
        title = f"gap (harder data gain more: {family.verdict})"
        below.append(Panel(title, [_series("soft − hard", noise, gaps, "extra")], "noise σ", "points", zero_line=True))
    caption = "Means over seeds with intervals; below, the paired gap."
    return Chart("figure1", "Accuracy under Gaussian noise", caption, [*above, *below], columns=len(judged.families))


def _series(name: str, x: list[float], values: list[Interval], role: str) -> Series:
    return Series(name, x, [v.mean for v in values], [v.low for v in values], [v.high for v in values], role=role)
