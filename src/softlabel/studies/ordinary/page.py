"""The page of Table 1 with ordinary training."""

import numpy as np

from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Cell, Page, Table
from softlabel.studies.ordinary.result import BEST_OF, OrdinaryResult, PrintedNumber
from softlabel.studies.pages import interval_cell, written_before
from softlabel.studies.table1.cells import ARMS, set_name

QUESTION = (
    "Are the numbers of Table 1 (Mandal, Lin and Srikant) what an ordinary PyTorch training gives, and why do its runs "
    "differ so much?"
)
BINS = 18
LEFT_OUT = 0.05  # share of runs that a histogram counts at its left end


def ordinary_page(result: OrdinaryResult) -> Page:
    """The page of a run."""
    from softlabel.studies.ordinary.study import OrdinaryStudy

    settings = result.settings
    return Page(
        title="Table 1 with ordinary training",
        question=QUESTION,
        answer=result.summary,
        picture=_picture(result),
        tables=[_printed_table(result), _mediation_table(result)],
        charts=[_distributions(result)],
        extra_tables=[_mode_table(result), _way_table(result)],
        method=[written_before(OrdinaryStudy),
                f"Students: {settings.epochs} epochs, weights of the last epoch. Teachers: {settings.teacher_width} "
                f"neurons, Adam with a learning rate falling from 0.001 to 0, {settings.teacher_epochs} epochs.",
                "A neuron is dead if it is active on no training image."],
        settings=settings.model_dump(mode="json"),
    )  # fmt: skip


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"


def _printed_table(result: OrdinaryResult) -> Table:
    rows: list[list[Cell | str]] = [
        [
            Cell(one.dataset, f"{one.width} neurons, {one.arm}"),
            "–" if one.printed is None else f"{one.printed:.2f}",
            Cell(f"{one.mean:.2f}", " … ".join(f"{one.quantiles[q]:.2f}" for q in (0.025, 0.975))),
            Cell("–")
            if one.below is None
            else Cell(_share(one.below.mean), f"{one.below.low:.0%} … {one.below.high:.0%}"),
            *(_share(one.best_of.get(k)) for k in BEST_OF),
            _share(one.best_epoch),
            _inside(one),
        ]
        for one in result.printed
    ]
    return Table(
        "The paper's numbers among single runs",
        "Test accuracy in per cent: printed; mean and central 95% of our runs; share of our runs below the printed "
        "number (with Wilson's interval), of the best of k runs, and of runs at the epoch that is best on the test "
        "images.",
        ["", "printed", "single runs", "runs below", *(f"best of {k}" for k in BEST_OF), "best epoch", "inside"],
        rows,
    )


def _inside(one: PrintedNumber) -> Cell:
    return {True: Cell("yes", "", "good"), False: Cell("no", "", "bad"), None: Cell("–")}[one.inside]


def _mediation_table(result: OrdinaryResult) -> Table:
    rows: list[list[Cell | str]] = []
    for one in result.mediation:
        alive = Cell("–") if one.alive is None else interval_cell(one.alive.mean, one.alive.low, one.alive.high, "+.2f")
        rows.append(
            [
                Cell(one.dataset, f"{one.width} neurons"),
                *(interval_cell(*(one.dead[arm].mean, one.dead[arm].low, one.dead[arm].high), ".1%") for arm in ARMS),
                interval_cell(one.gap.mean, one.gap.low, one.gap.high, "+.2f"),
                alive,
                "0" if one.alive is None else str(one.alive.runs),
                Cell("–")
                if one.matched is None
                else interval_cell(one.matched.mean, one.matched.low, one.matched.high, "+.2f"),
            ]
        )
    return Table(
        "Gap of all seeds, and where no neuron is dead",
        f"Points, soft − hard, intervals over seeds and test images adjusted for {len(rows)} comparisons. Last column: "
        "between runs with equally many live neurons, intervals over seeds alone; added after the run.",
        [
            "",
            "dead: hard",
            "soft",
            "gap, all seeds",
            "gap, all neurons alive",
            "such seeds",
            "gap at equal live neurons",
        ],
        rows,
    )


def _mode_table(result: OrdinaryResult) -> Table:
    rows: list[list[Cell | str]] = [
        [Cell(one.dataset, f"{one.width} neurons"), str(mode.live), *(str(mode.runs[arm]) for arm in ARMS),
         interval_cell(mode.accuracy, mode.low, mode.high)]
        for one in result.mediation
        for mode in one.modes
    ]  # fmt: skip
    about = "Runs of both arms by the number of live neurons, and their mean test accuracy."
    return Table("Accuracy by live neurons", about, ["", "live neurons", "hard runs", "soft runs", "accuracy"], rows)


def _way_table(result: OrdinaryResult) -> Table:
    rows: list[list[Cell | str]] = [
        [row.way.labels, f"{row.way.learning_rate:g}", row.way.init, row.way.pixels, str(row.width),
         interval_cell(row.accuracy.mean, row.accuracy.low, row.accuracy.high),
         interval_cell(row.dead.mean, row.dead.low, row.dead.high, ".1f"), str(row.accuracy.runs)]
        for row in result.ways
    ]  # fmt: skip
    about = "Mean over the data sets, with 95% intervals over seeds; dead neurons in per cent."
    header = ["labels", "learning rate", "initialization", "pixels", "neurons", "accuracy", "dead", "seeds"]
    return Table("All ways of training", about, header, rows)


def _picture(result: OrdinaryResult) -> Chart:
    """Accuracy against the number of live neurons for the narrowest students, with the printed numbers."""
    width = min(result.settings.widths)
    panels = []
    for one in result.mediation:
        if one.width != width:
            continue
        modes = [mode for mode in one.modes if mode.live > 0]  # without a live neuron accuracy is that of chance
        x = [str(mode.live) for mode in modes]
        low, high = [mode.low for mode in modes], [mode.high for mode in modes]
        means = [mode.accuracy for mode in modes]
        series = [Series("mean of our runs, both arms", x, means, low, high, role="other", marks=True)]
        for printed in result.printed:
            if (printed.dataset, printed.width) == (one.dataset, width) and printed.printed is not None:
                name = f"paper, {printed.arm}"
                series.append(Series(name, x, [printed.printed] * len(x), role=printed.arm, dashed=True))
        panels.append(Panel(one.dataset, series, f"live neurons of {width}", "test accuracy, %"))
    caption = (
        f"Students of {width} neurons: test accuracy by the number of neurons that are active on any training image, "
        "with 95% intervals; dashed: the paper's two numbers. Students without a live neuron (chance) are left out."
    )
    return Chart("live-neurons", "Test accuracy by live neurons", caption, panels)


def _distributions(result: OrdinaryResult) -> Chart:
    """Histograms of single runs of both arms, with the printed numbers."""
    panels = []
    for leave_out in result.settings.leave_out:
        for width in result.settings.widths:
            ours = [one for one in result.printed if (one.dataset, one.width) == (set_name(leave_out), width)]
            values = np.concatenate([one.values for one in ours])
            ends = [one.printed for one in ours if one.printed is not None]
            ends += [np.quantile(values, LEFT_OUT), values.max()]
            edges = np.linspace(min(ends) - 0.2, max(ends) + 0.2, BINS + 1)
            centers = ((edges[1:] + edges[:-1]) / 2).tolist()
            series = []
            for one in ours:
                share = np.histogram(np.maximum(one.values, edges[0]), edges)[0] / len(one.values)
                series.append(Series(f"{one.arm} labels", centers, share.tolist(), role=one.arm))
                if one.printed is not None:
                    series.append(
                        Series(f"paper, {one.arm}", [one.printed], [0.0], role=one.arm, marks=True, star=True)
                    )
            panels.append(Panel(f"{set_name(leave_out)}, {width} neurons", series, "test accuracy, %", "share of runs"))
    caption = "Test accuracy of single runs, the worst of them at the left end; stars: the paper's numbers."
    return Chart(
        "distributions", "Single runs and the paper's numbers", caption, panels, columns=len(result.settings.widths)
    )
