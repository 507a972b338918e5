"""What the papers claim and what became of it: a table to filter, and what checks each claim."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated

from nicegui import run, ui
from nicegui.elements.mixins.text_element import TextElement
from pydantic import AfterValidator, Field

import softlabel as sl
from softlabel.app.links import LinkSettings, settings_from
from softlabel.app.panels.panel import ExplorerPanel
from softlabel.app.pictures import Picture, study_pictures
from softlabel.app.state import Explorer
from softlabel.app.widgets import busy, command, remark, shared_link, text

TONES = {"holds": "good", "answered": "good", "fails": "bad", "holds partly": "doubtful", "corrected": "doubtful"}


def _known(attribute: str) -> AfterValidator:
    """A value that at least one claim has; empty for all of them."""

    def check(value: str) -> str:
        if value and value not in {getattr(claim, attribute) for claim in sl.claims()}:
            raise ValueError("no claim has it")
        return value

    return AfterValidator(check)


class PapersSettings(LinkSettings):
    """What is filtered, and which claim is open."""

    paper: Annotated[str, _known("paper")] = ""
    verdict: Annotated[str, _known("verdict")] = ""
    text: str = Field("", max_length=100)
    claim: Annotated[str, _known("key")] = ""

    def keeps(self, claim: sl.Claim) -> bool:
        """Whether the filter shows a claim: its paper, its verdict, and every word of the text."""
        content = " ".join((claim.authors, claim.where, claim.says, claim.verdict, claim.comment, *claim.checks))
        return (
            self.paper in ("", claim.paper)
            and self.verdict in ("", claim.verdict)
            and all(word in content.casefold() for word in self.text.casefold().split())
        )


def build(explorer: Explorer, query: Mapping[str, str]) -> None:
    """The filter, and the table of claims."""
    settings, problems = settings_from(PapersSettings, query)
    for one in problems:
        remark(one)
    PapersPage(explorer, settings).build()


class PapersPage:
    """The page of one visitor."""

    def __init__(self, explorer: Explorer, settings: PapersSettings) -> None:
        self.explorer, self.settings = explorer, settings
        self.rows: dict[str, ClaimRow] = {}

    def build(self) -> None:
        """The filter above, the claims below it."""
        with ui.element("div").classes("panel filters").props('role=search aria-label="Filter the claims"'):
            paper = _choice(
                "Paper", "paper", {claim.paper: claim.authors for claim in sl.claims()}, self.settings.paper
            )
            verdict = _choice("Verdict", "verdict", {claim.verdict: claim.verdict for claim in sl.claims()},
                              self.settings.verdict)  # fmt: skip
            words = ui.input("Words", value=self.settings.text).props("clearable debounce=200 maxlength=100")
        paper.on_value_change(lambda event: self.change(paper=event.value))
        verdict.on_value_change(lambda event: self.change(verdict=event.value))
        words.on_value_change(lambda event: self.change(text=(event.value or "")[:100]))

        def clear() -> None:
            for one in (paper, verdict, words):
                one.set_value("")

        with ui.element("div").classes("buttons"):
            self.count = text("p", "").classes("muted").props("role=status")
            self.clearing = ui.button("Show all", on_click=clear).props("flat dense")
        with ui.element("table").classes("plain prose claims"):
            with ui.element("thead"), ui.element("tr"):
                for name in ("Claim", "What the paper says", "Verdict"):
                    text("th", name).props("scope=col")
            for claim in sl.claims():
                self.rows[claim.key] = ClaimRow(self, claim)
        self.change()
        if self.settings.claim:
            opened = self.rows[self.settings.claim]
            opened.open()
            ui.run_javascript(f"getElement({opened.head.id}).scrollIntoView({{block: 'nearest'}})")

    def change(self, **changes: str) -> None:
        """Filter the claims; one that is open stays open while it is shown."""
        self.settings = self.settings.model_copy(update=changes)
        shown = [claim.key for claim in sl.claims() if self.settings.keeps(claim)]
        if self.settings.claim and self.settings.claim not in shown:
            self.choose("")
        for key, row in self.rows.items():
            row.body.set_visibility(key in shown)
        total = len(self.rows)
        self.count.set_text(f"{len(shown)} of {total} claims" if shown else
                            "No claim matches: use fewer words, or show all.")  # fmt: skip
        self.clearing.set_visibility(len(shown) < total)
        shared_link(PANEL.path, self.settings)

    def choose(self, key: str) -> None:
        """Open this claim, and close the one that was open."""
        before = self.settings.claim
        self.settings = self.settings.model_copy(update={"claim": key})
        if before:
            self.rows[before].close()
        if key:
            self.rows[key].open()
        shared_link(PANEL.path, self.settings)


class ClaimRow:
    """A claim: its row, and below it what checks it while the claim is open."""

    def __init__(self, page: PapersPage, claim: sl.Claim) -> None:
        self.page, self.claim = page, claim
        self.details: ui.element | None = None
        with ui.element("tbody") as self.body, ui.element("tr").classes("claim").on("click", self.toggle):
            with ui.element("td"):
                self.head = text("button", claim.where).props("type=button aria-expanded=false").classes("opener")
                text("small", claim.authors if claim.paper == "Open" else f"{claim.paper} et al.")
            with ui.element("td").classes("says"):
                prose(claim.says)
            with ui.element("td"):
                text("span", claim.verdict).classes(TONES.get(claim.verdict, ""))

    def toggle(self) -> None:
        """Open the claim, or close it where it is open."""
        self.page.choose("" if self.details is not None else self.claim.key)

    def close(self) -> None:
        """Remove what is below the row."""
        if self.details is not None:
            self.details.delete()
            self.details = None
        self.head.props("aria-expanded=false")

    def open(self) -> None:
        """Show paper against ours, the checks, the picture and the commands."""
        if self.details is not None:
            return
        self.head.props("aria-expanded=true")
        with self.body, ui.element("tr").classes("details") as self.details, ui.element("td").props("colspan=3"):
            with ui.element("div").classes("two"):
                with ui.element("div").classes("panel"):
                    text("h2", "The papers leave open" if self.claim.paper == "Open" else "The paper says")
                    prose(self.claim.says)
                    text("p", f"{self.claim.authors}: {self.claim.where}").classes("muted")
                with ui.element("div").classes("panel"):
                    text("h2", f"Here: {self.claim.verdict}").classes(TONES.get(self.claim.verdict, ""))
                    prose(self.claim.comment or "As printed.")
            self._checks()
            if self.claim.studies:
                show_pictures(self.claim, self.page.explorer)
            if self.claim.commands:
                command(*self.claim.commands)
            if self.claim.tests:
                text("p", "Tests run in a copy of the source repository.").classes("muted")

    def _checks(self) -> None:
        if not self.claim.checks:
            text("p", "Nothing has checked this yet.").classes("muted")
            return
        text("h3", "Checked by")
        with ui.element("ul").classes("checks"):
            for name in self.claim.studies:
                text("li", f"study {name}")
            for test in self.claim.tests:
                with ui.element("li"):
                    text("code", test)


def prose(content: str) -> None:
    """A paragraph in which the words between backticks are code."""
    with ui.element("p"):
        for index, piece in enumerate(content.split("`")):
            if piece:
                text("code" if index % 2 else "span", piece)


def show_pictures(claim: sl.Claim, explorer: Explorer) -> None:
    """The figures of the claim's studies, which are read in a thread; the first is the one that fits best."""
    with ui.element("div").classes("pictures") as place, busy("Looking for the picture …"):
        pass

    async def load() -> None:
        read = await run.io_bound(_read, claim, explorer)
        if place.is_deleted:
            return
        place.clear()
        with place:
            if read:
                _gallery(read)
            else:
                names = " or ".join(f"softlabel reproduce {name}" for name in claim.studies)
                prose(f"There is no picture yet: `{names}` makes one below “{explorer.runs}”.")

    ui.timer(0, load, once=True)


def _read(claim: sl.Claim, explorer: Explorer) -> list[Picture]:
    return most_fitting([one for name in claim.studies for one in study_pictures(name, explorer.runs)], claim)


def most_fitting(pictures: Sequence[Picture], claim: sl.Claim) -> list[Picture]:
    """The pictures, first that of the figure or table which the claim is about, then those named like their study."""
    subject = re.sub(r"\W", "", claim.where.partition(",")[0]).lower()
    return sorted(pictures, key=lambda one: 0 if one.name == subject else 1 if one.name == one.study else 2)


def _gallery(pictures: Sequence[Picture]) -> None:
    """One picture, and a choice where there are several."""
    names = {index: f"{picture.study}: {picture.name}" for index, picture in enumerate(pictures)}
    if len(pictures) > 1:
        choice = ui.select(names, value=0, label="Picture").classes("picture-choice")
        choice.on_value_change(lambda event: show(pictures[event.value]))
    with ui.element("figure").classes("wide").props("tabindex=0"):
        image = ui.element("img").classes("picture")
        caption: TextElement = text("figcaption", "").classes("muted")

    def show(picture: Picture) -> None:
        image.props["src"] = picture.data
        image.props["alt"] = f"Figure “{picture.name}” of the study {picture.study}"
        published = f"From the published run docs/results/{picture.study}."
        caption.set_text(published if picture.published else f"From the run “{picture.source}”.")

    show(pictures[0])


def _choice(label: str, attribute: str, names: Mapping[str, str], value: str) -> ui.select:
    """A filter with the number of claims for every value."""
    counts = {key: sum(getattr(claim, attribute) == key for claim in sl.claims()) for key in names}
    options = {"": "all"} | {key: f"{name} ({counts[key]})" for key, name in names.items()}
    return ui.select(options, value=value, label=label)


PANEL = ExplorerPanel(
    "/papers",
    "Papers",
    "Every claim of the two papers, what became of it here, and the command that repeats the check.",
    build,
)
