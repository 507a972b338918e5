"""The panel of the kernel regime in a browser: controls, charts, numbers, errors, and processes that end."""

import pytest

import softlabel as sl
from softlabel.app.work.kernel import TEST_ROWS
from tests.browser.explorer import focused, open_panel, tab_to, wait_until, watched_tab

SMALL = "/kernel?rows=20&width=5&iterations=50"
LARGE = "/kernel?rows=400&width=400&iterations=10000"
READY = """limit => {
    const plots = Array.from(document.querySelectorAll('.js-plotly-plot')).filter(plot => plot.data)
    const drawn = name => plots[0].data.find(one => one.name == name)
    return plots.length == 2 && !document.querySelector('[aria-busy=true]') && drawn('test, simulated')
        && (limit === null || Math.abs(drawn('true limit').y[0] - limit) < 1e-9) }"""


def library(data="digits", **changes):
    options = sl.DynamicsOptions(test_rows=TEST_ROWS)
    return sl.dynamics(data, **{"rows": 20, "width": 5, "strength": 0.3, "iterations": 50, **changes}, options=options)


def wait(page, condition, argument=None):
    page.wait_for_function(condition, arg=argument, timeout=60_000)


def curves(page, number=0):
    """The curves of a chart by their names, as the browser has them."""
    traces = page.evaluate(
        f"""() => document.querySelectorAll('.js-plotly-plot')[{number}].data
            .filter(one => one.showlegend).map(one => [one.name, Array.from(one.x), Array.from(one.y)])"""
    )
    return {name: (x, y) for name, x, y in traces}


def shown_numbers(page):
    rows = page.locator("[aria-label='Key numbers'] tbody tr")
    return dict(row.split("\t") for row in rows.all_inner_texts())


def move(page, label, key):
    page.locator(f"[role=slider][aria-label='{label}'] .q-slider__track-container").focus()
    page.keyboard.press(key)


def check_shown(page, result):
    """The curves, poles and numbers of the page are those of the library."""
    wait(page, READY, result.limits[0])
    shown = curves(page)
    assert set(shown) == {
        "training, predicted", "training, simulated", "test, predicted", "test, simulated", "true limit",
        "printed limit",
    }  # fmt: skip
    steps = [row["iteration"] for row in result.curve]
    for name, key in (("training, predicted", "predicted"), ("training, simulated", "simulated"),
                      ("test, predicted", "test_predicted"), ("test, simulated", "test_simulated")):  # fmt: skip
        assert shown[name][0] == steps
        assert shown[name][1] == pytest.approx([row[key] for row in result.curve])
    assert (shown["true limit"][1][0], shown["printed limit"][1][0]) == pytest.approx(result.limits)
    (poles,) = result.pole_chart.panels[0].series
    assert curves(page, 1)["poles"] == (pytest.approx(poles.x), pytest.approx(poles.y))
    assert page.inner_text(".limits") == f"True limit: {result.limits[0]:.4g}. Printed limit: {result.limits[1]:.4g}."
    assert result.assumptions[0].meaning in page.inner_text(".limits-here")
    numbers = shown_numbers(page)
    assert numbers["Largest deviation from the prediction"] == f"{result.deviation:.2%} of ‖f(0) − y‖"
    assert page.inner_text(".headline") == result.summary[0]
    assert numbers["Training error at the end, simulated"] == f"{result.run.train[-1]:.4g}"


def wait_for_work(page, server, count):
    wait_until(page, lambda: server.working == count)


def test_what_is_shown_is_what_the_library_says(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL)
        check_shown(page, library())
        assert "softlabel dynamics digits --rows 20 --width 5 --strength 0.3" in page.inner_text(".command pre")
        words = page.locator(".command pre span")
        heights = words.evaluate_all("all => all.map(word => word.getBoundingClientRect().height)")
        assert max(heights) < 1.5 * min(heights), "no option is broken after its hyphens"
        assert page.locator(".busy .q-spinner").is_hidden()
        assert page.get_by_role("button", name="Stop").is_disabled()


def test_controls_move_and_results_are_remembered(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL)
        check_shown(page, library())
        move(page, "λ (privileged knowledge)", "ArrowLeft")
        check_shown(page, library(strength=0.1))
        assert "strength=0.1" in page.url
        page.get_by_label("Data", exact=True).click()
        page.get_by_role("option", name="moons").click()
        check_shown(page, library("moons", strength=0.1))
        page.get_by_label("Data", exact=True).click()
        page.get_by_role("option", name="digits").click()
        check_shown(page, library(strength=0.1))
        page.evaluate(
            """() => {
                const look = () => { window.wasBusy ||= Boolean(document.querySelector('[aria-busy=true]')) }
                const changes = {subtree: true, attributes: true, attributeFilter: ['aria-busy']}
                new MutationObserver(look).observe(document.body, changes) }"""
        )
        move(page, "λ (privileged knowledge)", "ArrowRight")
        check_shown(page, library())
        assert not page.evaluate("Boolean(window.wasBusy)"), "a remembered result needs no work"
        move(page, "λ (privileged knowledge)", "ArrowRight")
        check_shown(page, library(strength=1.0))
        assert page.evaluate("window.wasBusy")
        page.reload()
        check_shown(page, library(strength=1.0))


def test_an_error_of_the_library_is_one_sentence_in_place_of_the_charts(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL)
        check_shown(page, library())
        rate = page.get_by_label("Learning rate")
        rate.fill("100")
        page.wait_for_selector(".problem", timeout=60_000)
        assert page.inner_text(".problem").startswith("learning_rate must be below 2/λ_max")
        assert page.locator(".js-plotly-plot").count() == 0
        assert page.locator(".busy").is_hidden()
        rate.fill("")
        check_shown(page, library())
        assert page.locator(".problem").count() == 0


def test_stop_ends_the_process(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, LARGE)
        wait(page, "() => document.querySelector('.busy').innerText.startsWith('Training the teacher')")
        wait_for_work(page, explorer, 1)
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped.").wait_for()
        wait_for_work(page, explorer, 0)
        assert page.inner_text(".empty") == "Nothing was computed yet. Press Run."
        page.get_by_role("button", name="Run").click()
        wait(page, "() => document.querySelector('.busy').innerText.startsWith('Training the teacher')")
        wait_for_work(page, explorer, 1)
        move(page, "Iterations", "PageDown")
        move(page, "Training rows", "PageDown")
        wait(page, READY)
        wait_for_work(page, explorer, 0)
        move(page, "Training rows", "PageUp")  # takes so long that it is certainly stopped
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("The charts are those of earlier settings.").wait_for()
        assert page.locator(".stale .js-plotly-plot").count() == 2
        assert page.locator("[aria-busy=true]").count() == 0
        wait_for_work(page, explorer, 0)
        move(page, "Training rows", "PageDown")  # remembered
        wait(page, "() => !document.querySelector('.stale')")


def test_a_closed_tab_leaves_no_process(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, LARGE)
        wait(page, "() => document.querySelector('.busy').innerText.startsWith('Training the teacher')")
        wait_for_work(page, explorer, 1)
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/")
        wait_for_work(page, explorer, 0)


def test_impossible_links_give_a_remark_and_the_default(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL + "&strength=<img src=x onerror=alert(1)>&activation=step")
        assert page.locator(".remark").count() == 2
        assert "“strength=<img src=x onerror=alert(1)>”" in page.inner_text(".content")
        check_shown(page, library())


def test_every_control_is_reached_by_the_keyboard_and_has_a_name(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL)
        check_shown(page, library())
        page.keyboard.press("Tab")
        assert focused(page) == "Skip to the content"
        page.keyboard.press("Enter")
        reached = []
        for _ in range(14):
            page.keyboard.press("Tab")
            reached.append(focused(page))
        wanted = ["Data", "λ (privileged knowledge)", "Width of the student", "Training rows", "Iterations",
                  "Activation", "The student starts with", "Learning rate"]  # fmt: skip
        assert [name for name in reached if name in wanted] == wanted
        assert "Copy the command" in reached
        values = page.locator("[role=slider]").evaluate_all("all => all.map(one => one.ariaValueText)")
        assert values == page.locator(".slider output").all_inner_texts() == ["0.3", "5", "20", "50"]


def test_settings_are_changed_run_and_stopped_by_the_keyboard(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, SMALL)
        tab_to(page, "λ (privileged knowledge)")
        page.keyboard.press("PageUp")
        wait(page, "() => document.querySelector('[role=slider]').ariaValueText == '∞'")
        page.wait_for_selector(".problem", timeout=60_000)
        assert "there is nothing to learn" in page.inner_text(".problem")
        page.keyboard.press("PageDown")
        tab_to(page, "Activation")
        page.keyboard.press("Enter")
        page.get_by_role("option", name="tanh").wait_for()
        while not page.locator(".q-item.q-manual-focusable--focused").filter(has_text="tanh").count():
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**activation=tanh*")
        tab_to(page, "Learning rate")
        page.keyboard.type("100")
        page.wait_for_selector(".problem:has-text('learning_rate must be below')", timeout=60_000)
        wait_for_work(page, explorer, 0)
        open_panel(page, explorer, LARGE)
        wait_for_work(page, explorer, 1)
        tab_to(page, "Stop")
        page.keyboard.press("Enter")
        page.get_by_text("Stopped.").wait_for()
        wait_for_work(page, explorer, 0)
        tab_to(page, "Run")
        page.keyboard.press("Enter")
        wait_for_work(page, explorer, 1)
