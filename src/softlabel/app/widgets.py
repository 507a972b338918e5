"""What several panels show: text, charts, tables, commands, links, and what is there instead of a result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement

from softlabel.app.links import LinkSettings, query_of
from softlabel.errors import SoftlabelError
from softlabel.printable import printable
from softlabel.report.charts import Chart
from softlabel.report.page import Table, typeset

PLOT_OPTIONS = {"responsive": True, "displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]}


def text(tag: str, content: object) -> TextElement:
    """An HTML element with text, which is shown literally."""
    return TextElement(tag=tag, text=printable(content))


def sentence(content: object) -> TextElement:
    """A paragraph, with real minus signs."""
    return text("p", typeset(printable(content)))


def plot(figure: dict[str, Any], label: str, *, toolbar: bool = True) -> ui.plotly:
    """A Plotly figure; `label` says in words what it shows. Small figures have no toolbar, which would cover them."""
    shown = ui.plotly(figure | {"config": PLOT_OPTIONS | ({} if toolbar else {"displayModeBar": False})})
    shown.classes("plot")
    shown.props["aria-label"] = label
    return shown.props("role=img")


def replot(shown: ui.plotly, figure: dict[str, Any]) -> None:
    """Change a Plotly figure in place."""
    shown.update_figure(figure | {"config": shown.figure["config"]})


def chart(content: Chart) -> ui.plotly:
    """A chart of a result."""
    from softlabel.report.interactive import plotly_figure

    return plot(plotly_figure(content), f"{content.title}: {content.caption}")


def redraw(shown: ui.plotly, content: Chart) -> None:
    """Show another chart in the place of one."""
    from softlabel.report.interactive import plotly_figure

    shown.props["aria-label"] = f"{content.title}: {content.caption}"
    replot(shown, plotly_figure(content))


def table(content: Table) -> None:
    """A table of a result, with its title and how to read it."""
    with ui.element("figure").classes("table-figure"):
        if content.title:
            text("figcaption", typeset(content.title)).classes("table-title")
        with ui.element("div").classes("wide").props('tabindex=0 role=region aria-label="Table"'):
            plain_table(content.header, [[cell.text for cell in row] for row in content.cells],
                        small=[["; ".join(cell.lines) for cell in row] for row in content.cells])  # fmt: skip


def plain_table(
    header: Sequence[object], rows: Sequence[Sequence[object]], *, small: Sequence[Sequence[str]] | None = None
) -> list[list[TextElement]]:
    """A table of text, its first column to the left; `small` has a remark in small print for each cell.

    Returns the texts of the cells row by row, which `show_in` changes.
    """
    cells: list[list[TextElement]] = []
    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in header:
                text("th", name).props("scope=col")
        with ui.element("tbody"):
            for index, row in enumerate(rows):
                remarks = [""] * len(row) if small is None else small[index]
                with ui.element("tr"):
                    cells.append([_cell(value, remark) for value, remark in zip(row, remarks, strict=True)])
    return cells


def _cell(value: object, remark: str) -> TextElement:
    with ui.element("td"):
        shown = text("span", typeset(printable(value)))
        if remark:
            text("small", typeset(remark))
    return shown


def show_in(element: TextElement, content: object) -> None:
    """Change a text in place, with real minus signs; nothing is sent where it stays the same."""
    element.set_text(typeset(printable(content)))


def command(*commands: str, title: str = "") -> None:
    """The command line that repeats what is shown, or several, each with a button that copies it."""
    default = "The command that repeats this" if len(commands) == 1 else "The commands that repeat this"
    text("div", title or default).classes("muted small-title")
    for words in commands:
        _command_line(words)


def shared_link(path: str, settings: LinkSettings) -> None:
    """Make the address of the page show these settings."""
    query = query_of(settings)
    ui.navigate.history.replace(f"{path}?{query}" if query else path)


class LinkedSettings:
    """Settings that the address of the page shows soon after they have changed.

    A browser refuses an address that changes with every movement of a slider.
    """

    def __init__(self, path: str, settings: LinkSettings) -> None:
        self._path, self._shown, self._latest = path, settings, settings
        ui.timer(0.4, self._show)

    def change(self, settings: LinkSettings) -> None:
        """Show these settings at the next occasion."""
        self._latest = settings

    def _show(self) -> None:
        if self._shown != self._latest:
            self._shown = self._latest
            shared_link(self._path, self._latest)


def _command_line(words: str) -> None:
    shown = printable(words)  # what is copied is what can be read
    with ui.element("div").classes("command"):
        *first, last = shown.split(" ")
        with ui.element("pre").props("tabindex=0"):
            for word in [*(f"{word} " for word in first), last]:
                text("span", word)  # lines break between words only, not within "--rows"
        button = ui.button(icon="content_copy", on_click=lambda: _copy(shown))
        button.props('flat dense aria-label="Copy the command"').tooltip("Copy the command")


def _copy(words: str) -> None:
    ui.clipboard.write(words)
    ui.notify("Copied.", type="positive", timeout=1500)


def problem(message: object) -> None:
    """What went wrong, in one sentence."""
    with ui.element("div").classes("problem").props("role=alert"):
        text("span", printable(message))


def remark(message: object) -> None:
    """Something worth knowing."""
    with ui.element("div").classes("remark").props("role=note"):
        text("span", typeset(printable(message)))


def empty(message: str) -> None:
    """What is there while there is nothing to show, and what to do about it."""
    text("div", message).classes("empty").props("role=status")


@contextmanager
def busy(message: str) -> Iterator[None]:
    """What is there while something loads."""
    with ui.element("div").classes("busy").props("role=status aria-live=polite"):
        ui.spinner(size="1.6em")
        text("span", message)
        yield


@contextmanager
def problems_shown() -> Iterator[None]:
    """Show the errors of the library as a sentence in place of a result."""
    try:
        yield
    except SoftlabelError as error:
        problem(error)


def slider(
    label: str,
    *,
    values: Sequence[float],
    value: float,
    on_change: Callable[[float], None],
    form: str | Callable[[float], str] = "g",
) -> ui.slider:
    """A slider over these values, which need not be evenly spaced, with the present one beside its label.

    Arrow keys move it by one value. `on_change` is called with the value, not more often than every 50 ms. `form` is a
    format of numbers, or a function that writes one.
    """
    written = form if callable(form) else lambda number: format(number, form)
    positions = range(len(values))
    start = min(positions, key=lambda k: abs(values[k] - value))
    with ui.element("div").classes("slider"):
        with ui.element("div").classes("slider-head"):
            text("label", label)
            shown = text("output", written(values[start]))

        def moved(position: float | None) -> None:
            number = values[int(position or 0)]
            shown.set_text(written(number))
            element.props(f'aria-valuetext="{written(number)}"')
            on_change(number)

        element = ui.slider(min=0, max=len(values) - 1, step=1, value=start, on_change=lambda event: moved(event.value))
        element.props["aria-label"] = label
        element.props["aria-valuetext"] = written(values[start])
    return element


def choice(
    label: str, options: Mapping[Any, str], value: Any, on_change: Callable[[Any], None], *, filtered: bool = False
) -> ui.select:
    """A list to choose one of; `options` are the names of the values. A filtered one is searched by typing."""
    return ui.select(dict(options), value=value, label=label, with_input=filtered,
                     on_change=lambda event: on_change(event.value))  # fmt: skip
