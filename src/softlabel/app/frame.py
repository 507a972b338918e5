"""What every page has around its panel: head, navigation, light and dark, and the place for messages."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files

from nicegui import ui

from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.widgets import text

SCHEMES = {"System": None, "Light": False, "Dark": True}
SCHEME_KEY = "softlabel-scheme"


HIDDEN_FIGURES = """
<script>
// Plotly refuses to resize a figure that has just been hidden or removed, which is no error of the page
window.addEventListener("unhandledrejection", (event) => {
    if (String(event.reason && event.reason.message).startsWith("Resize must be passed")) event.preventDefault();
});
</script>
"""


def add_style() -> None:
    """The style sheet and the script of all pages, and the look of their controls."""
    for control in (ui.select, ui.input, ui.number):
        control.default_props("outlined dense options-dense")
    ui.button.default_props("no-caps")
    ui.add_css(files("softlabel.app").joinpath("style.css").read_text(encoding="utf-8"), shared=True)
    ui.add_head_html(HIDDEN_FIGURES, shared=True)


@contextmanager
def frame(panel: ExplorerPanel, panels: Sequence[ExplorerPanel]) -> Iterator[None]:
    """The page around a panel."""
    ui.page_title(f"{panel.title} · softlabel")
    ui.colors(primary="#0b62a4", secondary="#59636e", positive="#1a7f37", negative="#b3261e", warning="#9a6700")
    ui.query(".q-page").props("role=presentation")  # the page has a <main> of its own
    with ui.element("header").classes("top"):
        ui.link("softlabel", "/").classes("brand")
        with ui.element("nav").props('aria-label="Panels"').classes("panels"):
            for one in panels:
                link = ui.link(one.title, one.path).classes("nav-link")
                if one is panel:
                    link.classes("here").props("aria-current=page")
        _scheme_choice()
    content = ui.element("main").classes("content")
    ui.skip_link("Skip to the content", target=content)
    with content:
        text("h1", panel.title).classes("title")
        text("p", panel.about).classes("about")
        yield


def _scheme_choice() -> None:
    """Light, dark, or as the system has it; kept in the browser."""
    dark = ui.dark_mode(value=None)

    def choose(name: str) -> None:
        dark.set_value(SCHEMES[name])
        ui.run_javascript(f"localStorage.setItem('{SCHEME_KEY}', '{name}')")

    choice = ui.select(list(SCHEMES), value="System", on_change=lambda event: choose(event.value))
    choice.props('borderless aria-label="Color scheme"', remove="outlined").classes("scheme")

    async def restore() -> None:
        name = await ui.run_javascript(f"localStorage.getItem('{SCHEME_KEY}')", timeout=5)
        if name in SCHEMES and name != choice.value:
            choice.set_value(name)

    ui.timer(0, restore, once=True)
