"""What several panels show: text, charts, tables, commands, links, and what is there instead of a result."""

from collections.abc import Callable, Iterator, Sequence
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


def plot(figure: dict[str, Any], label: str) -> ui.plotly:
    """A Plotly figure; `label` says in words what it shows."""
    shown = ui.plotly(figure | {"config": PLOT_OPTIONS}).classes("plot")
    shown.props["aria-label"] = label
    return shown.props("role=img")


def chart(content: Chart) -> ui.plotly:
    """A chart of a result."""
    from softlabel.report.interactive import plotly_figure

    return plot(plotly_figure(content), f"{content.title}: {content.caption}")


def redraw(shown: ui.plotly, content: Chart) -> None:
    """Show another chart in the place of one."""
    from softlabel.report.interactive import plotly_figure

    shown.props["aria-label"] = f"{content.title}: {content.caption}"
    shown.update_figure(plotly_figure(content) | {"config": PLOT_OPTIONS})


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
) -> None:
    """A table of text, its first column to the left; `small` has a remark in small print for each cell."""
    with ui.element("table").classes("plain"):
        with ui.element("thead"), ui.element("tr"):
            for name in header:
                text("th", name).props("scope=col")
        with ui.element("tbody"):
            for index, row in enumerate(rows):
                with ui.element("tr"):
                    for column, value in enumerate(row):
                        _cell(value, "" if small is None else small[index][column])


def _cell(value: object, remark: str) -> None:
    with ui.element("td"):
        text("span", typeset(printable(value)))
        if remark:
            text("small", typeset(remark))


def command(words: str) -> None:
    """A command line, with a button that copies it."""
    _copied(words, "The command that repeats this", "Copy the command")


def shared_link(path: str, settings: LinkSettings) -> None:
    """Make the address of the page show these settings."""
    query = query_of(settings)
    ui.navigate.history.replace(f"{path}?{query}" if query else path)


def _copied(words: str, title: str, action: str) -> None:
    text("div", title).classes("muted small-title")
    with ui.element("div").classes("command"):
        text("pre", words).props("tabindex=0")
        button = ui.button(icon="content_copy", on_click=lambda: _copy(words)).props(
            f'flat dense aria-label="{action}"'
        )
        button.tooltip(action)


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
