"""The page of Figures 1 to 6."""

import numpy as np

from softlabel.lab.statistics import student_interval
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.kernel_regime.result import COMPARISONS, KernelRegimeResult, PairedComparison
from softlabel.studies.kernel_regime.settings import KernelRegimeSettings
from softlabel.studies.pages import interval_cell

QUESTION = (
    "Does a small student learn faster and better when it knows the outputs of a teacher's hidden units? Two-layer "
    "ReLU networks on CIFAR-10, airplanes against automobiles (Rahbar, Panahi and others, section 4)."
)
LINES = {  # curves of each figure with their colors
    "figure1": (("teacher", "teacher"), ("student", "soft"), ("no teacher", "hard")),
    "figure2": (("teacher", "teacher"), ("student", "soft"), ("λ = 0", "hard"), ("λ = ∞", "extra")),
    "figure3": (("student", "soft"), ("imperfect", "hard"), ("no start", "extra")),
    "figure4": (
        ("teacher", "teacher"),
        ("teacher, kernel", "other"),
        ("student", "soft"),
        ("student, kernel", "extra"),
    ),
}
HISTOGRAMS = {
    "figure5": (("teacher", "imperfect teacher"), ("student", "imperfect")),
    "figure6": (("teacher", "teacher, kernel"), ("student", "student, kernel")),
}
BINS = 20


def kernel_regime_page(result: KernelRegimeResult) -> Page:
    """The page of a run."""
    settings = result.settings
    return Page(
        title="Privileged knowledge in the kernel regime: Figures 1 to 6",
        question=QUESTION,
        answer=result.summary,
        tables=[_claims_table(result)],
        charts=[*(_curve_chart(result, name) for name in LINES), *(_histogram(result, name) for name in HISTOGRAMS)],
        extra_tables=[],
        method=_method(settings),
        settings=settings.model_dump(mode="json"),
    )


def _method(settings: KernelRegimeSettings) -> list[str]:
    return [
        f"Images of norm 1; weights are initialized from N(0, {settings.init_scale:g}²), output weights are ±1 and "
        f"fixed; full-batch gradient descent on half of loss (2), learning rate {settings.learning_rate:g}, "
        f"{settings.iterations:,} iterations (the paper does not state the number).",
        f"The teacher has {settings.teacher_width} units, the students {settings.student_width}, chosen at random from "
        f"the teacher's; the imperfect teacher is the same teacher after {settings.early} iterations.",
        f"Kernel embedding: alignf over {settings.kernels} Gaussian kernels, Nyström features on "
        f"{settings.landmarks} landmarks, scaled to norm 1; learned on the training images only.",
        f"Overlap: the share of the squared norm of a unit's outputs in the span of the top {settings.top} "
        "eigenvectors of H^∞. (The mean dot product, which the paper shows, depends on the signs of the eigenvectors, "
        "which are arbitrary.)",
        f"{settings.runs} seeds, paired: a seed sets the teacher, the choice of units and the initializations. "
        "Intervals of test losses are over seeds and test images, the others over seeds; the training images are "
        f"fixed. All are adjusted for {COMPARISONS} comparisons.",
    ]


def _claims_table(result: KernelRegimeResult) -> Table:
    """Every comparison of every figure."""
    rows: list[list[Cell | str]] = [
        [Cell(comparison.says, figure.name), *_numbers(comparison)]
        for figure in result.figures
        for comparison in figure.comparisons
    ]
    return Table(
        "Every claim, compared seed by seed",
        "A claim says that one of two numbers is smaller. Means of both over seeds, and the interval "
        f"({result.settings.confidence:.0%}, adjusted for {COMPARISONS} comparisons) of the second minus the first; "
        "the claim of a figure holds if every comparison confirms it.",
        ["", "first", "second", "difference", "holds"],
        rows,
    )


def _numbers(comparison: PairedComparison) -> list[Cell | str]:
    answers = {True: Cell("yes", "", "good"), False: Cell("no", "", "bad"), None: Cell("open", "", "muted")}
    return [
        f"{comparison.this:.4f}",
        f"{comparison.that:.4f}",
        interval_cell(comparison.that - comparison.this, comparison.low, comparison.high, "+.4f"),
        answers[comparison.holds],
    ]


def _curve_chart(result: KernelRegimeResult, name: str) -> Chart:
    """Training and test loss against the iterations, for the curves of one figure."""
    figure = result.figures[list(LINES).index(name)]
    steps = result.steps.tolist()
    panels = []
    for part, title in (("train", "training loss"), ("test", "test loss")):
        series = []
        for line, role in LINES[name]:
            numbers = student_interval(result.curves(line, part), result.settings.confidence)
            series.append(Series(line, steps, *(values.tolist() for values in numbers), role=role))
        panels.append(Panel(title, series, "iterations", "mean (y − f)²"))
    return Chart(name, f"{figure.name}: {figure.verdict}", figure.claim, panels)


def _histogram(result: KernelRegimeResult, name: str) -> Chart:
    figure = result.figures[len(LINES) + list(HISTOGRAMS).index(name)]
    panels = []
    for names, title in zip(HISTOGRAMS[name], ("teachers", "students"), strict=True):
        values = {line: result.shares(line) for line in names}
        edges = np.linspace(0, max(float(part.max()) for part in values.values()) * 1.02, BINS + 1)
        centers = ((edges[1:] + edges[:-1]) / 2).tolist()
        series = [
            Series(line, centers, (np.histogram(part, edges)[0] / len(part)).tolist(), role=role)
            for (line, part), role in zip(values.items(), ("soft", "hard"), strict=True)
        ]
        panels.append(Panel(title, series, "share in the top of H^∞", "share of units"))
    return Chart(name, f"{figure.name}: {figure.verdict}", figure.claim, panels, share_y=False)
