"""The form of the panel for a visitor's own table, without a browser: what remains of an earlier table, and asking."""

import asyncio
from types import SimpleNamespace

import polars
import pytest
from nicegui import Client, ui

import softlabel as sl
from softlabel.app.panels import ask_form
from softlabel.app.panels.ask_form import MOST_CHOICES, QuestionForm
from softlabel.errors import SoftlabelError


class NoWork:
    """Stands for the processes of a tab: nothing is started."""

    def __init__(self, *_):
        self.requests = []

    def request(self, work, *arguments):
        self.requests.append((work, arguments))

    def stop(self):
        self.requests.append("stop")


class File:
    """An upload; `meanwhile` happens while it is stored."""

    def __init__(self, name, content=b"", meanwhile=lambda: None):
        self.name, self.content, self.meanwhile = name, content, meanwhile

    async def save(self, path):
        path.parent.mkdir(parents=True)
        path.write_bytes(self.content)
        self.meanwhile()
        await asyncio.sleep(0)


@pytest.fixture
def form(tmp_path, monkeypatch):
    monkeypatch.setattr(ask_form, "TabWork", NoWork)
    asked = []
    questions = SimpleNamespace(ask=lambda question, data, teacher: asked.append((question, data, teacher)))
    explorer = SimpleNamespace(uploads=tmp_path / "uploads", questions=questions)
    with Client(ui.page("")):
        form = QuestionForm(explorer, lambda _: None)
        form.asked = asked
        yield form


def drop(form, file):
    asyncio.run(form._take_data(SimpleNamespace(file=file)))


def drop_teacher(form, file):
    asyncio.run(form._take_teacher(SimpleNamespace(file=file)))


def show(form, tmp_path, **columns):
    """What follows a drop: the table is looked at, and the form is shown."""
    path = tmp_path / "shown.csv"
    polars.DataFrame(columns or {"age": range(100), "sick": [0, 1] * 50}).write_csv(path)
    drop(form, File("my table.csv", path.read_bytes()))
    form._show_table("table", sl.preview(path))


def stored(form):
    return sorted(path.name for path in form.directory.rglob("*") if path.is_file())


def forms(form):
    return [element for element in form.form if "question-form" in element.classes]


def test_99_9_percent_is_asked_as_0_999(form, tmp_path):
    show(form, tmp_path)
    form.kind.value, form.accuracy.value = "plan", 99.9
    form._ask()
    ((question, _, _),) = form.asked
    assert question.accuracy == 0.999
    assert question.command("a", None, "b").endswith("--accuracy 0.999")


def test_a_teacher_of_an_earlier_table_is_not_used(form, tmp_path):
    show(form, tmp_path)
    drop_teacher(form, File("old.onnx", b"model"))
    assert stored(form) == ["my_table.csv", "old.onnx"]
    assert form.teacher_shown.text == "Teacher: old.onnx"
    show(form, tmp_path)
    assert stored(form) == ["my_table.csv"]
    form.source.value = "onnx"
    form._ask()
    assert not form.asked
    drop_teacher(form, File("new.onnx", b"model"))
    form._ask()
    ((question, data, teacher),) = form.asked
    assert (question.teacher, teacher.name, data.name) == ("new.onnx", "new.onnx", "my_table.csv")


def test_a_teacher_that_replaces_another_leaves_the_table(form, tmp_path):
    show(form, tmp_path)
    for name in ("a.onnx", "b.onnx"):
        drop_teacher(form, File(name))
    assert stored(form) == ["b.onnx", "my_table.csv"]
    drop_teacher(form, File("c.csv"))
    assert stored(form) == ["b.onnx", "my_table.csv"], "what is refused replaces nothing"


def test_an_earlier_table_shows_nothing_while_a_new_one_is_stored(form, tmp_path):
    show(form, tmp_path)
    del form.table_work.requests[:], form.column_work.requests[:]
    seen = []

    def look():
        seen.append((form.table_work.requests.copy(), form.column_work.requests.copy(), len(forms(form))))

    drop(form, File("next.csv", meanwhile=look))
    assert seen == [(["stop"], ["stop"], 0)]
    assert [name for name in form.table_work.requests if name != "stop"] == [
        (ask_form.look_at_table, (form.data.path,))
    ]


def test_there_is_one_form(form, tmp_path):
    show(form, tmp_path)
    form._show_table("table", sl.preview(tmp_path / "shown.csv"))
    assert len(forms(form)) == 1


def test_what_is_no_table_leaves_nothing_of_the_earlier_one(form, tmp_path):
    show(form, tmp_path)
    drop(form, File("notes.txt"))
    assert (stored(form), forms(form), form.data.path) == ([], [], None)


def test_the_latest_of_two_uploads_is_kept(form):
    async def both():
        started = asyncio.Event()
        old = File("old.csv", meanwhile=started.set)
        first = asyncio.create_task(form.data.store(old))
        await started.wait()
        return await form.data.store(File("new.csv")), await first

    assert asyncio.run(both()) == (True, False)
    assert (stored(form), form.data.name) == (["new.csv"], "new.csv")


def test_an_upload_that_arrives_after_its_tab_is_gone_is_deleted(form):
    drop(form, File("late.csv", meanwhile=form._delete))
    assert stored(form) == []
    assert not form.directory.exists()


def test_a_file_that_cannot_be_stored_is_told(form):
    def fail():
        raise OSError(28, "No space left on device")

    with pytest.raises(SoftlabelError, match="could not be stored: No space left on device"):
        asyncio.run(form.data.store(File("big.csv", meanwhile=fail)))


def test_ask_asks_once_until_something_changes(form, tmp_path):
    show(form, tmp_path)
    assert form.button.enabled
    form._ask()
    assert not form.button.enabled
    changes = [
        lambda: form.kind.set_value("plan"), lambda: form.accuracy.set_value(80), lambda: form.label.set_value(1),
        lambda: form.student.set_value("tree"), lambda: form.seeds.set_value(7), lambda: form.source.set_value("onnx"),
        lambda: drop_teacher(form, File("a.onnx")),
    ]  # fmt: skip
    for change in changes:
        change()
        assert form.button.enabled
        form.button.disable()
    form._ask()
    assert not form.button.enabled


def test_a_label_beyond_the_list_is_chosen_by_its_name(form, tmp_path):
    columns = {f"column {number}": [0, 1] * 4 for number in range(MOST_CHOICES + 5)}
    show(form, tmp_path, **columns)
    assert len(form.label.options) == MOST_CHOICES
    beyond = form.names[MOST_CHOICES + 2]
    form.label_name.value = "no such column"
    form._choose_by_name()
    assert form.names[form.label.value] == form.names[0]
    form.label_name.value = beyond
    form._choose_by_name()
    assert form.names[form.label.value] == beyond
    assert form.label.options[form.label.value] == beyond
    assert form.column_work.requests[-1] == (ask_form.look_at_columns, (form.data.path, beyond))
    form._ask()
    assert form.asked[0][0].label == beyond
