"""The questions of all visitors: their files, the processes that answer them, and what is left of earlier ones.

A question has a directory in `.questions` below the directory of runs, with its files and `question.json`, which is
written last. The files are deleted when the question is answered or discarded; until then the command in
`question.json` and the next explorer can go on with the run, however this one ended.
"""

import json
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import ValidationError

import softlabel as sl
from softlabel.app.children import Child, Children
from softlabel.app.work.questions import Question, answer_question
from softlabel.errors import SoftlabelError, require
from softlabel.lab.file_names import file_name
from softlabel.numerics.files import write_text

DIRECTORY, RECORD = ".questions", "question.json"
MOST_NOTES = 50
GRACE = 3600.0  # seconds


@dataclass
class AskedQuestion:
    """A question and how far it is.

    status      "running", "interrupted" (it can go on), "failed" (it can go on, too), "answered"
    directory   its files and its record
    run_dir     the directory of its run
    """

    key: str
    question: Question
    directory: Path
    run_dir: Path
    status: str = "interrupted"
    progress: sl.Progress | None = None
    notes: list[str] = field(default_factory=list)
    error: str | None = None
    child: Child | None = None

    @property
    def data(self) -> Path:
        """The file of the data."""
        return self.directory / stored_name(self.question.data)

    @property
    def teacher(self) -> Path | None:
        """The file of the teacher, if there is one."""
        return None if self.question.teacher is None else self.directory / stored_name(self.question.teacher)

    @property
    def command(self) -> str:
        """The command that goes on with the run, or repeats it."""
        if self.status == "answered":
            return self.question.command(self.question.data, self.question.teacher, str(self.run_dir))
        teacher = None if self.teacher is None else str(self.teacher)
        return self.question.command(str(self.data), teacher, str(self.run_dir))

    def look(self) -> None:
        """Take the messages of the process."""
        if self.child is None:
            return
        for kind, content in self.child.messages():
            if kind == "progress":
                self.progress = content
            elif kind == "note":
                self.notes = [*self.notes, self._by_name(content)][-MOST_NOTES:]
            elif kind == "done":
                self.status = "answered"
                self.delete_files()
            else:
                self.status, self.error = "failed", self._by_name(content or "it was stopped")
        if self.status != "running":
            self.child = None

    def _by_name(self, message: str) -> str:
        """A message with the visitor's names of the files."""
        for path, name in ((self.data, self.question.data), (self.teacher, self.question.teacher)):
            message = message.replace(str(path), str(name))
        return message

    def delete_files(self) -> None:
        """Delete the copies of the files, which nobody needs when the question is answered."""
        for path in (self.data, self.teacher):
            if path is not None:
                path.unlink(missing_ok=True)


class Questions:
    """All questions of one explorer."""

    def __init__(self, runs: Path, children: Children) -> None:
        self._runs, self._children = runs, children
        self._asked = {asked.key: asked for asked in _earlier(runs)}

    def find(self, key: str) -> AskedQuestion | None:
        """The question of this key."""
        return self._asked.get(key)

    @property
    def unfinished(self) -> list[AskedQuestion]:
        """Questions without an answer."""
        return [asked for asked in self._asked.values() if asked.status != "answered"]

    def ask(self, question: Question, data: Path, teacher: Path | None) -> AskedQuestion:
        """Keep copies of the files of a question, and begin to answer it."""
        key = secrets.token_hex(4)
        run_dir = self._runs / f"{question.kind}-{file_name(Path(question.data).stem)}-{key}"
        asked = AskedQuestion(key, question, self._runs / DIRECTORY / key, run_dir)
        record = question.model_dump() | {"run": run_dir.name, "command": asked.command}
        try:
            asked.directory.mkdir(parents=True)
            _copy(data, asked.data)
            if teacher is not None and asked.teacher is not None:
                _copy(teacher, asked.teacher)
            write_text(asked.directory / RECORD, json.dumps(record, indent=1) + "\n")
        except OSError as error:
            shutil.rmtree(asked.directory, ignore_errors=True)
            raise SoftlabelError(f"the question could not be stored in '{self._runs}': {error.strerror}") from error
        self._asked[key] = asked
        self.start(asked)
        return asked

    def start(self, asked: AskedQuestion) -> None:
        """Begin to answer a question, or go on."""
        if asked.status in ("running", "answered") or self._asked.get(asked.key) is not asked:
            return
        _check_free(asked)
        asked.error, asked.progress, asked.notes = None, None, []
        work = (answer_question, asked.question, asked.data, asked.teacher, asked.run_dir)
        try:
            asked.child = self._children.start(*work)
        except OSError as error:
            asked.status, asked.error = "failed", f"no process could be started ({error.strerror}); try again"
        else:
            asked.status = "running"

    def cancel(self, asked: AskedQuestion) -> None:
        """Stop at once; what is finished stays."""
        asked.look()  # it may have been answered just now
        if asked.child is not None:
            asked.child.close()
            asked.child, asked.status = None, "interrupted"

    def discard(self, asked: AskedQuestion) -> None:
        """Stop, and delete the files of the question. Its run stays."""
        self.cancel(asked)
        _check_free(asked)
        shutil.rmtree(asked.directory, ignore_errors=True)
        self._asked.pop(asked.key, None)

    def look(self) -> None:
        """Take the messages of all processes, whether a page shows them or not."""
        for asked in self._asked.values():
            asked.look()


def _check_free(asked: AskedQuestion) -> None:
    """Refuse where another process works on the run: another explorer, or the command."""
    if asked.run_dir.is_dir():
        try:
            status = sl.inspect_run(asked.run_dir).status
        except SoftlabelError:
            return  # nothing was written yet
        require(status != "running", f"another process is answering this question in '{asked.run_dir}'; wait for it")


def _copy(source: Path, target: Path) -> None:
    """Copy a file, without a second one on the disk where that is possible."""
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copyfile(source, target)


def stored_name(name: str) -> str:
    """The name under which a visitor's file is stored: its own without what file systems do not like."""
    path = Path(name)
    return file_name(path.stem) + file_name(f"x{path.suffix.lower()}")[1:]


def _earlier(runs: Path) -> Iterator[AskedQuestion]:
    """The questions of earlier explorers; what is left of an unfinished upload is deleted."""
    root = runs / DIRECTORY
    if not root.is_dir():
        return
    for directory in sorted(root.iterdir()):
        if directory.is_symlink() or not directory.is_dir():
            continue
        try:
            record = json.loads((directory / RECORD).read_text(encoding="utf-8"))
            run_dir = runs / file_name(record.pop("run"))
            record.pop("command")
            asked = AskedQuestion(directory.name, Question.model_validate(record), directory, run_dir)
        except FileNotFoundError:
            _delete_old(directory)
            continue
        except (OSError, ValueError, KeyError, AttributeError, TypeError, ValidationError):
            continue
        if _is_finished(run_dir):  # by the command that the page shows
            with suppress(OSError):  # the directory may be readable only
                asked.delete_files()
        if not asked.data.exists():
            asked.status = "answered"
        yield asked


def _is_finished(run_dir: Path) -> bool:
    try:
        return sl.inspect_run(run_dir).status == "finished"
    except SoftlabelError:
        return False  # nothing was written yet


def _delete_old(directory: Path) -> None:
    """Delete a directory whose question was never complete, unless another explorer may be filling it just now."""
    if time.time() - directory.stat().st_mtime > GRACE:
        shutil.rmtree(directory, ignore_errors=True)
