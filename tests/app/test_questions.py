"""Questions about a visitor's table: files, commands, and what an explorer that ended leaves to the next one."""

import json
import os
import shlex
import time

import numpy as np
import polars
import pytest
from filelock import FileLock
from pydantic import ValidationError
from typer.testing import CliRunner

import softlabel as sl
from softlabel.app.children import Children
from softlabel.app.questions import DIRECTORY, GRACE, RECORD, Questions, stored_name
from softlabel.app.state import UPLOADS, Explorer
from softlabel.app.work.questions import Question, answer_question, look_at_columns, look_at_table
from softlabel.cli.main import app as command_line
from softlabel.errors import InputError, SoftlabelError
from tests.app.panels.test_live import Recorder

QUICK = {"student": "logistic", "seeds": 2}


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, size=300)
    sick = age + rng.normal(0, 10, 300) > 50
    path = tmp_path / "upload.csv"
    polars.DataFrame({"age": age, "<b>city</b>": rng.choice(["Rome", "Bonn"], 300), "sick": sick}).write_csv(path)
    return path


class NoProcess:
    """Stands for the processes of an explorer: nothing is started."""

    def __init__(self):
        self.started = []

    def start(self, work, *arguments):
        self.started.append((work, arguments))
        return Scripted()


class Scripted:
    """A process that says what a test tells it to."""

    def __init__(self):
        self.queue, self.closed = [], False

    def messages(self):
        messages, self.queue = self.queue, []
        return messages

    def close(self):
        self.closed = True


def asked_in(tmp_path, table, **changes):
    questions = Questions(tmp_path / "runs", NoProcess())
    question = Question(**({"kind": "verdict", "data": "my table.csv", "label": "sick", **QUICK} | changes))
    return questions, questions.ask(question, table, None)


def test_a_question_keeps_its_file_until_it_is_answered(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    assert asked.data.read_bytes() == table.read_bytes()
    assert asked.status == "running"
    asked.child.queue = [("note", "a note"), ("progress", "half"), ("done", None)]
    questions.look()
    assert (asked.status, asked.notes, asked.progress, asked.child) == ("answered", ["a note"], "half", None)
    assert not asked.data.exists()
    assert table.exists()
    assert questions.unfinished == []


@pytest.mark.parametrize(("message", "error"), [(("error", "no label"), "no label"), (("lost", "it died"), "it died")])
def test_a_failure_is_told_and_can_be_tried_again(tmp_path, table, message, error):
    questions, asked = asked_in(tmp_path, table)
    asked.child.queue = [message]
    questions.look()
    assert (asked.status, asked.error) == ("failed", error)
    questions.start(asked)
    assert (asked.status, asked.error) == ("running", None)


def test_the_next_explorer_knows_unfinished_and_answered_questions(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    _, done = questions, questions.ask(asked.question, table, None)
    done.child.queue = [("done", None)]
    questions.look()
    later = Questions(tmp_path / "runs", NoProcess())
    assert [one.key for one in later.unfinished] == [asked.key]
    found = later.find(asked.key)
    assert (found.question, found.run_dir, found.status) == (asked.question, asked.run_dir, "interrupted")
    assert later.find(done.key).status == "answered"
    later.start(found)
    assert later.find(asked.key).status == "running"


def test_what_the_command_has_answered_is_answered(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    questions.cancel(asked)
    (half,) = Questions(tmp_path / "runs", NoProcess()).unfinished
    assert half.data.exists()
    program, *arguments = shlex.split(asked.command)
    assert program == "softlabel"
    done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 0, done.output
    later = Questions(tmp_path / "runs", NoProcess())
    assert later.unfinished == []
    assert later.find(asked.key).status == "answered"
    assert not asked.data.exists()
    assert (asked.directory / RECORD).exists()


def test_cancel_and_discard(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    child = asked.child
    questions.cancel(asked)
    assert child.closed
    assert asked.status == "interrupted"
    assert asked.data.exists()
    questions.discard(asked)
    assert not asked.directory.exists()
    assert questions.find(asked.key) is None


def test_a_question_that_was_discarded_elsewhere_does_not_start(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    questions.discard(asked)
    questions.start(asked)
    assert asked.child is None
    assert asked.status == "interrupted"


def test_an_answer_that_has_just_arrived_is_not_canceled(tmp_path, table):
    questions, asked = asked_in(tmp_path, table)
    asked.child.queue = [("done", None)]
    questions.cancel(asked)
    assert asked.status == "answered"


def test_without_a_process_a_question_fails_and_can_be_tried_again(tmp_path, table, monkeypatch):
    questions, asked = asked_in(tmp_path, table)
    questions.cancel(asked)

    def fail(*_):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(questions._children, "start", fail)
    questions.start(asked)
    assert asked.status == "failed"
    assert "Resource temporarily unavailable" in asked.error


def test_what_another_process_works_on_is_left_alone(tmp_path, table, monkeypatch):
    questions, asked = asked_in(tmp_path, table)
    questions.cancel(asked)
    asked.run_dir.mkdir()
    with FileLock(asked.run_dir / ".driver.lock"):
        (asked.run_dir / "settings.toml").write_text("")
        for method in (questions.start, questions.discard):
            with pytest.raises(InputError, match="another process is answering"):
                method(asked)
    assert asked.data.exists()


def test_a_question_that_cannot_be_stored_leaves_nothing(tmp_path, table):
    (tmp_path / "runs").write_text("a file")
    with pytest.raises(SoftlabelError, match="could not be stored"):
        asked_in(tmp_path, table)


def test_an_unfinished_upload_is_deleted_after_a_while(tmp_path):
    old, new = (tmp_path / DIRECTORY / name for name in ("old", "new"))
    for directory in (old, new):
        directory.mkdir(parents=True)
        (directory / "half.csv").write_text("a,b\n1,")
    os.utime(old, (time.time() - 2 * GRACE,) * 2)
    assert Questions(tmp_path, NoProcess()).unfinished == []
    assert not old.exists()
    assert new.exists()


@pytest.mark.parametrize(
    "record", ["", "[]", "{}", '{"run": "x", "command": "y", "kind": "other"}', '{"run": 3, "command": 4}', "\0"]
)
def test_a_damaged_record_is_left_alone(tmp_path, record):
    directory = tmp_path / DIRECTORY / "a"
    directory.mkdir(parents=True)
    (directory / RECORD).write_text(record)
    assert Questions(tmp_path, NoProcess()).unfinished == []
    assert (directory / RECORD).exists()


def test_a_record_does_not_lead_outside_of_the_runs(tmp_path, table):
    _, asked = asked_in(tmp_path, table)
    path = asked.directory / RECORD
    path.write_text(json.dumps(json.loads(path.read_text()) | {"run": "../../outside", "data": "../../etc/passwd"}))
    (found,) = Questions(tmp_path / "runs", NoProcess())._asked.values()
    assert found.run_dir.parent == tmp_path / "runs"
    assert found.data.parent == found.directory


@pytest.mark.parametrize(
    ("name", "stored"),
    [("heart.csv", "heart.csv"), ("../../x.CSV", "x.csv"), ("a b<c>.parquet", "a_b_c.parquet"), (".npz", "npz")],
)
def test_names_of_files(name, stored):
    assert stored_name(name) == stored


def test_the_command_repeats_the_question(tmp_path, table):
    from typer.main import get_command

    for changes in ({}, {"kind": "plan", "accuracy": 0.8}):
        _, asked = asked_in(tmp_path, table, **changes)
        program, verb, *arguments = shlex.split(asked.command)
        assert program == "softlabel"
        chosen = get_command(command_line).commands[verb].make_context(verb, arguments).params
        assert chosen["out"] == asked.run_dir
        assert chosen["label"] == "sick"


@pytest.mark.parametrize("accuracy", [0.9990000000000001, 0.1 + 0.2, 0.123456789, 1e-9])
def test_the_command_has_the_accuracy_of_the_question(tmp_path, table, accuracy):
    _, asked = asked_in(tmp_path, table, kind="plan", accuracy=accuracy)
    words = shlex.split(asked.command)
    assert float(words[words.index("--accuracy") + 1]) == asked.question.accuracy == accuracy


def test_the_answer_is_that_of_the_library(tmp_path, table):
    line = Recorder()
    question = Question(kind="verdict", data="t.csv", label="sick", **QUICK)
    answer_question(line, question, table, None, tmp_path / "run")
    result = sl.verdict(table, label="sick", student="logistic", seeds=2, out=tmp_path / "other")
    assert sl.read_run(tmp_path / "run", rewrite=False).to_dict()["gap"] == result.to_dict()["gap"]
    assert line.of("progress")[-1].share == pytest.approx(1.0)
    assert line.of("note")


def test_a_look_at_a_table_and_its_columns(table):
    line = Recorder()
    look_at_table(line, table)
    look_at_columns(line, table, "sick")
    assert line.of("table") == [sl.preview(table)]
    assert [one["column"] for one in line.of("columns")[0]] == ["age", "<b>city</b>"]
    classes, rows, _ = line.of("classes")[0]
    assert (len(classes), rows) == (2, 300)


@pytest.mark.parametrize("changes", [{"accuracy": 1.0}, {"seeds": 1}, {"student": "forests"}, {"more": 1}])
def test_impossible_questions(changes):
    with pytest.raises(ValidationError):
        Question(**({"kind": "plan", "data": "a.csv", "label": "b"} | changes))


def test_uploads_of_explorers_that_are_gone_are_deleted(tmp_path):
    names = ("999999999", str(os.getpid()), str(os.getppid()))  # an earlier process may have had this one's number
    gone, own, here = (tmp_path / UPLOADS / name for name in names)
    for directory in (gone, own, here):
        directory.mkdir(parents=True)
    explorer = Explorer(tmp_path, Children())
    assert not gone.exists()
    assert not own.exists()
    assert here.exists()
    explorer.uploads.mkdir()
    explorer.close()
    assert not explorer.uploads.exists()
