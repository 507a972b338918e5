"""What the panel of runs reads and sends, without a browser."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import softlabel as sl
from softlabel.app import run_files
from softlabel.app.children import Child
from softlabel.app.guard import Guard
from softlabel.app.panels.runs_parts import flat
from softlabel.app.work import runs as run_work
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Page, Table
from tests.app.test_guard import ADDRESS, HOST, answer

WAIT = 60.0


def messages(child, until=lambda kinds: False):
    """The messages of a process up to its end, or until the condition on their kinds holds."""
    arrived, end = [], time.monotonic() + WAIT
    while not child.ended and not until([kind for kind, _ in arrived]):
        assert time.monotonic() < end, arrived
        arrived += child.messages()
        time.sleep(0.01)
    child.close()
    return arrived


def empty_run(run_dir: Path) -> Path:
    run_dir.mkdir(parents=True)
    (run_dir / "ledger.sqlite").touch()
    return run_dir


def test_all_runs_are_listed_and_those_that_vanish_leave_the_list(tmp_path):
    for name in ("a", "b/c"):
        empty_run(tmp_path / name)
    child = Child(run_work.watch_runs, tmp_path)
    arrived = messages(child, lambda kinds: "listed" in kinds)
    listed = [run for kind, content in arrived if kind == "runs" for run in content]
    assert {run.name: run.status for run in listed} == {"a": "unreadable", "b/c": "unreadable"}
    names, complete = dict(arrived)["listed"]
    assert (sorted(names), complete) == (["a", "b/c"], True)


def test_a_directory_that_is_not_there_has_no_runs(tmp_path):
    child = Child(run_work.watch_runs, tmp_path / "nothing")
    assert messages(child, lambda kinds: "listed" in kinds) == [("listed", ([], True))]


def test_a_run_that_cannot_be_read_is_described(tmp_path):
    arrived = messages(Child(run_work.show_run, empty_run(tmp_path / "run")))
    assert [kind for kind, _ in arrived] == ["state", "progress", "done"]
    state = arrived[0][1]
    assert state.status == "unreadable"
    assert "is empty (0 bytes)" in state.problem


def test_a_directory_without_a_run_is_an_error(tmp_path):
    ((kind, sentence),) = messages(Child(run_work.show_run, tmp_path))
    assert kind == "error"
    assert "is not a run directory" in sentence


def test_long_tables_and_large_charts_are_cut(monkeypatch, tmp_path):
    def chart(points):
        return Chart("c", f"{points} points", "", [Panel("", [Series("s", range(points), range(points))])])

    table = Table("Table", "", ["n"], [[str(k)] for k in range(run_work.MOST_ROWS + 1)])
    page = Page("", "", ["An answer."], [table], [chart(run_work.MOST_POINTS + 1)], [], [], {}, picture=chart(2))

    class Finished:
        def page(self):
            return page

    monkeypatch.setattr(sl, "read_run", lambda run_dir, rewrite: Finished())
    shown = run_work._page(tmp_path)
    assert [one.title for one in shown.charts] == ["2 points"]
    assert len(shown.tables[0].rows) == run_work.MOST_ROWS
    assert "the first 200 of 201 rows" in shown.tables[0].title
    assert "too large to be shown" in shown.warnings[0]
    monkeypatch.setattr(run_work, "LARGEST_PAGE", 10)
    with pytest.raises(sl.InputError, match="too large to be shown"):
        run_work._page(tmp_path)


def test_values_of_documents():
    document = {"a": {"b": 1, "c": [1, 2]}, "d": [{"e": "x"}, {"e": None}], "f": {}}
    assert dict(run_work.values(document)) == {
        "a.b": "1", "a.c": "[1, 2]", "d.1.e": "x", "d.2.e": "null", "f": "{}",
    }  # fmt: skip
    many = list(run_work.values({str(k): k for k in range(1000)}))
    assert len(many) == run_work.MOST_VALUES + 1
    deep: dict = {}
    for _ in range(500):
        deep = {"a": deep}
    ((name, value),) = run_work.values(deep)
    assert (name.count("a"), value) == (run_work.DEEPEST, "…")


def test_settings_are_flat():
    assert flat({"a": {"b": None, "c": {"d": 1.5}}, "e": (1, 2), "f": {}}) == {
        "a.b": "none", "a.c.d": "1.5", "e": "(1, 2)", "f": "{}",
    }  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "report.html").write_text("<h1>Report</h1>")
    return run_files.RunFiles(tmp_path / "runs")


def key_of(address):
    return address.rpartition("/")[2]


def test_a_report_is_sent_with_a_policy_of_its_own_through_the_guard(files, tmp_path):
    response = files.response(key_of(files.address(tmp_path / "runs" / "one" / "report.html")))
    guard = Guard(response, address=ADDRESS, token=None, limit=100)
    start, *body = answer(guard, HOST)
    headers = [(name.lower(), value) for name, value in start["headers"]]
    (policy,) = [value.decode() for name, value in headers if name == b"content-security-policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy  # nothing may be requested, by default-src
    assert dict(headers)[b"x-content-type-options"] == b"nosniff"
    assert (start["status"], body[0]["body"]) == (200, b"<h1>Report</h1>")


@pytest.mark.parametrize("key", ["", "0" * 32, "../one/report.html", "one/report.html"])
def test_paths_and_invented_keys_lead_nowhere(files, key):
    assert files.response(key).status_code == 404


def test_files_that_are_gone_large_or_outside_are_not_sent(files, tmp_path, monkeypatch):
    report = tmp_path / "runs" / "one" / "report.html"
    key = key_of(files.address(report))
    monkeypatch.setitem(run_files.LARGEST, ".html", 3)
    assert files.response(key).status_code == 413
    report.unlink()
    assert files.response(key).status_code == 404
    (tmp_path / "secret.html").write_text("secret")
    report.symlink_to(tmp_path / "secret.html")
    assert files.response(key).status_code == 404


def test_two_explorers_have_different_keys(files, tmp_path):
    report = tmp_path / "runs" / "one" / "report.html"
    other = run_files.RunFiles(tmp_path / "runs")
    assert files.address(report) == files.address(report)
    assert files.address(report) != other.address(report)


def test_what_lies_inside(tmp_path):
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "out").symlink_to(tmp_path)
    (runs / "loop").symlink_to(runs / "loop")
    assert run_files.is_inside(runs, runs)
    assert run_files.is_inside(runs, runs / "one" / "report.html")
    for path in (runs / "..", runs / "out", runs / "out" / "x", runs / "loop", Path("/etc"), Path("a\0b")):
        assert not run_files.is_inside(runs, path), path


def test_the_export_is_the_table_of_the_library(tmp_path):
    ((kind, sentence),) = messages(Child(run_work.export_run, empty_run(tmp_path / "run")))
    assert (kind, "is empty" in sentence) == ("error", True)


def test_the_processes_do_not_load_the_web_framework():
    """It would take each of them seconds."""
    code = "import softlabel.app.work.runs, sys; print('nicegui' in sys.modules, 'fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
