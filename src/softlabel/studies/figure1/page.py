"""The page of Figure 1."""

from collections.abc import Sequence

from softlabel.errors import counted
from softlabel.lab.statistics import Interval
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.figure1.family import ARMS, NAMES, NetworkFamily
from softlabel.studies.figure1.result import Figure1Result
from softlabel.studies.figure1.settings import TeacherTraining
from softlabel.studies.pages import claim_cell, interval_cell

QUESTION = (
    "Do harder data gain more from soft labels? Deep students on CIFAR-10 cats and dogs with Gaussian noise (Mandal, "
    "Lin and Srikant, section 4)."
)


def figure1_page(result: Figure1Result) -> Page:
    """The page of a run."""
    settings = result.settings
    return Page(
        title="Noisy images, deep students: Figure 1",
        question=QUESTION,
        answer=[result.answer, *result.summary[len(result.families) :]],
        picture=_noise_chart(result),
        tables=[_noise_table(result), _reason_table(result), _slope_table(result)],
        charts=[],
        extra_tables=[_other_metrics(result), *_choice_tables(result)],
        method=_method(result),
        warnings=result.warnings,
        settings=settings.model_dump(mode="json"),
    )


def _method(result: Figure1Result) -> list[str]:
    settings = result.settings
    side = "both sides, with the factor T²" if settings.temperature_on == "both" else "the labels only"
    names = [NAMES[family.name] for family in result.families]
    seeds = ", ".join(f"{name}: {family.slope.runs}" for name, family in zip(names, result.families, strict=True))
    teachers = "; ".join(f"{name}: {family.teacher}" for name, family in zip(names, result.families, strict=True))
    decays = ", ".join(
        f"{settings.weight_decay(family.name):g} ({name})" for name, family in zip(names, result.families, strict=True)
    )
    return [
        "Images of both classes; a tenth of those that are not test images is used for validation, drawn by each "
        "seed. Noise of standard deviation σ in pixels [0, 1] is added once to all images, so that the teacher sees "
        f"the same data; each seed draws its own. All seeds ({seeds}) have the same images for training and validation "
        "together, and the same test images; intervals do not cover other training images.",
        f"Networks with {settings.width_multiplier:g} times the full number of channels; students: Adam, learning rate "
        f"{settings.learning_rate:g}, weight decay {decays}, batch size {settings.batch_size}, at most "
        f"{settings.epochs} epochs, stopped after {settings.patience} without a better validation accuracy; the best "
        "weights are tested once.",
        f"Teachers{', chosen by validation accuracy on tuning seeds' if result.choice() else ''}: {teachers}."
        + _augmented(result.families),
        f"Soft labels: the teacher's logits on the training images, temperature {settings.temperature:g} on {side}, "
        f"weight {settings.soft_share:g}. Both arms have the same initialization, order, epochs and patience.",
        f"Primary endpoint, fixed before running: the slope of the paired gap on σ{_two_levels(result)}. Intervals: "
        f"two-way random effects (seeds and test images), {settings.confidence:.0%}; "
        f"{_adjusted(len(result.families), len(settings.levels))}.",
        f"A network never left chance if its best validation accuracy is below {settings.started:g}%.",
    ]


def _augmented(families: Sequence[NetworkFamily]) -> str:
    if not any(family.teacher.augment for family in families):
        return ""
    return (
        " A teacher that learns from augmented (shifted and flipped) images knows more than its students see; soft − "
        "hard contains what they learn from that."
    )


def _two_levels(result: Figure1Result) -> str:
    if len(result.settings.levels) > 2:
        return ""
    return " (with two levels their difference, scaled; what lies between them is not known)"


def _adjusted(families: int, levels: int) -> str:
    slopes = f"slopes are adjusted for {families} families, " if families > 1 else ""
    return f"{slopes}gaps are adjusted for {families * levels} combinations of family and level"


def _ends(value: Interval, digits: str = ".2f") -> Cell:
    return interval_cell(value.mean, value.low, value.high, digits)


def _learned(value: Interval | None) -> Cell:
    """An interval of the seeds of which both students learned, with their number."""
    if value is None:
        return Cell("–", "too few")
    return Cell(f"{value.mean:+.2f}", [f"{value.low:+.2f} … {value.high:+.2f}", counted(value.runs, "seed")])


def _noise_table(result: Figure1Result) -> Table:
    """Accuracies and gaps of every family at every noise level."""
    rows: list[list[Cell | str]] = []
    for family in result.families:
        for index, level in enumerate(family.levels):
            name = NAMES[family.name] if index == 0 else ""
            accuracies = [_ends(level.arms[arm]) for arm in ARMS]
            slope = [_ends(family.slope, "+.2f"), claim_cell(family.verdict)] if index == 0 else ["", ""]
            rows.append([name, f"{level.noise:g}", *accuracies, _ends(level.gap, "+.2f"), *slope])
    return Table(
        "Test accuracy against noise",
        f"Claim: harder data gain more. Per cent, means over seeds with {result.settings.confidence:.0%} intervals "
        "over seeds and test images, adjusted for gaps and slopes; the slope is the change of the gap per 0.1 of "
        "noise.",
        ["", "noise σ", *ARMS, "soft − hard", "slope", "claim"],
        rows,
    )


def _reason_table(result: Figure1Result) -> Table:
    """Networks that never left chance, and the gap among the others."""
    rows: list[list[Cell | str]] = []
    for family in result.families:
        for index, level in enumerate(family.levels):
            name = NAMES[family.name] if index == 0 else ""
            shares = [_ends(level.failed[arm], ".0%") for arm in ARMS]
            rows.append([name, f"{level.noise:g}", *shares, _learned(level.started)])
    return Table(
        "Two reasons for a gap",
        "Networks that never left chance (share of the seeds, Wilson's interval, not adjusted), and soft − hard among "
        "the seeds of which both students learned. Which seeds these are depends on the outcome: their gap describes "
        "runs that learned.",
        ["", "noise σ", "at chance: teacher", "hard", "soft", "gap where both learned"],
        rows,
    )


def _slope_table(result: Figure1Result) -> Table:
    """What students at chance, and what the others contribute to the slope."""
    rows: list[list[Cell | str]] = []
    for family in result.families:
        parts = [_ends(part, "+.2f") for part in (family.slope, *family.parts.values())]
        rows.append([NAMES[family.name], *parts, _learned(family.started)])
    return Table(
        "Where the slope comes from",
        "The slope of all seeds is the sum of what seeds with a student at chance (at any level) and the other seeds "
        "contribute. Last, the slope among the other seeds alone.",
        ["", "slope", "from students at chance", "from the others", "among the others"],
        rows,
    )


def _choice_tables(result: Figure1Result) -> list[Table]:
    rows: list[list[Cell | str]] = [
        [NAMES[one["family"]], str(TeacherTraining(**one["training"])), f"{one['noise']:g}", f"{one['teacher']:.2f}",
         f"{one['hard']:.2f}"]
        for one in result.choice()
    ]  # fmt: skip
    if not rows:
        return []
    about = "Validation accuracy in per cent on tuning seeds, of the teacher and of a student on hard labels."
    return [Table("Choice of a training for teachers", about, ["", "training", "noise σ", "teacher", "student"], rows)]


def _other_metrics(result: Figure1Result) -> Table:
    metrics = (("calibration_error", ".3f"), ("agreement", ".3f"), ("epochs", ".1f"))
    rows: list[list[Cell | str]] = []
    for family in result.families:
        for level in result.settings.levels:
            line: list[Cell | str] = [NAMES[family.name], f"{level:g}"]
            for metric, digits in metrics:
                arms = ARMS if metric != "agreement" else ("hard", "soft")
                line += [f"{result.mean_of(family.name, arm, metric, level):{digits}}" for arm in arms]
            rows.append(line)
    return Table(
        "Calibration, agreement with the teacher, epochs",
        "Means over seeds: expected calibration error, share of the test images on which student and teacher agree, "
        "epochs of training. " + _parameters(result.families),
        ["", "noise σ", "calibration: teacher", "hard", "soft", "agreement: hard", "soft", "epochs: teacher", "hard",
         "soft"],
        rows,
    )  # fmt: skip


def _parameters(families: Sequence[NetworkFamily]) -> str:
    parts = [
        f"{NAMES[family.name]}: {family.parameters['teacher']:,} and {family.parameters['soft']:,}"
        for family in families
    ]
    return f"Parameters of teacher and student: {'; '.join(parts)}."


def _noise_chart(result: Figure1Result) -> Chart:
    """Accuracy of every arm and the gap, against the noise level."""
    noise = _positions(result.settings.levels)
    above, below = [], []
    for family in result.families:
        series = []
        for arm in ARMS:
            values = [level.arms[arm] for level in family.levels]
            series.append(_series(arm, noise, values, arm))
        above.append(Panel(NAMES[family.name], series, "noise σ", "test accuracy, %"))
        gaps = [level.gap for level in family.levels]
        title = f"soft − hard (harder data gain more: {family.verdict})"
        below.append(Panel(title, [_series("soft − hard", noise, gaps, "extra")], "noise σ", "points", zero_line=True))
    caption = (
        f"Means over seeds with {result.settings.confidence:.0%} intervals over seeds and test images; below, the "
        "paired gap, whose intervals are adjusted for families and levels."
    )
    return Chart("figure1", "Accuracy under Gaussian noise", caption, [*above, *below], columns=len(result.families))


def _positions(levels: Sequence[float]) -> list[float] | list[str]:
    """Where the levels stand along the axis; two levels are categories, since nothing is known between them."""
    return [f"{level:g}" for level in levels] if len(levels) == 2 else list(levels)


def _series(name: str, x: Sequence[float | str], values: Sequence[Interval], role: str) -> Series:
    means, low, high = ([getattr(v, end) for v in values] for end in ("mean", "low", "high"))
    return Series(name, x, means, low, high, role=role, marks=any(isinstance(one, str) for one in x))
