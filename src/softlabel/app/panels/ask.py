"""The panel for a visitor's own table: should one distill, and how small can the student be?"""

from collections.abc import Mapping

from nicegui import ui

from softlabel.app.panels.ask_answer import QuestionView
from softlabel.app.panels.ask_form import QuestionForm
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.questions import AskedQuestion
from softlabel.app.state import Explorer
from softlabel.app.widgets import remark, text

PATH = "/try"


class AskPanel:
    """The panel of one visitor: the form, the question that is shown, and those that earlier visits left."""

    def __init__(self, explorer: Explorer, key: str | None) -> None:
        self.explorer = explorer
        asked = None if key is None else explorer.questions.find(key)
        if key is not None and asked is None:
            remark("The question in the address is not known here: it was discarded, or asked elsewhere.")
        if asked is None:
            self.form = QuestionForm(explorer, self.show)
        self.place = ui.element("div")
        if asked is not None:
            self.show(asked)
            ui.link("Ask another question", PATH).classes("another")
        self._show_earlier(asked)

    def show(self, asked: AskedQuestion) -> None:
        """Show a question and its answer; a reload of the page finds it again."""
        ui.navigate.history.replace(f"{PATH}?question={asked.key}")
        self.place.clear()
        with self.place:
            QuestionView(self.explorer, asked)
        ui.run_javascript(f"getHtmlElement({self.place.id}).scrollIntoView({{behavior: 'smooth'}})")

    def _show_earlier(self, shown: AskedQuestion | None) -> None:
        others = [asked for asked in self.explorer.questions.unfinished if asked is not shown]
        if not others:
            return
        text("h2", "Questions without an answer")
        with ui.element("ul"):
            for asked in others:
                with ui.element("li"):
                    ui.link(title_of(asked), f"{PATH}?question={asked.key}")
                    text("span", f" · {asked.status}").classes("muted")


def title_of(asked: AskedQuestion) -> str:
    """A question in a few words."""
    what = "should one distill?" if asked.question.kind == "verdict" else "how small can the student be?"
    return f"{asked.question.data}: {what}"


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """The panel with the question of the address."""
    AskPanel(explorer, query.get("question"))


PANEL = ExplorerPanel(
    PATH,
    "Try your own",
    "Drop a table, choose its label, and ask: should a student learn from a teacher's soft labels, and how small can "
    "it be?",
    build,
)
