"""A question that was asked: how far it is, its answer, and what can be downloaded."""

from functools import partial
from pathlib import Path

from nicegui import ui

from softlabel.app.panels.runs_view import RunView
from softlabel.app.questions import AskedQuestion
from softlabel.app.state import Explorer
from softlabel.app.widgets import command, problem, problems_shown, remark, text
from softlabel.errors import counted, short
from softlabel.printable import printable

EVERY = 0.4  # seconds between two looks
SHOWN_NOTES = 6
STATES = {
    "running": "At work",
    "interrupted": "Interrupted; it can be resumed",
    "failed": "Ended with an error",
    "answered": "Answered",
}
WHAT = {".onnx": "ONNX model", ".safetensors": "weights", ".npz": "NumPy weights", ".py": "Python code"}


class QuestionView:
    """One question on the page of a visitor."""

    def __init__(self, explorer: Explorer, asked: AskedQuestion) -> None:
        self.explorer, self.asked = explorer, asked
        self.shown: tuple[object, ...] = ()
        question = asked.question
        what = "Should a student learn from soft labels?"
        if question.kind == "plan":
            what = f"How small can a student be that reaches {100 * question.accuracy:.6g}%?"
        with ui.element("section").classes("question"):
            text("h2", what)
            teacher = "a teacher that is trained here" if question.teacher is None else f"teacher {question.teacher}"
            label = short(question.label)
            text("p", f"{question.data}, label {label}, student {question.student}, {teacher}").classes("muted")
            self.state = text("p", "").props("role=status")
            self.bar = ui.linear_progress(value=0, show_value=False, size="10px").props("rounded")
            self.bar.props["aria-label"] = "Progress"
            with ui.element("div").classes("buttons"):
                self.cancel_button = ui.button("Cancel", on_click=self._cancel).props("outline")
                self.resume_button = ui.button("Resume", on_click=self._resume)
                self.discard_button = ui.button("Discard", on_click=self._discard).props("outline color=negative")
            self.notes = ui.element("div")
            self.answer = ui.element("div")
            self.repeat = ui.element("div")
        self.look()
        ui.timer(EVERY, self.look)

    def look(self) -> None:
        """Show what has changed since the last look."""
        asked = self.asked
        now = (asked.status, asked.progress, asked.error, tuple(asked.notes))
        if now == self.shown:
            return
        changed = not self.shown or self.shown[0] != asked.status
        self.shown = now
        self.state.set_text(self._progress())
        self.bar.set_value(1.0 if asked.status == "answered" else asked.progress.share if asked.progress else 0.0)
        running, answered = asked.status == "running", asked.status == "answered"
        self.bar.set_visibility(not answered)
        self.cancel_button.set_visibility(running)
        self.resume_button.set_visibility(asked.status in ("interrupted", "failed"))
        self.discard_button.set_visibility(not answered and not running)
        self._show_notes()
        if changed:
            self._show_result()

    def _progress(self) -> str:
        asked = self.asked
        if asked.status != "running":
            return STATES[asked.status]
        progress = asked.progress
        if progress is None:
            return "Reading the table …"
        parts = [f"{progress.stage}: {progress.done} of {counted(progress.bundles, 'part')}"]
        if progress.seconds_left is not None:
            minutes, seconds = divmod(round(progress.seconds_left), 60)
            left = f"{minutes} min" if minutes else f"{seconds} s"
            parts.append(f"{'at most' if progress.at_most else 'about'} {left} left")
        return " · ".join(parts)

    def _show_notes(self) -> None:
        self.notes.clear()
        with self.notes:
            if self.asked.error is not None:
                problem(self.asked.error)
            if self.asked.status != "answered":
                for note in self.asked.notes[-SHOWN_NOTES:]:
                    remark(note[:1].upper() + note[1:])

    def _show_result(self) -> None:
        asked = self.asked
        self.answer.clear()
        self.repeat.clear()
        with self.answer:
            if asked.status == "answered":
                self._show_students(asked.run_dir / "students")
                RunView(self.explorer, asked.run_dir.name)
        with self.repeat:
            if asked.status == "answered":
                return
            command(asked.command, title="The command that answers this, or resumes it")

    def _show_students(self, directory: Path) -> None:
        files = sorted(path for path in directory.glob("*") if path.suffix in WHAT) if directory.is_dir() else []
        if not files:
            return
        text("h3", "Exported students")
        with ui.element("div").classes("buttons"):
            for path in files:
                size = f"{max(1, round(path.stat().st_size / 1000)):,} kB"
                label = f"{path.name} ({WHAT[path.suffix]}, {size})"
                button = ui.button(printable(label), icon="download", on_click=partial(ui.download.file, path))
                button.props("outline dense")

    def _cancel(self) -> None:
        self.explorer.questions.cancel(self.asked)
        self.look()

    def _resume(self) -> None:
        with self.notes, problems_shown():
            self.explorer.questions.start(self.asked)
        self.look()

    def _discard(self) -> None:
        with self.notes, problems_shown():
            self.explorer.questions.discard(self.asked)
            ui.navigate.to("/try")
