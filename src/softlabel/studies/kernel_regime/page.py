"""Figures 1 to 6 as JSON and as a page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.citations import citations
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.kernel_regime.judging import Comparison, Figure, Judgement
from softlabel.studies.kernel_regime.settings import KernelRegime

QUESTION = (
    "Does a small student learn faster and better when it is given what a teacher's hidden units know? Two-layer ReLU "
    "networks on CIFAR-10, airplanes against automobiles (Rahbar, Panahi and others, section 4)."
)
LINES = {  # figure → its curves with their colours
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


def document(judged: Judgement, report: str) -> dict[str, Any]:
    """What `reproduce kernel-regime --json` prints."""
    return {
        "figures": [
            {
                "figure": figure.name,
                "claim": figure.claim,
                "verdict": figure.verdict,
                "comparisons": [vars(comparison) | {"holds": comparison.holds} for comparison in figure.comparisons],
            }
            for figure in judged.figures
        ],
        "settings": judged.settings.model_dump(mode="json"),
        "report": report,
    }


def summary(judged: Judgement) -> list[str]:
    """What came out, a line a figure."""
    return [f"{figure.name}: {figure.verdict}. {figure.claim}" for figure in judged.figures]


def page(judged: Judgement, environment: dict[str, Any], again: str) -> Page:
    """The page of a run."""
    settings = judged.settings
    return Page(
        title="Privileged knowledge in the kernel regime: Figures 1 to 6",
        question=QUESTION,
        answer=summary(judged),
        tables=[_table(judged.figures, settings.confidence)],
        charts=[*(_curves(judged, name) for name in LINES), *(_histogram(judged, name) for name in HISTOGRAMS)],
        further_tables=[],
        method=_method(settings),
        settings=settings.model_dump(mode="json"),
        environment=environment,
        again=again,
        citations=citations("kernel-regime", settings.data),
    )


def _method(settings: KernelRegime) -> list[str]:
    return [
        f"Images of norm 1; weights start at N(0, {settings.start_scale:g}²), output weights ±1 and fixed; full-batch "
        f"gradient descent on half of loss (2), step {settings.step:g}, {settings.iterations:,} iterations (the paper "
        "does not say how many).",
        f"Teacher {settings.teacher_width} units, students {settings.student_width}, chosen at random among the "
        f"teacher's; the imperfect teacher is the same one after {settings.early} iterations.",
        f"Kernel embedding: alignf over {settings.kernels} Gaussian kernels, Nyström features on "
        f"{settings.landmarks} landmarks, brought to norm 1; learned on training images alone.",
        f"Overlap: |mean dot product| of a unit's normalised outputs with the top {settings.top} eigenvectors of H^∞.",
        f"{settings.runs} seeds, paired: a seed sets teacher, choice of units and starts. Intervals are Student's over "
        "seeds; the images are held fixed.",
    ]


def _table(figures: Sequence[Figure], confidence: float) -> Table:
    rows: list[list[Cell | str]] = []
    for figure in figures:
        for place, comparison in enumerate(figure.comparisons):
            tone = {"holds": "good", "does not hold": "bad"}.get(figure.verdict, "muted")
            head = Cell(figure.name, "", "") if place == 0 else ""
            rows.append(
                [head, comparison.says, *_numbers(comparison), Cell(figure.verdict, "", tone) if place == 0 else ""]
            )
    return Table(
        "Every claim, compared seed by seed",
        f"Means over seeds, and the interval ({confidence:.0%}) of the difference; a figure's claim holds where every "
        "comparison does.",
        ["", "claim", "this", "that", "that − this", "", "verdict"],
        rows,
    )


def _numbers(comparison: Comparison) -> list[Cell | str]:
    words = {True: Cell("yes", "", "good"), False: Cell("no", "", "bad"), None: Cell("open", "", "muted")}
    return [
        f"{comparison.this:.4f}",
        f"{comparison.that:.4f}",
        Cell(f"{comparison.that - comparison.this:+.4f}", f"{comparison.low:+.4f} … {comparison.high:+.4f}"),
        words[comparison.holds],
    ]


def _curves(judged: Judgement, name: str) -> Chart:
    figure = judged.figures[list(LINES).index(name)]
    steps = judged.steps.tolist()
    panels = []
    for part, title in (("train", "training loss"), ("test", "test loss")):
        series = []
        for line, role in LINES[name]:
            mean, low, high = (values.tolist() for values in judged.interval(judged.curves(line, part)))
            series.append(Series(line, steps, mean, low, high, role=role))
        panels.append(Panel(title, series, "iterations", "mean (y − f)²"))
    return Chart(name, f"{figure.name}: {figure.verdict}", figure.claim, panels)


def _histogram(judged: Judgement, name: str) -> Chart:
    figure = judged.figures[len(LINES) + list(HISTOGRAMS).index(name)]
    panels = []
    for names, title in zip(HISTOGRAMS[name], ("teachers", "students"), strict=True):
        values = {line: np.concatenate([o.arrays[f"overlap: {line}"] for o in judged.outcomes]) for line in names}
        edges = np.linspace(0, max(float(part.max()) for part in values.values()) * 1.02, BINS + 1)
        centres = ((edges[1:] + edges[:-1]) / 2).tolist()
        series = [
            Series(line, centres, (np.histogram(part, edges)[0] / len(part)).tolist(), role=role)
            for (line, part), role in zip(values.items(), ("soft", "hard"), strict=True)
        ]
        panels.append(Panel(title, series, "overlap", "share of units"))
    return Chart(name, f"{figure.name}: {figure.verdict}", figure.claim, panels, share_y=False)
