"""How many neurons theory guarantees to suffice with soft and with hard labels, moved by sliders."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from pydantic import Field

import softlabel as sl
from softlabel.app.links import LinkSettings, settings_from
from softlabel.app.panels.bounds_margin import MarginOfData
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.state import Explorer
from softlabel.app.widgets import LinkedSettings, command, plain_table, plot, remark, replot, show_in, slider, text
from softlabel.report.bounds_chart import bounds_charts, neurons
from softlabel.report.bounds_tables import requirement_table
from softlabel.report.charts import Chart
from softlabel.report.interactive import plotly_figure

POINTS = 48  # of a curve
CAVEAT = (
    "These widths suffice and may be far larger than necessary: they are proved for the training error averaged over "
    "the iterations, with soft labels from the kernel limit, and no matching lower bounds are known."
)
LABELS = {
    "gamma": "Margin γ",
    "epsilon": "Error ε",
    "n": "Training examples n",
    "delta": "Failure probability δ",
    "c": "Smallest norm c of an input",
    "kappa": "Inverse temperature κ",
    "alpha": "Output scale α",
}
FORM = {"n": ",", "gamma": ".4g", "c": ".4g"}


class BoundsSettings(LinkSettings):
    """The numbers of the theorems, with the defaults of the command line."""

    gamma: float = Field(0.05, ge=1e-9, le=0.5)
    epsilon: float = Field(0.1, ge=1e-9, lt=1)
    n: int = Field(1000, ge=1, le=10**12)
    delta: float = Field(0.05, ge=1e-9, le=0.333)
    c: float = Field(1.0, ge=1e-6, le=1)
    kappa: float = Field(1.0, ge=1e-6, le=1e6)
    alpha: float = Field(1.0, ge=1e-6, le=1e6)

    @property
    def besides_gamma(self) -> dict[str, Any]:
        """What the curves and the crossovers depend on."""
        return self.model_dump(exclude={"gamma"})

    @property
    def command(self) -> str:
        """The command that prints these numbers."""
        changed = self.model_dump(exclude_defaults=True)
        return " ".join(["softlabel", "bounds", *(f"--{name} {value!r}" for name, value in changed.items())])


def _steps(smallest: float, largest: float) -> list[float]:
    """Round numbers, ten in each decade."""
    digits = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    numbers = [float(f"{digit * 10.0**power:.2g}") for power in range(-9, 10) for digit in digits]
    return [number for number in numbers if smallest <= number <= largest]


STEPS: dict[str, Sequence[float]] = {
    "gamma": _steps(1e-4, 0.5),
    "epsilon": _steps(1e-4, 0.8),
    "n": [int(number) for number in _steps(10, 1e7)],
    "delta": _steps(1e-6, 0.3),
    "c": _steps(0.01, 1),
    "kappa": _steps(0.01, 100),
    "alpha": _steps(0.01, 100),
}


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """Sliders, charts and numbers."""
    settings, problems = settings_from(BoundsSettings, query)
    for one in problems:
        remark(one)
    BoundsPage(explorer, settings).build()


class BoundsPage:
    """The page of one visitor; a moved slider changes its charts and its texts in place."""

    def __init__(self, explorer: Explorer, settings: BoundsSettings) -> None:
        self.explorer, self.settings = explorer, settings
        self._compute_curves()

    def build(self) -> None:
        """The answer above, controls on the left, numbers and charts on the right."""
        overview = sl.bounds.overview(**self.settings.model_dump())
        self.lead = text("p", _headline(overview)).classes("lead answer").props("aria-live=polite")
        with ui.element("div").classes("sides"):
            with ui.element("div").classes("controls"):
                self.sliders = ui.element("div").classes("panel controls")
                MarginOfData(self.explorer, self.use).build()
            with ui.element("div"):
                self._build_results(overview)
        self._build_sliders()
        self.link = LinkedSettings(PANEL.path, self.settings)

    def move(self, name: str, value: float) -> None:
        """Change one of the numbers, and redraw."""
        self.settings = self.settings.model_copy(update={name: value})
        if name != "gamma":
            self._compute_curves()
        self.redraw()

    def use(self, numbers: Mapping[str, Any]) -> None:
        """Take over several numbers; they need not be among those of the sliders."""
        known = {name: numbers[name] for name in BoundsSettings.model_fields if name in numbers}
        self.settings = self.settings.model_copy(update=known)
        self._compute_curves()
        self._build_sliders()
        self.redraw()

    def redraw(self) -> None:
        """Show the numbers and the charts of the present settings."""
        self.link.change(self.settings)
        overview = sl.bounds.overview(**self.settings.model_dump())
        show_in(self.lead, _headline(overview))
        for family, chart in bounds_charts(overview, self.gammas, self.curves).items():
            replot(self.plots[family], _compact(chart, self.gammas))
            show_in(self.captions[family], chart.caption)
        table = requirement_table(overview)
        show_in(self.table_title, table.title)
        for shown, row in zip(self.cells, table.cells, strict=True):
            for element, cell in zip(shown, row, strict=True):
                show_in(element, cell.text)
        self.command.clear()
        with self.command:
            command(self.settings.command)

    def _compute_curves(self) -> None:
        smallest = min(STEPS["gamma"][0], self.settings.gamma / 4)
        ratio = (STEPS["gamma"][-1] / smallest) ** (1 / (POINTS - 1))
        self.gammas = [min(smallest * ratio**k, STEPS["gamma"][-1]) for k in range(POINTS)]
        self.curves = sl.bounds.width_curves(self.gammas, **self.settings.besides_gamma)

    def _build_sliders(self) -> None:
        self.sliders.clear()
        with self.sliders:
            for name, label in LABELS.items():
                value = getattr(self.settings, name)
                slider(label, values=sorted({*STEPS[name], value}), value=value, form=FORM.get(name, "g"),
                       on_change=lambda moved, name=name: self.move(name, moved))  # fmt: skip

    def _build_results(self, overview: sl.bounds.Overview) -> None:
        text("p", CAVEAT).classes("muted")
        _legend()
        self.plots, self.captions = {}, {}
        with ui.element("div").classes("two charts"):
            for family, chart in bounds_charts(overview, self.gammas, self.curves).items():
                with ui.element("section"):
                    text("h2", chart.title.capitalize())
                    self.captions[family] = text("p", chart.caption).classes("muted")
                    self.plots[family] = plot(
                        _compact(chart, self.gammas), f"Neurons against the margin γ: {chart.title}", toolbar=False
                    )
        table = requirement_table(overview)
        with ui.element("figure").classes("table-figure"):
            self.table_title = text("figcaption", table.title).classes("table-title")
            with ui.element("div").classes("wide").props('tabindex=0 role=region aria-label="Table"'):
                self.cells = plain_table(table.header, [[cell.text for cell in row] for row in table.cells])
        with ui.element("div") as self.command:
            command(self.settings.command)


def _headline(overview: sl.bounds.Overview) -> str:
    arms = overview.families["tight"]
    return (
        f"{neurons(arms['soft'].width)} neurons suffice with soft labels, {neurons(arms['hard'].width)} with hard "
        f"labels (tight family, γ = {overview.inputs['gamma']:.4g})."
    )


def _legend() -> None:
    with ui.element("div").classes("buttons muted"):
        for arm, name in (("soft", "soft labels"), ("hard", "hard labels, dashed")):
            with ui.element("span"):
                ui.element("span").classes(f"chip {arm}")
                text("span", name)
        text("span", "◆ crossover")
        text("span", "● the chosen γ")


def _compact(chart: Chart, gammas: Sequence[float]) -> dict[str, Any]:
    """The figure without a legend, which stands above all charts; the pointer shows both widths at its γ."""
    figure = plotly_figure(chart)
    ends = [math.log10(gammas[0]), math.log10(gammas[-1]) + 0.1]
    figure["layout"] |= {"margin": {"l": 55, "r": 10, "t": 8, "b": 42}, "height": 288, "showlegend": False,
                         "hovermode": "x"}  # fmt: skip
    figure["layout"]["xaxis"] |= {"hoverformat": ".3g", "range": ends}
    for trace in figure["data"]:
        trace["hovertemplate"] = "%{text}<extra></extra>"
        if len(trace["x"]) == 1:
            shape = {"symbol": "diamond", "size": 12} if trace["mode"] == "markers" else {"size": 9}
            trace["marker"] |= shape | {"line": {"width": 1, "color": "#ffffff"}}
    return figure


PANEL = ExplorerPanel(
    "/bounds",
    "Bounds",
    "How many neurons are proved to suffice with soft labels and with hard labels, and at which margins soft labels "
    "need fewer.",
    build,
)
