"""A table is dropped, looked at, and asked about."""

import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.elements.upload_files import FileUpload
from nicegui.events import UploadEventArguments
from pydantic import ValidationError

from softlabel import ColumnPreview, TablePreview
from softlabel.app.questions import AskedQuestion, stored_name
from softlabel.app.server import LARGEST_UPLOAD
from softlabel.app.state import Explorer
from softlabel.app.tab_work import TabWork
from softlabel.app.widgets import busy, choice, plain_table, problem, problems_shown, remark, text
from softlabel.app.work.questions import Question, look_at_columns, look_at_table
from softlabel.errors import SoftlabelError, counted, few, require, short
from softlabel.printable import printable

SUFFIXES = (".csv", ".tsv", ".parquet", ".npz", ".npy")
MOST_COLUMNS = 60  # that are shown
MOST_CHOICES = 1_000  # columns in the list of labels; the others are chosen by name
LONGEST_NAME = 60  # characters of a column's name that are shown
DIGITS = 9  # of the accuracy, so that 99.9% is 0.999
KINDS = {"verdict": "Should I distill?", "plan": "How small can the student be?"}
FAMILIES = {
    "two-layer": "two-layer network",
    "tree": "decision tree",
    "boosted-trees": "boosted trees",
    "forest": "random forest",
    "logistic": "logistic regression",
}
TEACHERS = {"auto": "trained here (automatic)", "onnx": "an ONNX file"}


class UploadedFile:
    """The file that a visitor has dropped in one place; a newer one replaces it.

    path    where it is stored, and `name` what the visitor calls it; None while there is none
    """

    def __init__(self, directory: Path) -> None:
        self._directory, self._number = directory, 0
        self.path: Path | None = None
        self.name = ""

    def delete(self) -> None:
        """Delete the file, and that which is being received."""
        self._number += 1
        self.path, self.name = None, ""
        shutil.rmtree(self._directory, ignore_errors=True)

    async def store(self, file: FileUpload) -> bool:
        """Store a file in the place of the former one; False where it was replaced or deleted meanwhile."""
        self.delete()
        number = self._number
        path = self._directory / str(number) / stored_name(file.name)
        try:
            await file.save(path)
        except OSError as error:
            if number == self._number:
                raise SoftlabelError(f"“{short(file.name)}” could not be stored: {error.strerror}") from error
        if number != self._number:
            shutil.rmtree(path.parent, ignore_errors=True)
            return False
        self.path, self.name = path, file.name
        return True


class QuestionForm:
    """The form of one visitor; its uploads are deleted with the tab.

    on_asked    called with the question when it is asked
    """

    def __init__(self, explorer: Explorer, on_asked: Callable[[AskedQuestion], None]) -> None:
        self.explorer, self.on_asked = explorer, on_asked
        self.directory = explorer.uploads / secrets.token_hex(8)
        self.data = UploadedFile(self.directory / "data")
        self.teacher = UploadedFile(self.directory / "teacher")
        self.table: TablePreview | None = None
        self.table_work = TabWork(explorer, self._show_table)
        self.column_work = TabWork(explorer, self._show_columns)
        ui.context.client.on_delete(self._delete)
        with ui.element("div").classes("panel"):
            text("h2", "1. Your table").classes("first-title")
            _dropping("Drop a CSV, TSV, Parquet, NPZ or NPY file here", SUFFIXES, self._take_data)
            self.error = ui.element("div")
        self.looks = ui.element("div")
        self.form = ui.element("div")

    def _delete(self) -> None:
        self.data.delete()
        self.teacher.delete()
        shutil.rmtree(self.directory, ignore_errors=True)

    async def _take_data(self, event: UploadEventArguments) -> None:
        """Look at a dropped table; nothing of an earlier one, its teacher included, is left."""
        self.table_work.stop()
        self.column_work.stop()
        self.table = None
        self.data.delete()
        self.teacher.delete()
        for place in (self.looks, self.form, self.error):
            place.clear()
        with self.error, problems_shown():
            name = event.file.name
            require(Path(name).suffix.lower() in SUFFIXES,
                    f"“{short(name)}” is not a table: drop a file that ends in {few(SUFFIXES, 9)}")  # fmt: skip
            if await self.data.store(event.file):
                self._look_at_table()

    def _look_at_table(self) -> None:
        with self.looks, busy("Looking at the table …"):
            pass
        self.table_work.request(look_at_table, self.data.path)

    def _show_table(self, kind: str, content: Any) -> None:
        if kind == "table":
            self.table = content
            self.looks.clear()
            self.form.clear()
            with self.looks:
                self._columns_table([_seen(column) for column in content.columns[:MOST_COLUMNS]])
                _first_rows(content)
            with self.form:
                self._build_form()
        elif kind in ("error", "lost"):
            self.looks.clear()
            with self.looks:
                problem(self._by_name(content))

    def _columns_table(self, rows: list[list[str]]) -> None:
        assert self.table is not None
        table = self.table
        text("h2", f"{self.data.name}: {counted(table.rows, 'row')}, {counted(len(table.columns), 'column')}")
        with ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="Columns"'):
            plain_table(["column", "what will be done with it", "examples", "missing", "distinct"], rows)
        if len(table.columns) > MOST_COLUMNS:
            text("p", f"The first {MOST_COLUMNS} of {len(table.columns):,} columns.").classes("muted")

    def _build_form(self) -> None:
        assert self.table is not None
        names = [column.name for column in self.table.columns]
        first = [*self.table.label_candidates, *(name for name in names if name not in self.table.label_candidates)]
        with ui.element("div").classes("panel controls question-form"):
            text("h2", "2. Your question").classes("first-title")
            self.names = dict(enumerate(first))
            self.labels = {number: _shown_name(name) for number, name in enumerate(first[:MOST_CHOICES])}
            self.label = choice("Label column", self.labels, 0, lambda _: self._look_at_columns(),
                                filtered=len(first) > MOST_COLUMNS)  # fmt: skip
            if len(first) > MOST_CHOICES:
                self.label_name = ui.input(f"Or the name of any of the {len(first):,} columns")
                for event in ("blur", "keydown.enter"):
                    self.label_name.on(event, self._choose_by_name)
                self.no_label = ui.element("div")
            self.classes = ui.element("div")
            self.kind = ui.radio(KINDS, value="verdict", on_change=lambda _: self._show_fields()).props("inline")
            self.kind.props["aria-label"] = "Question"
            self.accuracy = ui.number("Test accuracy to reach, %", value=90, min=1, max=99.9, step=0.5,
                                      on_change=self._allow)  # fmt: skip
            self.seeds = ui.number("Maximum number of seeds", value=40, min=2, max=1000, precision=0,
                                   on_change=self._allow)  # fmt: skip
            self.student = choice("Student", FAMILIES, "two-layer", lambda _: self._allow())
            self.source = choice("Teacher", TEACHERS, "auto", lambda _: self._show_fields())
            with ui.element("div") as self.teacher_place:
                _dropping("Drop an ONNX file here", (".onnx",), self._take_teacher)
                self.teacher_shown = text("div", "").classes("muted")
            self.refused = ui.element("div")
            with ui.element("div").classes("buttons"):
                self.button = ui.button("Ask", on_click=self._ask)
        self._show_fields()
        self._look_at_columns()

    def _allow(self) -> None:
        """Allow to ask what has not been asked yet."""
        self.button.enable()

    def _show_fields(self) -> None:
        self._allow()
        self.accuracy.set_visibility(self.kind.value == "plan")
        self.seeds.set_visibility(self.kind.value == "verdict")
        self.teacher_place.set_visibility(self.source.value == "onnx")

    def _choose_by_name(self) -> None:
        """Choose a label that the list does not contain, and add it to the list."""
        name = self.label_name.value
        self.no_label.clear()
        if not name:
            return
        number = next((number for number, other in self.names.items() if other == name), None)
        if number is None:
            with self.no_label:
                problem(f"The table has no column “{_shown_name(name)}”.")
            return
        self.label_name.set_value("")
        self.labels[number] = _shown_name(name)
        self.label.set_options(dict(self.labels), value=number)

    def _look_at_columns(self) -> None:
        self._allow()
        self.classes.clear()
        with self.classes, busy("Looking at the columns …"):
            pass
        self.column_work.request(look_at_columns, self.data.path, self.names[self.label.value])

    def _show_columns(self, kind: str, content: Any) -> None:
        if kind == "columns":
            assert self.table is not None
            done = {one["column"]: one["done"] for one in content}
            label = self.names[self.label.value]
            rows = [
                [
                    _shown_name(column.name),
                    "label" if column.name == label else done.get(column.name, column.kind),
                    *_seen(column)[2:],
                ]
                for column in self.table.columns[:MOST_COLUMNS]
            ]
            self.looks.clear()
            with self.looks:
                self._columns_table(rows)
                _first_rows(self.table)
        elif kind == "classes":
            classes, rows, notes = content
            self.classes.clear()
            with self.classes:
                text("p", f"{len(classes)} classes: {few(classes, 8)}; {counted(rows, 'row')} with a label.")
                for note in notes:
                    remark(note)
        elif kind in ("error", "lost"):
            self.classes.clear()
            with self.classes:
                problem(self._by_name(content))

    def _by_name(self, message: str) -> str:
        """A message with the visitor's name of the file."""
        return message.replace(str(self.data.path), self.data.name)

    async def _take_teacher(self, event: UploadEventArguments) -> None:
        self.refused.clear()
        with self.refused, problems_shown():
            require(event.file.name.lower().endswith(".onnx"), f"“{event.file.name}” is not an ONNX file")
            self.teacher_shown.set_text("")
            if await self.teacher.store(event.file):
                self.teacher_shown.set_text(f"Teacher: {self.teacher.name}")
                self._allow()

    def _ask(self) -> None:
        self.refused.clear()
        onnx = self.source.value == "onnx"
        with self.refused:
            if onnx and self.teacher.path is None:
                problem("Drop the teacher's ONNX file first, or choose a teacher that is trained here.")
                return
            try:
                question = Question(
                    kind=self.kind.value, data=self.data.name, label=self.names[self.label.value],
                    teacher=self.teacher.name if onnx else None, student=self.student.value,
                    accuracy=round((self.accuracy.value or 0) / 100, DIGITS), seeds=int(self.seeds.value or 0),
                )  # fmt: skip
            except ValidationError:
                problem("The accuracy must lie between 0 and 100%, and the number of seeds between 2 and 1,000.")
                return
            assert self.data.path is not None
            with problems_shown():
                asked = self.explorer.questions.ask(question, self.data.path, self.teacher.path if onnx else None)
                self.button.disable()  # until the question is another one
                self.on_asked(asked)


def _dropping(label: str, suffixes: tuple[str, ...], on_upload: Any) -> None:
    """A place to drop one file."""
    megabytes = LARGEST_UPLOAD // 2**20
    place = ui.upload(
        label=f"{label} (at most {megabytes} MB), or press +", auto_upload=True, max_files=None,
        max_file_size=LARGEST_UPLOAD, on_upload=on_upload,
        on_rejected=lambda _: ui.notify(f"The file was refused: it must have at most {megabytes} MB and end in "
                                        f"{few(suffixes, 9)}.", type="negative"),
    )  # fmt: skip
    place.props(f'flat bordered hide-upload-btn accept="{",".join(suffixes)}"').classes("drop")
    # a file that is in the list of the uploader could not be dropped again
    place.on("uploaded", lambda: place.run_method("removeUploadedFiles"), args=[])


def _shown_name(name: str) -> str:
    """The name of a column, shortened."""
    return short(printable(name), LONGEST_NAME)


def _seen(column: ColumnPreview) -> list[str]:
    """A column as the preview sees it."""
    done = "left out: " + column.reason if column.kind == "dropped" else f"{column.kind}: {column.reason}"
    return [_shown_name(column.name), done, ", ".join(column.examples), f"{column.missing:,}", f"{column.distinct:,}"]


def _first_rows(table: TablePreview) -> None:
    with ui.element("details").classes("fold"):
        text("summary", "The first rows")
        with ui.element("div").classes("wide prose-table").props('tabindex=0 role=region aria-label="First rows"'):
            names = [_shown_name(column.name) for column in table.columns[:MOST_COLUMNS]]
            plain_table(names, [row[:MOST_COLUMNS] for row in table.head])
