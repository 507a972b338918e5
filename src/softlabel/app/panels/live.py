"""The panel of live training: a student with hard and one with soft labels, side by side, while they are trained."""

import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from softlabel.app.links import query_of, settings_from
from softlabel.app.panels.live_charts import curve_panels, plane_figure
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import (
    LinkedSettings,
    chart,
    choice,
    command,
    empty,
    plot,
    problem,
    redraw,
    remark,
    replot,
    sentence,
    slider,
    text,
)
from softlabel.app.work.live import LiveFrame, LiveStart, train_live
from softlabel.app.work.live_settings import ARM_NAMES, LENGTHS, LiveSettings
from softlabel.report.charts import Chart, Panel

REDRAW = 0.25  # seconds between two looks at a training
SLOWEST = 20.0  # seconds in which a browser draws
WIDTHS = (2, 4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512)
RADII = (0.0, 0.5, 1.0, 2.0, 5.0, 10.0, 12.5, 25.0, 50.0, 100.0, 200.0)
TEMPERATURES = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
LEARNING_RATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
EPOCHS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
BATCHES = {0: "all rows", 16: "16", 64: "64", 128: "128", 512: "512"}
STUDENTS = {"both": "hard and soft labels", "hard": "hard labels", "soft": "soft labels"}
LEGEND = (
    "Points: training rows, {0} as circles and {1} as crosses. Background: the class that the student predicts, the "
    "thick line its decision boundary. Lines from the center: the weights of the neurons, gray before training; a "
    "filled end votes for {1}."
)
DATA_NAMES = {"circles": "circles (plane)", "moons": "moons (plane)", "xor": "xor (plane)",
              "digits": "digits (0–4 or 5–9)", "mnist": "MNIST (0–4 or 5–9)"}  # fmt: skip
RECORDS = (("loss", "training loss", ".4f"), ("error", "training error", ".1%"), ("test error", "test error", ".1%"),
           ("displacement", "farthest neuron, share of the ball", ".3f"), ("flipped", "flipped activations", ".1%"),
           ("dead", "neurons active on no example", ".0%"))  # fmt: skip


class LiveTraining:
    """The panel of one visitor: the settings, the training, and what is shown of it."""

    def __init__(self, explorer: Explorer, settings: LiveSettings) -> None:
        self.settings = settings
        self.shown = settings  # what the training that is shown was started with
        self.start: LiveStart | None = None
        self.frames: list[LiveFrame] = []
        self.drawn = 0  # frames that are shown
        self.free = 0.0  # when the browser is free to draw again
        self.state = "idle"
        self.view: LiveView | None = None
        self._build()
        self.work = TabWork(explorer, self._receive)
        self.link = LinkedSettings(PATH, settings)
        ui.timer(REDRAW, self._draw_when_free)

    def _build(self) -> None:
        with ui.element("div").classes("sides"):
            with ui.element("div").classes("panel controls"):
                self._controls()
            with ui.element("div"):
                with ui.element("div").classes("buttons"):
                    self.start_button = ui.button("Start", on_click=self.begin)
                    self.pause_button = ui.button("Pause", on_click=self.pause).props("outline")
                    self.stop_button = ui.button("Stop", on_click=self.stop).props("outline")
                    self.status = text("span", "").props("role=status aria-live=polite")
                    self.step = text("span", "").classes("muted")
                self.bar = ui.linear_progress(value=0, show_value=False).props('aria-label="Progress" rounded')
                self.result = ui.element("div")
        self.repeat = ui.element("div")
        self._show_repeat()
        self._show_state("idle", "Press Start to train.")

    def _controls(self) -> None:
        settings = self.settings
        self._choice("data", "Data", DATA_NAMES)
        self._choice("labels", "Students", STUDENTS)
        self._slider("width", "Hidden neurons", WIDTHS)
        self._slider("radius", "Radius B of the ball (0: no ball)", RADII)
        self._slider("temperature", "Temperature of the soft labels", TEMPERATURES)
        self._slider("learning_rate", "Learning rate", LEARNING_RATES)
        self._slider("epochs", "Epochs", EPOCHS)
        self._choice("batch_size", "Batch size", {settings.batch_size: f"{settings.batch_size}"} | BATCHES)
        ui.number(
            "Seed", value=settings.seed, min=0, max=10_000, precision=0, format="%d",
            on_change=lambda event: self.change("seed", min(10_000, max(0, int(event.value or 0)))),
        )  # fmt: skip

    def _choice(self, name: str, label: str, options: Mapping[Any, str]) -> None:
        choice(label, options, getattr(self.settings, name), lambda value: self.change(name, value))

    def _slider(self, name: str, label: str, values: Sequence[float]) -> None:
        own = getattr(self.settings, name)
        slider(
            label,
            values=sorted({*values, own}),
            value=own,
            on_change=lambda value: self.change(name, type(own)(value)),
        )

    def change(self, name: str, value: Any) -> None:
        """Another setting, for the next training; other data have lengths of their own."""
        self.settings = self.settings.model_copy(update={name: value})
        if name == "data":
            epochs, batch_size = LENGTHS[value]
            self.settings = self.settings.model_copy(update={"epochs": epochs, "batch_size": batch_size})
            ui.navigate.to(f"{PATH}?{query_of(self.settings)}")
            return
        self.link.change(self.settings)
        self._show_repeat()

    def _show_repeat(self) -> None:
        self.repeat.clear()
        with self.repeat:
            command(*self.settings.commands().values(), title="The commands that train with these settings")

    def begin(self) -> None:
        """Start a training with the present settings, in place of the one that is shown."""
        self.shown, self.start, self.frames, self.view = self.settings, None, [], None
        self.drawn = 0
        self._show_state("busy", "Starting …")
        self.work.request(train_live, self.settings)

    def pause(self) -> None:
        """Pause the training, or go on."""
        if self.state == "paused":
            self.work.say("resume")
            self._show_state("training", "Training")
        else:
            self.work.say("pause")
            self.draw()
            self._show_state("paused", "Paused")

    def stop(self) -> None:
        """End the training; what it has sent stays, and is shown now, so that nothing moves afterwards."""
        self.work.stop()
        self.draw()
        self._show_state("stopped", "Stopped")

    def _receive(self, kind: str, content: Any) -> None:
        """Take a message of the training."""
        if kind == "busy":
            self._show_state("busy", content)
        elif kind == "start":
            self.start = content
            self._show_state("training", "Training")
        elif kind == "frame":
            self.frames.append(content)
        elif kind == "done":
            self.draw()
            self._show_state("finished", "Finished")
        else:
            self._show_state("failed", "The training ended with an error")
            if self.view is None:
                self.result.clear()
            with self.result:
                problem(content)

    def draw(self) -> None:
        """Show the frames that have arrived since the last look."""
        if len(self.frames) > self.drawn:
            self.drawn = len(self.frames)
            self._show_frames()

    async def _draw_when_free(self) -> None:
        """Show the latest frames, but leave a browser that draws slowly twice as much time as it took.

        Otherwise drawings queue up in the browser until it no longer answers, and the connection is given up.
        """
        free = self.state == "paused" or time.monotonic() >= self.free
        if len(self.frames) > self.drawn and free:
            began = time.monotonic()
            self.draw()
            with contextlib.suppress(TimeoutError):
                await ui.run_javascript("true", timeout=SLOWEST)
            now = time.monotonic()
            self.free = now + 2 * (now - began)

    def _show_state(self, state: str, words: str) -> None:
        self.state = state
        self.status.set_text(words)
        working = state in ("busy", "training", "paused")
        self.start_button.set_text("Start" if state == "idle" else "Restart")
        self.pause_button.set_text("Resume" if state == "paused" else "Pause")
        self.pause_button.set_enabled(state in ("training", "paused"))
        self.stop_button.set_enabled(working)
        if state == "busy" and self.view is None:
            self.step.set_text("")
            self.bar.set_value(0)
            self.result.clear()
            with self.result:
                empty("The curves appear as soon as the training begins.")

    def _show_frames(self) -> None:
        assert self.start is not None
        now = self.frames[-1]
        self.step.set_text(f"step {now.step:,} of {self.start.steps:,}")
        self.bar.set_value(now.step / self.start.steps)
        if self.view is None:
            self.result.clear()
            with self.result:
                self.view = LiveView(self.shown, self.start, self.frames[0])
        self.view.show(self.frames)


class LiveView:
    """The figures and the numbers of one training."""

    def __init__(self, settings: LiveSettings, start: LiveStart, first: LiveFrame) -> None:
        self.settings, self.start, self.first = settings, start, first
        sentence(_about(start)).classes("muted")
        self.planes = {}
        if settings.planar:
            with ui.element("div").classes("two"):
                for arm in settings.arms:
                    with ui.element("div"):
                        _arm_title(arm)
                        shown = f"Decision boundary and neurons of the student with {ARM_NAMES[arm]}"
                        self.planes[arm] = plot(plane_figure(arm, start, first, first), shown)
            sentence(LEGEND.format(*start.classes)).classes("muted")
        with ui.element("div").classes("wide"), ui.element("table").classes("plain"):
            self.cells = self._table()
        with ui.element("div").classes("two"):
            self.curves = [chart(self._curve(panel)) for panel in curve_panels(settings, [first])]

    def _curve(self, panel: Panel) -> Chart:
        return Chart(panel.title, "", panel.title, [panel], row_height=190)

    def _table(self) -> dict[tuple[str, str], TextElement]:
        cells = {}
        with ui.element("thead"), ui.element("tr"):
            text("th", "").props("scope=col")
            for arm in self.settings.arms:
                with ui.element("th").props("scope=col"):
                    _arm_title(arm)
        with ui.element("tbody"):
            for name, title, _ in RECORDS:
                with ui.element("tr"):
                    text("td", title if self.settings.radius or name != "displacement" else "displacement · √width")
                    for arm in self.settings.arms:
                        cells[arm, name] = text("td", "")
        return cells

    def show(self, frames: Sequence[LiveFrame]) -> None:
        """Show the training up to the last of these frames."""
        now = frames[-1]
        for arm, shown in self.planes.items():
            replot(shown, plane_figure(arm, self.start, self.first, now))
        for shown, panel in zip(self.curves, curve_panels(self.settings, frames), strict=True):
            redraw(shown, self._curve(panel))
        for (arm, name), cell in self.cells.items():
            form = next(form for one, _, form in RECORDS if one == name)
            cell.set_text(format(now.values[arm][name], form))


def _arm_title(arm: str) -> None:
    with ui.element("div").classes("arm-title"):
        ui.element("span").classes(f"chip {arm}")
        text("span", ARM_NAMES[arm])


def _about(start: LiveStart) -> str:
    if start.teacher_error is None:
        return f"{start.description}."
    teacher = f"The teacher, a network of 512 neurons, misclassifies {start.teacher_error:.1%} of the test rows."
    return f"{start.description}. {teacher}"


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """The panel with the settings of the address."""
    settings, problems = settings_from(LiveSettings, query)
    for one in problems:
        remark(one)
    LiveTraining(explorer, settings)


PATH = "/live"
PANEL = ExplorerPanel(
    PATH,
    "Live training",
    "Watch a student learn from hard labels beside one that learns from a teacher's soft labels.",
    build,
)
