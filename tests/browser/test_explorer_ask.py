"""A visitor's own table in a real browser: drop it, choose a label, ask, cancel, go on, and read the answer."""

import csv
import json
import random
import re
import shlex
import subprocess
import sys
import time

import numpy as np
import polars
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import softlabel as sl
from softlabel.app.panels.ask_form import MOST_CHOICES
from softlabel.app.server import LARGEST_UPLOAD
from softlabel.errors import SoftlabelError, counted, few
from softlabel.report.page import typeset
from softlabel.studies.run import open_ledger
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


def choose(page, label, option):
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()


def wait_for_state(page, words, seconds=60):
    page.wait_for_selector(f".question [role=status]:has-text('{words}')", timeout=1000 * seconds)


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


@pytest.mark.parametrize("name", ["good.parquet", "good.tsv", "good.npz"])
def test_files_of_other_kinds(browser, explorer, tmp_path, name):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.repeat(["no", "yes"], 60)
    path = tmp_path / name
    frame = polars.DataFrame({"a": X[:, 0], "b": X[:, 1], "class": y})
    if path.suffix == ".npz":
        np.savez(path, X=X, y=y)
    elif path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    else:
        frame.write_parquet(path)
    preview = sl.preview(path)
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("text=2 classes: no, yes; 120 rows with a label.")
        assert f"{name}: 120 rows, {len(preview.columns)} columns" in page.locator("main.content").inner_text()
        shown = page.locator("table.plain").first.locator("tbody tr td:first-child").all_inner_texts()
        assert shown == [column.name for column in preview.columns]


def test_drag_and_drop(browser, explorer, table):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        transfer = page.evaluate_handle(
            """([name, content]) => {
                const transfer = new DataTransfer();
                transfer.items.add(new File([content], name, {type: "text/csv"}));
                return transfer;
            }""",
            [table.name, table.read_text()],
        )
        place = page.locator(".drop").first
        place.dispatch_event("dragenter", {"dataTransfer": transfer})
        place.dispatch_event("dragover", {"dataTransfer": transfer})
        page.locator(".q-uploader__dnd").dispatch_event("drop", {"dataTransfer": transfer})
        page.wait_for_selector("text=2 classes")
        assert f"{table.name}: 240 rows, 4 columns" in page.locator("main.content").inner_text()


def test_another_label_column(browser, explorer, tmp_path):
    rng = random.Random(0)
    path = tmp_path / "labels.csv"
    rows = [[rng.random(), rng.choice(["Bonn", "Oslo", "Rome"]), rng.choice("ab")] for _ in range(90)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["x", SCRIPT, "class"], *rows])
    problem = sl.load(path, SCRIPT)
    done = {one["column"]: one["done"] for one in problem.treatment}
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("text=2 classes")
        choose(page, "Label column", SCRIPT)
        words = f"{len(problem.classes)} classes: {few(problem.classes)}; {counted(len(problem), 'row')} with a label."
        page.wait_for_selector(f"text={words}")
        for row in page.locator("table.plain").first.locator("tbody tr").all():
            name, what = (cell.inner_text() for cell in row.locator("td").all()[:2])
            assert what == ("label" if name == SCRIPT else done[name])


def test_a_file_above_the_limit_is_refused(browser, explorer, tmp_path):
    path = tmp_path / "large.csv"
    with path.open("wb") as file:
        file.truncate(LARGEST_UPLOAD + 1)  # takes no space on the disk
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("text=The file was refused: it must have at most 512 MB and end in .csv")
        assert not page.locator("text=2. Your question").count()


@pytest.mark.slow
def test_very_long_names_of_columns(browser, explorer, tmp_path):
    names = ["x" * 20_000, "x" * 20_000 + "y", "z" * 20_000]
    rng = random.Random(0)
    path = tmp_path / "long.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *([rng.random(), rng.random(), rng.choice("ab")] for _ in range(120))])
    with watched_tab(browser, viewport=PHONE) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("text=2 classes: a, b")
        assert overflow(page) <= 0
        assert len(page.locator("main.content").inner_text()) < 5_000
        choose(page, "Student", "decision tree")
        page.get_by_label("Maximum number of seeds").fill("2")
        page.get_by_role("button", name="Ask", exact=True).click()
        wait_for_state(page, "Answered")
        assert overflow(page) <= 0


@pytest.mark.slow
def test_a_table_with_thousands_of_columns(browser, explorer, tmp_path):
    names = [f"flag {number}" for number in range(3_000)]
    rng = random.Random(0)
    path = tmp_path / "wide.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *([rng.choice("01") for _ in names] for _ in range(40))])
    candidates = sl.preview(path).label_candidates
    inside, beyond = candidates[MOST_CHOICES - 1], candidates[-1]
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, path)
        page.wait_for_selector("text=2 classes", timeout=60_000)
        assert "The first 60 of 3,000 columns." in page.locator("main.content").inner_text()
        page.get_by_label("Label column", exact=True).fill(inside)
        page.get_by_role("option", name=inside, exact=True).click()
        page.wait_for_function(f"document.querySelector('input[aria-label=\"Label column\"]')?.value === '{inside}'")
        field = page.get_by_label("Or the name of any of the 3,000 columns")
        field.fill("flag -1")
        field.press("Enter")
        page.wait_for_selector("[role=alert]:has-text('The table has no column “flag -1”.')")
        field.fill(beyond)
        field.press("Enter")
        page.wait_for_selector("text=2 classes", timeout=60_000)
        page.get_by_label("Maximum number of seeds").fill("2")
        page.get_by_role("button", name="Ask", exact=True).click()
        page.wait_for_selector(f".question:has-text('label {beyond},')")
        page.get_by_role("button", name="Cancel").click()
        wait_for_state(page, "Interrupted")


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


def test_a_double_click_asks_once(browser, explorer, table):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)
        page.wait_for_selector("text=2 classes")
        before = len(list((explorer.runs / ".questions").glob("*")))
        page.get_by_role("button", name="Ask", exact=True).dblclick()
        page.get_by_role("button", name="Cancel").click()
        wait_for_state(page, "Interrupted")
        assert page.get_by_role("button", name="Ask", exact=True).is_disabled()
        assert len(list((explorer.runs / ".questions").glob("*"))) == before + 1
        page.get_by_role("radio", name="How small can the student be?").click()
        page.wait_for_selector("button:not([disabled]):has-text('Ask')")


def test_progress_is_shown_while_it_works(browser, explorer, table):
    with watched_tab(browser) as page:
        ask_about(page, explorer, table, student="two-layer network", seeds=40)
        share = "document.querySelector('.question [role=progressbar]').getAttribute('aria-valuenow')"
        sentence = page.locator(".question [role=status]")
        page.wait_for_selector(".question [role=status]:has-text(' of ')", timeout=60_000)
        first, words = page.evaluate(share), sentence.inner_text()
        assert re.match(r"[^:]+: \d+ of \d+ parts?( · (about|at most) \d+ (s|min) left)?$", words)
        wait_until(page, lambda: float(page.evaluate(share)) > float(first), 120)
        wait_until(page, lambda: sentence.inner_text() != words, 120)
        page.get_by_role("button", name="Cancel").click()
        wait_for_state(page, "Interrupted")


def test_cancel_is_at_once_and_it_can_go_on(browser, explorer, table):
    with watched_tab(browser) as page:
        key = ask_about(page, explorer, table, student="two-layer network", seeds=40)
        page.wait_for_selector(".question [role=status]:has-text(' of ')", timeout=60_000)  # in the middle of its work
        assert explorer.working > 0
        began = time.monotonic()
        page.get_by_role("button", name="Cancel").click()
        wait_until(page, lambda: explorer.working == 0)
        assert time.monotonic() - began < 5
        wait_for_state(page, "Interrupted")
        page.get_by_role("button", name="Resume").click()
        page.wait_for_selector(".question button:has-text('Cancel')")
        wait_until(page, lambda: explorer.working > 0)
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Discard").click()
        wait_until(page, lambda: page.url.endswith("/try"))
        page.wait_for_selector("text=1. Your table")
        assert not page.locator(f"a[href*='{key}']").count()
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


def test_an_upload_is_deleted_when_it_is_replaced_and_with_its_tab(browser, explorer, table):
    def uploads():
        return list((explorer.runs / ".uploads").rglob("*.csv"))

    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        wait_until(page, lambda: not uploads())  # those of earlier tests
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/try")
        drop(page, table)
        page.wait_for_selector("text=2 classes")
        (first,) = uploads()
        drop(page, table)
        wait_until(page, lambda: len(uploads()) == 1 and uploads() != [first])
        page.wait_for_selector("text=2 classes")
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: not uploads())


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


def finished_bundles_after_the_kill(run_dir, seconds=60):
    """Those of a run whose process has noticed that its server is gone."""
    end = time.monotonic() + seconds
    while sl.inspect_run(run_dir).status == "running" and time.monotonic() < end:
        time.sleep(0.1)
    return finished_bundles(run_dir)


def finished_bundles(run_dir):
    """The rows of all finished bundles in the ledger of a run, with the seconds that each has taken."""
    try:
        with open_ledger(run_dir) as ledger:
            return {key: row for key, row in ledger.by_key().items() if row["status"] == "done"}
    except SoftlabelError:
        return {}  # not there yet, or being written


@pytest.mark.slow
@pytest.mark.parametrize("resumed_by", ["command", "explorer"])
def test_after_a_kill_it_goes_on(browser, table, tmp_path, resumed_by):
    runs = tmp_path / "runs"
    with started(runs) as server:
        page = browser.new_page()  # it notices that its server is gone, which is an error on its console
        key = ask_about(page, server, table, student="two-layer network", seeds=4)
        wait_until(page, lambda: list(runs.glob(f"verdict-*-{key}")))
        (run_dir,) = runs.glob(f"verdict-*-{key}")
        wait_until(page, lambda: finished_bundles(run_dir), 600)
        server.kill()
        page.close()
    before = finished_bundles_after_the_kill(run_dir)
    assert before
    assert sl.inspect_run(run_dir).status == "unfinished"
    record = json.loads((runs / ".questions" / key / "question.json").read_text())
    with started(runs) as server, watched_tab(browser) as page:
        open_panel(page, server, f"/try?question={key}")
        wait_for_state(page, "Interrupted")
        (words,) = (one.inner_text() for one in page.locator(".command pre").all())
        assert words == record["command"]
        assert not list((runs / ".uploads").rglob("*.csv")), "what was left of the upload is deleted"
        if resumed_by == "explorer":
            page.get_by_role("button", name="Resume").click()
            wait_for_state(page, "Answered", 900)
    if resumed_by == "command":
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(record["command"])], capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, done.stderr
        with started(runs) as server, watched_tab(browser) as page:
            open_panel(page, server, f"/try?question={key}")
            wait_for_state(page, "Answered")
    after = finished_bundles(run_dir)
    assert len(after) > len(before)
    assert {name: after[name] for name in before} == before
    assert sl.inspect_run(run_dir).status == "finished"
    assert not list((runs / ".questions" / key).glob("*.csv")), "the copy is deleted"
