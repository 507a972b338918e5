"""What a visitor asks about a table of their own, and the process that answers."""

import logging
import shlex
import time
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

import softlabel as sl
from softlabel.app.children import Line

Student = Literal["two-layer", "tree", "boosted-trees", "forest", "logistic"]
EVERY = 0.2  # seconds between two messages about progress


class Question(BaseModel):
    """A question about a table: should one distill, or how small can the student be?

    data        name of the file, and `teacher` that of an ONNX file; None: a teacher is trained
    label       the label column
    accuracy    what the student of a plan must reach
    seeds       maximum number of seeds per arm of a verdict
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["verdict", "plan"]
    data: str
    label: str
    teacher: str | None = None
    student: Student = "two-layer"
    accuracy: float = Field(0.9, gt=0, lt=1)
    seeds: int = Field(40, ge=2, le=1000)

    def command(self, data: str, teacher: str | None, out: str) -> str:
        """The command that asks the same of these files in this run directory, and goes on with what is there."""
        words = ["softlabel", self.kind, data, "--label", self.label, "--student", self.student, "--out", out]
        if teacher is not None:
            words += ["--teacher", teacher]
        words += ["--accuracy", repr(self.accuracy)] if self.kind == "plan" else ["--seeds", str(self.seeds)]
        return shlex.join(words)


def answer_question(line: Line, question: Question, data: Path, teacher: Path | None, out: Path) -> None:
    """Ask the library, and send what it logs and how far it is.

    Messages: ("note", a sentence), ("progress", Progress).
    """
    handler = _Notes(line)
    logging.getLogger("softlabel").addHandler(handler)
    command = question.command(question.data, question.teacher, str(out))
    execution = sl.Execution(progress=_Reporter(line), command=command)
    source = "auto" if teacher is None else teacher
    if question.kind == "verdict":
        sl.verdict(data, teacher=source, label=question.label, student=question.student, seeds=question.seeds,
                   out=out, execution=execution)  # fmt: skip
    else:
        sl.plan(data, teacher=source, label=question.label, student=question.student, accuracy=question.accuracy,
                out=out, execution=execution)  # fmt: skip


def look_at_table(line: Line, path: Path) -> None:
    """Send what a table looks like before its label is chosen: ("table", TablePreview)."""
    line.send("table", sl.preview(path))


def look_at_columns(line: Line, path: Path, label: str) -> None:
    """Send what would be done to every column with this label: ("columns", list), and ("classes", names and rows)."""
    problem = sl.load(path, label)
    line.send("columns", problem.treatment)
    line.send("classes", (problem.classes, len(problem), problem.notes))


class _Notes(logging.Handler):
    """Sends what the library logs."""

    def __init__(self, line: Line) -> None:
        super().__init__(logging.INFO)
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line.send("note", record.getMessage().removeprefix("note: "))


class _Reporter:
    """Sends progress, not more often than a page is redrawn."""

    def __init__(self, line: Line) -> None:
        self._line, self._stage, self._last = line, "", 0.0

    def __call__(self, progress: sl.Progress) -> None:
        now = time.monotonic()
        if progress.stage != self._stage or now - self._last > EVERY or progress.done == progress.bundles:
            self._line.send("progress", progress)
            self._stage, self._last = progress.stage, now
