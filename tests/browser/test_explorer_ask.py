"""A visitor's own table in a real browser: drop it, choose a label, ask, cancel, go on, and read the answer."""

import csv
import json
import random
import shlex
import subprocess
import sys

import polars
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import softlabel as sl
from softlabel.report.page import typeset
from tests.browser.explorer import PHONE, open_panel, overflow, started, wait_until, watched_tab

HOSTILE = "<img src=x onerror=\"document.title='broken'\">"
SCRIPT = "<script>document.title='broken'</script>"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A table with names and cells that are HTML."""
    path = tmp_path_factory.mktemp("tables") / "odd <b>name.csv"
    rng = random.Random(0)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", SCRIPT, "city, {{7*7}}", "class"])
        for _ in range(240):
            age = rng.randint(20, 80)
            sick = age + rng.gauss(0, 8) > 50
            writer.writerow([age, rng.choice([HOSTILE, "b"]), rng.choice(["Rome", ""]), HOSTILE if sick else "well"])
    return path


def drop(page, path):
    page.locator("input[type=file]").first.set_input_files(str(path))


def ask_about(page, server, table, student="logistic regression", seeds=3):
    open_panel(page, server, "/try")
    drop(page, table)
    page.wait_for_selector("text=2. Your question")
    page.wait_for_selector("text=2 classes")
    page.get_by_label("Student", exact=True).click()
    page.get_by_role("option", name=student).click()
    page.get_by_label("Maximum number of seeds").fill(str(seeds))
    page.get_by_label("Maximum number of seeds").press("Tab")
    page.get_by_role("button", name="Ask", exact=True).click()
    wait_until(page, lambda: "question=" in page.url)
    return page.url.partition("question=")[2]


def wait_for_state(page, words):
    page.wait_for_selector(f".question [role=status]:has-text('{words}')", timeout=60_000)


def test_a_dropped_table_is_looked_at_literally(browser, explorer, table):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)
        page.wait_for_selector("text=2. Your question")
        page.wait_for_selector("text=2 classes")
        shown = page.locator("main.content").inner_text()
        assert "odd <b>name.csv: 240 rows, 4 columns" in shown
        assert SCRIPT in shown
        assert HOSTILE in shown
        assert "city, {{7*7}}" in shown
        done = {one["column"]: one["done"] for one in sl.load(table, "class").treatment}
        for row in page.locator("table.plain").first.locator("tbody tr").all():
            name, what = (cell.inner_text() for cell in row.locator("td").all()[:2])
            assert what == ("label" if name == "class" else done[name])
        assert page.title() == "Try your own · softlabel"


def test_the_answer_is_the_libraries(browser, explorer, table):
    with watched_tab(browser) as page:
        key = ask_about(page, explorer, table)
        page.reload()  # finds the question again
        wait_for_state(page, "Answered")
        page.wait_for_selector(".run-answer")
        (run_dir,) = explorer.runs.glob(f"verdict-*-{key}")
        result = sl.read_run(run_dir, rewrite=False)
        assert page.locator(".run-answer").inner_text() == typeset(result.page().answer[0])
        assert page.get_by_role("link", name="Open the report").count() == 1
        assert not list((explorer.runs / ".questions" / key).glob("*.csv")), "the upload is deleted"


def test_plan_exports_students(browser, explorer, table):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)
        page.wait_for_selector("text=2 classes")
        page.get_by_role("radio", name="How small can the student be?").click()
        page.get_by_label("Test accuracy to reach, %").fill("60")
        page.get_by_label("Student", exact=True).click()
        page.get_by_role("option", name="logistic regression").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        wait_for_state(page, "Answered")
        page.wait_for_selector("text=Exported students")
        with page.expect_download() as download:
            page.get_by_role("button", name=".onnx").first.click()
        (run_dir,) = explorer.runs.glob("plan-*")
        files = {path.name: path.read_bytes() for path in (run_dir / "students").iterdir() if path.is_file()}
        assert download.value.path().read_bytes() == files[download.value.suggested_filename]


def test_a_teacher_from_an_onnx_file(browser, explorer, tmp_path):
    from skl2onnx import to_onnx

    X, y = load_breast_cancer(return_X_y=True)
    data, onnx = tmp_path / "numbers.csv", tmp_path / "my teacher.onnx"
    polars.DataFrame({**{f"x{k}": X[:, k] for k in range(4)}, "class": y}).write_csv(data)
    model = RandomForestClassifier(5, random_state=0).fit(X[:, :4], y)
    onnx.write_bytes(to_onnx(model, X[:1, :4], options={"zipmap": False}).SerializeToString())
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, data)
        page.wait_for_selector("text=2 classes")
        page.get_by_label("Student", exact=True).click()
        page.get_by_role("option", name="logistic regression").click()
        page.get_by_label("Teacher", exact=True).click()
        page.get_by_role("option", name="an ONNX file").click()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_selector("[role=alert]:has-text('Drop the teacher')")
        page.locator("input[type=file]").last.set_input_files(str(onnx))
        page.wait_for_selector("text=Teacher: my teacher.onnx")
        assert not page.locator("[role=alert]").count()
        page.get_by_label("Maximum number of seeds").fill("3")
        page.get_by_role("button", name="Ask", exact=True).click()
        wait_for_state(page, "Answered")
        (run_dir,) = explorer.runs.glob("verdict-numbers-*")
        facts = sl.read_run(run_dir, rewrite=False).to_dict()["teacher"]
        assert "onnx" in json.dumps(facts).lower()


def test_cancel_is_at_once_and_it_can_go_on(browser, explorer, table):
    with watched_tab(browser) as page:
        key = ask_about(page, explorer, table, student="two-layer network", seeds=40)
        wait_until(page, lambda: explorer.working > 0)
        page.get_by_role("button", name="Cancel").click()
        wait_for_state(page, "Interrupted")
        wait_until(page, lambda: explorer.working == 0)
        page.get_by_role("button", name="Resume").click()
        page.wait_for_selector(".question button:has-text('Cancel')")
        wait_until(page, lambda: explorer.working > 0)
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Discard").click()
        wait_until(page, lambda: page.url.endswith("/try"))
        page.wait_for_selector("text=1. Your table")
        assert not page.locator("text=Questions without an answer").count()
        assert not (explorer.runs / ".questions" / key).exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty"),
        ("noise.parquet", b"\x00\x01" * 50, "Parquet"),
        ("words.csv", b"just one column\n1\n2\n", "'words.csv' has 2 rows and 0 input columns"),
    ],
)
def test_what_is_no_table(browser, explorer, tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("[role=alert]")
        assert words in page.locator("[role=alert]").first.inner_text()
        assert "Traceback" not in page.locator("main.content").inner_text()


def test_a_question_that_is_not_known(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try?question=../../etc")
        page.wait_for_selector("text=is not known here")


def test_an_upload_is_deleted_with_its_tab(browser, explorer, table):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)
        page.wait_for_selector("text=2 classes")
        drop(page, table)  # a second file of the same name does not replace the first, which may be in use
        wait_until(page, lambda: len(list((explorer.runs / ".uploads").rglob("*.csv"))) == 2)
        page.wait_for_selector("text=2 classes")
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: not list((explorer.runs / ".uploads").rglob("*.csv")))


def test_by_keyboard_on_a_phone(browser, explorer, table):
    with watched_tab(browser, viewport=PHONE) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)  # the dialog of the system is not part of the page
        page.wait_for_selector("text=2 classes")
        assert overflow(page) <= 0
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.closest('button')?.innerText") == "Ask":
                break
        page.keyboard.press("Enter")
        page.wait_for_selector(".question button:has-text('Cancel')")
        assert overflow(page) <= 0
        page.get_by_role("button", name="Cancel").click()
        wait_for_state(page, "Interrupted")


@pytest.mark.slow
def test_after_a_kill_the_next_explorer_and_the_command_line_go_on(browser, table, tmp_path):
    runs = tmp_path / "runs"
    with started(runs) as server:
        page = browser.new_page()  # it notices that its server is gone, which is an error on its console
        key = ask_about(page, server, table, seeds=4)
        wait_until(page, lambda: server.working > 0)
        server.kill()
        page.close()
    record = json.loads((runs / ".questions" / key / "question.json").read_text())
    with started(runs) as server, watched_tab(browser) as page:
        open_panel(page, server, f"/try?question={key}")
        wait_for_state(page, "Interrupted")
        (words,) = (one.inner_text() for one in page.locator(".command pre").all())
        assert words == record["command"]
        assert not list((runs / ".uploads").rglob("*.csv")), "what was left of the upload is deleted"
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(record["command"])], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    with started(runs) as server, watched_tab(browser) as page:
        open_panel(page, server, f"/try?question={key}")
        page.get_by_role("button", name="Resume").click()
        wait_for_state(page, "Answered")
