"""The panel of the bounds, used as a person would."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest

import softlabel as sl
from softlabel.app.panels.bounds import CAVEAT, LABELS
from softlabel.report.bounds_tables import requirement_table
from tests.browser.explorer import PHONE, open_panel, overflow, tab_to, wait_until, watched_tab

TABLE = "table.plain"


def shown_rows(page):
    rows = page.locator(f"{TABLE} tbody tr").all()
    return [[text.replace("\N{MINUS SIGN}", "-") for text in row.locator("td").all_inner_texts()] for row in rows]


def expected_rows(**case):
    overview = sl.bounds.overview(**({"gamma": 0.05, "epsilon": 0.1, "n": 1000} | case))
    return [[cell.text for cell in row] for row in requirement_table(overview).cells]


def wait_for_rows(page, **case):
    """The numbers of this case are shown."""
    expected = expected_rows(**case)
    first = page.locator(f"{TABLE} tbody tr td").nth(1)
    first.filter(has_text=expected[0][1]).wait_for()
    assert shown_rows(page) == expected


def handle(page, label):
    return page.locator(f'.q-slider[aria-label="{label}"], [aria-label="{label}"] [role=slider]').last


def value_beside(page, label):
    return page.locator(".slider", has_text=label).locator("output").inner_text()


def address(page):
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}


def test_a_moved_slider_changes_numbers_charts_and_address(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds")
        wait_for_rows(page)
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot .scatterlayer').length === 4")
        slider = page.locator(".slider", has_text="Margin γ").locator(".q-slider")
        box = slider.bounding_box()
        page.mouse.click(box["x"] + box["width"] * 0.3, box["y"] + box["height"] / 2)
        page.wait_for_url("**gamma=*")
        gamma = float(address(page)["gamma"])
        assert value_beside(page, "Margin γ") == f"{gamma:.4g}"
        wait_for_rows(page, gamma=gamma)
        soft = sl.bounds.soft_width(gamma, 0.1, 1000)
        assert f"{soft:,} neurons suffice with soft labels" in page.inner_text(".answer")
        tight = "document.querySelectorAll('.js-plotly-plot')[3].data"
        page.wait_for_function(f"{tight}.some(t => t.name === 'soft labels at γ' && t.y[0] === {soft})")
        assert page.locator("pre").last.inner_text() == f"softlabel bounds --gamma {gamma!r}"
        page.reload()
        wait_for_rows(page, gamma=gamma)


def test_charts_have_logarithmic_axes_and_mark_the_crossover(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds?epsilon=0.2")
        page.wait_for_function("document.querySelectorAll('.js-plotly-plot .scatterlayer').length === 4")
        plots = page.evaluate(
            """() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => ({
                axes: [plot._fullLayout.xaxis.type, plot._fullLayout.yaxis.type],
                traces: plot.data.map(one => [one.name, one.x, one.y]),
                diamonds: plot.querySelectorAll('.scatterlayer .point').length}))"""
        )
        families = sl.bounds.overview(0.05, 0.2, 1000).crossovers
        captions = page.locator(".charts section p").all_inner_texts()
        crossed = 0
        for (family, crossing), plot, caption in zip(families.items(), plots, captions, strict=True):
            assert plot["axes"] == ["log", "log"]
            marks = [(x, y) for name, x, y in plot["traces"] if name == "crossover"]
            if crossing.gamma is None:
                assert marks == []
                continue
            crossed += 1
            (((gamma,), (width,)),) = marks
            assert gamma == pytest.approx(crossing.gamma)
            assert width == sl.bounds.soft_width(crossing.gamma, 0.2, 1000, family=family)
            assert plot["diamonds"] == 3, "the crossover and the two widths at γ are drawn"
            assert f"γ < {crossing.gamma:.4g}" in caption
        assert crossed > 0
        content = page.inner_text("main.content")
        assert CAVEAT in content
        assert "◆ crossover" in content
        # Soft labels begin to need fewer neurons where the curves cross
        soft, hard = (getattr(sl.bounds, f"{arm}_width") for arm in ("soft", "hard"))
        family, gamma = next((family, one.gamma) for family, one in families.items() if one.gamma is not None)
        assert soft(0.9 * gamma, 0.2, 1000, family=family) < hard(0.9 * gamma, 0.2, 1000, family=family)
        assert soft(1.1 * gamma, 0.2, 1000, family=family) > hard(1.1 * gamma, 0.2, 1000, family=family)


def test_the_pointer_shows_both_widths(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds")
        plot = page.locator(".js-plotly-plot .nsewdrag").nth(3)
        plot.scroll_into_view_if_needed()
        box = plot.bounding_box()
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.5 * box["height"])
        page.locator(".hovertext").nth(1).wait_for()
        shown = set(page.locator(".hovertext text.nums").all_text_contents())
        data = page.evaluate("document.querySelectorAll('.js-plotly-plot')[3].data.map(t => [t.name, t.x])")
        gammas = dict(map(tuple, data))["soft labels"]
        pairs = [{f"{arm} labels: {getattr(sl.bounds, f'{arm}_width')(gamma, 0.1, 1000):,}" for arm in ("soft", "hard")}
                 for gamma in gammas if sl.bounds.hard_width(gamma, 0.1, 1000) < 2**53]  # fmt: skip
        assert shown in pairs


def test_a_link_with_every_setting_on_a_phone(browser, explorer):
    with watched_tab(browser, viewport=PHONE) as page:
        open_panel(page, explorer, "/bounds?gamma=0.0123&epsilon=0.2&n=77&delta=0.01&c=0.5&kappa=2&alpha=0.5")
        wait_for_rows(page, gamma=0.0123, epsilon=0.2, n=77, delta=0.01, c=0.5, kappa=2.0, alpha=0.5)
        assert value_beside(page, "Margin γ") == "0.0123"
        assert "The paper family has no version with output scale α ≠ 1" in page.inner_text(".content")
        assert overflow(page) <= 0


def test_wrong_values_in_the_address_are_named(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds?gamma=0.7&epsilon=%3Cb%3E&n=500&kappa=inf")
        wait_for_rows(page, n=500)
        remarks = page.locator(".remark").all_inner_texts()
        assert len(remarks) == 3
        assert any("“epsilon=<b>”" in remark for remark in remarks)


def test_with_the_keyboard_only(browser, explorer):
    with watched_tab(browser, permissions=["clipboard-read", "clipboard-write"]) as page:
        open_panel(page, explorer, "/bounds")
        moved = {"gamma": 0.06, "epsilon": 0.12, "n": 1200, "delta": 0.06, "kappa": 1.2, "alpha": 1.2, "c": 0.8}
        for name, label in LABELS.items():
            tab_to(page, label)
            page.keyboard.press("ArrowLeft" if name == "c" else "ArrowRight")
            wait_until(page, lambda name=name: address(page).get(name) == f"{moved[name]:g}")
        wait_for_rows(page, **moved)
        tab_to(page, "Data set")
        tab_to(page, "Rows (default: all)")
        page.keyboard.type("10")
        tab_to(page, "Certify γ")
        page.keyboard.press("Enter")
        page.get_by_text("The sliders now show").wait_for(timeout=60_000)
        tab_to(page, "Copy the command")
        page.keyboard.press("Enter")
        wait_until(page, lambda: page.evaluate("navigator.clipboard.readText()") == "softlabel margin digits --rows 10")
        tab_to(page, "Table")
        tab_to(page, "Copy the command")


def test_the_margin_of_a_data_set_is_certified(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds?epsilon=0.2")
        page.get_by_label("Rows (default: all)").fill("10")
        page.keyboard.press("Tab")
        page.get_by_role("button", name="Certify γ").click()
        page.get_by_text("The sliders now show").wait_for(timeout=60_000)
        page.wait_for_url("**gamma=*")
        shown = address(page)
        gamma, n, c = float(shown["gamma"]), int(shown["n"]), float(shown["c"])
        margin = sl.margin("digits", rows=10)
        expected = margin.bounds(0.2).inputs
        assert gamma == pytest.approx(expected["gamma"], rel=1e-3)  # another number of threads
        assert (n, c) == (expected["n"], pytest.approx(expected["c"], rel=1e-6))
        wait_for_rows(page, gamma=gamma, epsilon=0.2, n=n, c=c)
        interval = re.search(r"γ\* of digits lies in \[(.+), (.+)\] with", page.inner_text(".content"))
        assert [float(end) for end in interval.groups()] == pytest.approx([margin.lower, margin.upper], rel=1e-2)
        assert page.locator("pre").first.inner_text() == "softlabel margin digits --rows 10"


def test_cancel_and_a_closed_tab_end_the_process(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/bounds")
        wait_until(page, lambda: explorer.working == 0)
        page.get_by_role("button", name="Certify γ").click()
        page.get_by_text("so far").wait_for(timeout=60_000)
        assert explorer.working == 1
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("Canceled; the numbers have not changed.").wait_for()
        wait_until(page, lambda: explorer.working == 0)
        assert page.locator(".busy").count() == 0
        wait_for_rows(page)
        page.get_by_role("button", name="Certify γ").click()
        page.locator(".busy").wait_for()
        wait_until(page, lambda: explorer.working == 1)
    with watched_tab(browser) as page:
        open_panel(page, explorer)
        wait_until(page, lambda: explorer.working == 0)
