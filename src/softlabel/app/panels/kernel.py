"""Distillation with privileged knowledge in the kernel regime: prediction against simulation of one student."""

import math
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from softlabel.app.links import settings_from
from softlabel.app.panels.kernel_settings import (
    ACTIVATIONS,
    DATA,
    INITS,
    ITERATIONS,
    ROWS,
    STRENGTHS,
    WIDTHS,
    KernelSettings,
)
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import (
    LinkedSettings,
    chart,
    command,
    empty,
    plain_table,
    problem,
    redraw,
    remark,
    sentence,
    slider,
    text,
)
from softlabel.app.work.kernel import KernelView, predict_and_simulate

PATH = "/kernel"
QUIET = 0.15  # seconds without a change before the work begins
REMEMBERED = 40  # results of a tab that are kept
LIMITS = (
    "Both are the mean (y − f)² on the training rows after infinitely many steps. The true limit counts only what the "
    "kernels H_k of the hidden units can reach; the limit that Theorem 1 prints assumes that every H_k has full rank, "
    "and is wrong where one has not: with more rows than inputs, or with units that are silent on some rows."
)


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """The controls, and the results beside them."""
    settings, problems = settings_from(KernelSettings, query)
    for message in problems:
        remark(message)
    with ui.element("div").classes("sides"):
        controls = ui.element("section").classes("controls panel").props('aria-label="Settings"')
        results = ui.element("section").props('aria-label="Results"')
    _KernelTab(explorer, settings, controls, results).run()


class _KernelTab:
    """The panel in one tab: its settings, the work for them, and what is shown."""

    def __init__(self, explorer: Explorer, settings: KernelSettings, controls: ui.element, results: ui.element) -> None:
        self.settings = settings
        self.views: OrderedDict[KernelSettings, KernelView] = OrderedDict()
        self.drawn: KernelSettings | None = None
        self.doing = ""
        with controls:
            self._controls()
            self.repeated = ui.element("div")
        with results:
            with ui.element("div").classes("busy one-line") as self.status:
                self.spinner = ui.spinner(size="1.6em")
                self.state = text("span", "").props("role=status")
                self.elapsed = text("span", "").props("aria-hidden=true")
            self.shown = ui.element("div")
        self.plots: list[ui.plotly] = []
        self.work = TabWork(explorer, self._handle, self._waiting)
        self.link = LinkedSettings(PATH, settings)

    def _controls(self) -> None:
        now = self.settings
        ui.select(DATA, label="Data", value=now.data, on_change=lambda event: self._change(data=event.value))
        slider("λ (privileged knowledge)", values=STRENGTHS, value=now.strength, form=_strength,
               on_change=lambda value: self._change(strength=value))  # fmt: skip
        slider("Width of the student", values=WIDTHS, value=now.width, form=",",
               on_change=lambda value: self._change(width=value))  # fmt: skip
        slider("Training rows", values=ROWS, value=now.rows, form=",",
               on_change=lambda value: self._change(rows=value))  # fmt: skip
        slider("Iterations", values=ITERATIONS, value=now.iterations, form=",",
               on_change=lambda value: self._change(iterations=value))  # fmt: skip
        ui.select(list(ACTIVATIONS), label="Activation", value=now.activation,
                  on_change=lambda event: self._change(activation=event.value))  # fmt: skip
        ui.select(INITS, label="The student starts with", value=now.init,
                  on_change=lambda event: self._change(init=event.value))  # fmt: skip
        rate = ui.number("Learning rate", value=now.learning_rate, min=0,
                         on_change=lambda event: self._change(learning_rate=event.value))  # fmt: skip
        rate.props('clearable step=any hint="Empty: a fifth of 2/λ_max"')
        with ui.element("div").classes("buttons"):
            self.run_button = ui.button("Run", on_click=self.run)
            self.stop_button = ui.button("Stop", on_click=self._stop).props("outline")

    def _change(self, **values: Any) -> None:
        """One control has moved."""
        self.settings = self.settings.model_copy(update=values)
        self.link.change(self.settings)
        self.run(after=QUIET)

    def run(self, after: float = 0.0) -> None:
        """Show the result for the settings, from memory or by a process."""
        self.repeated.clear()
        with self.repeated:
            command(self.settings.command())
        if self.settings in self.views:
            self.work.stop()
            self.views.move_to_end(self.settings)
            self._show(self.views[self.settings])
            self._idle(self.views[self.settings].headline)
        else:
            self.doing = "starting"
            self.work.request(predict_and_simulate, *self.settings.arguments(), after=after)
            self._busy()

    def _stop(self) -> None:
        self.work.stop()
        if self.drawn == self.settings:
            self._idle("Stopped before the simulation ended. Press Run to start again.")
        elif self.plots:
            self._idle("Stopped. The charts are those of earlier settings. Press Run to start again.")
            self.shown.classes(add="stale")
        else:
            self._idle("Stopped.")
            self.shown.clear()
            with self.shown:
                empty("Nothing was computed yet. Press Run.")
        self.run_button.enable()

    def _busy(self) -> None:
        self.run_button.disable()
        self.stop_button.enable()
        self.spinner.set_visibility(True)
        self.status.set_visibility(True)
        self.state.classes(remove="headline")
        self.shown.classes(add="stale").props("aria-busy=true")

    def _idle(self, message: str) -> None:
        self.run_button.disable()
        self.stop_button.disable()
        self.spinner.set_visibility(False)
        self.state.set_text(message)
        self.state.classes(add="headline")
        self.elapsed.set_text("")
        self.status.set_visibility(bool(message))
        self.shown.classes(remove="stale").props(remove="aria-busy")

    def _waiting(self, seconds: float) -> None:
        self.state.set_text(f"{self.doing[:1].upper()}{self.doing[1:]}")
        self.elapsed.set_text(f"{seconds:.1f} s")

    def _handle(self, kind: str, content: Any) -> None:
        """A message of the process."""
        if kind == "progress":
            self.doing = content
        elif kind == "view":
            self._show(content)
            self.shown.classes(remove="stale")
            if content.headline:
                self.views[self.settings] = content
                while len(self.views) > REMEMBERED:
                    self.views.popitem(last=False)
        elif kind == "done":
            self._idle(self.views[self.settings].headline)
        else:
            self._fail(content)

    def _fail(self, message: object) -> None:
        self._idle("")
        self.run_button.enable()
        self.plots, self.drawn = [], None
        self.shown.clear()
        with self.shown:
            problem(message)

    def _show(self, view: KernelView) -> None:
        """Draw a view of the present settings; charts that are there already get their new values."""
        self.drawn = self.settings
        if not self.plots:
            self.shown.clear()
            with self.shown:
                self.plots.append(chart(view.chart))
                captions = [sentence("").classes("muted")]
                self.limits = ui.element("div")
                text("h2", "Poles")
                self.plots.append(chart(view.poles))
                self.captions = [*captions, sentence("").classes("muted")]
                self.numbers = ui.element("div")
        else:
            redraw(self.plots[0], view.chart)
            redraw(self.plots[1], view.poles)
        for place, content in zip(self.captions, (view.chart, view.poles), strict=True):
            place.set_text(content.caption)
        for place, fill in ((self.limits, _limits), (self.numbers, _tables)):
            place.clear()
            with place:
                fill(view)


def _limits(view: KernelView) -> None:
    """The true and the printed limit, and when they differ."""
    text("h2", "Where training ends")
    if view.limits is None:
        sentence("The limits are too expensive to compute for this problem.")
        return
    true, printed = view.limits
    sentence(f"True limit: {true:.4g}. Printed limit: {printed:.4g}.").classes("lead limits")
    sentence(LIMITS)
    for _, state, meaning in view.assumptions[:1]:
        sentence(f"Here the condition of full rank {state}: {meaning}.").classes("limits-here")


def _tables(view: KernelView) -> None:
    text("h2", "Key numbers")
    with ui.element("div").classes("wide").props('tabindex=0 role=region aria-label="Key numbers"'):
        plain_table(("Quantity", "Value"), view.numbers)
    text("h2", "Assumptions of the theorems")
    with ui.element("div").classes("wide prose assumptions").props('tabindex=0 role=region aria-label="Assumptions"'):
        plain_table(("Assumption", "State", "Meaning"), view.assumptions)


def _strength(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:g}"


PANEL = ExplorerPanel(
    PATH,
    "Kernel regime",
    "How a wide student learns from labels and from what a teacher's units know: what linear theory predicts, and what "
    "gradient descent does.",
    build,
)
