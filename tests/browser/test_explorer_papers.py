"""The panel of the papers' claims, used as a person would."""

import numpy as np
import pytest
from PIL import Image

import softlabel as sl
from tests.browser.explorer import PHONE, focused, open_panel, overflow, started, tab_to, wait_until, watched_tab

ROWS = "table.claims tbody:not(.hidden) tr.claim"
OPENED = "tr.details"
TABLE1 = next(claim for claim in sl.claims() if claim.key == "mandal-table-1-soft-against-hard")


def shown_claims(page):
    return page.locator(f"{ROWS} .opener").all_inner_texts()


def expected(**same):
    return [c.where for c in sl.claims() if all(getattr(c, name) == value for name, value in same.items())]


def choose(page, label, option):
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option).click()


def test_filter_open_and_share(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/papers")
        assert shown_claims(page) == expected()
        choose(page, "Paper", "Mandal, Lin and Srikant")
        choose(page, "Verdict", "holds partly")
        page.wait_for_function("document.querySelectorAll('tbody:not(.hidden) tr.claim').length === 2")
        assert shown_claims(page) == expected(paper="Mandal", verdict="holds partly")
        page.locator(ROWS).first.click()
        page.wait_for_selector(f"{OPENED} img.picture")
        content = page.inner_text(OPENED)
        assert TABLE1.says in content
        assert TABLE1.comment in content
        assert "Here: holds partly" in content
        assert page.locator(f"{OPENED} .command pre").all_inner_texts() == list(TABLE1.commands)
        page.wait_for_function("document.querySelector('img.picture').naturalWidth > 100")
        page.wait_for_url("**claim=mandal-table-1-soft-against-hard")
        page.reload()  # the address shows the same
        page.wait_for_selector(f"{OPENED} img.picture")
        assert len(shown_claims(page)) == 2
        page.get_by_role("button", name="Show all").click()
        page.wait_for_function(f"document.querySelectorAll('{ROWS}').length === {len(sl.claims())}")
        page.wait_for_url(lambda url: "verdict" not in url)
        assert page.locator(OPENED).count() == 1, "the open claim stays open"


def test_words_are_searched_and_may_match_nothing(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/papers?claim=mandal-theorem-2")
        page.wait_for_selector(OPENED)
        page.get_by_label("Words").fill("PINSKER reverse")
        page.wait_for_function("document.querySelectorAll('tbody:not(.hidden) tr.claim').length === 1")
        assert shown_claims(page) == ["Lemma 3"]
        assert page.locator(OPENED).count() == 0, "a claim that the filter hides is closed"
        page.get_by_label("Words").fill("<b>nothing</b>")
        page.get_by_text("No claim matches").wait_for()
        assert shown_claims(page) == []
        page.get_by_role("button", name="Show all").click()
        page.get_by_text(f"{len(sl.claims())} of {len(sl.claims())} claims").wait_for()


def test_every_claim_opens_on_a_phone(browser, explorer):
    with watched_tab(browser, viewport=PHONE) as page:
        open_panel(page, explorer, "/papers?paper=Rahbar")
        names = expected(paper="Rahbar")
        for number in (0, len(names) - 1):
            page.locator(ROWS).nth(number).click()
            page.wait_for_selector(f"{OPENED} h2")
            page.wait_for_function(f"document.querySelectorAll('{OPENED}').length === 1")
            assert overflow(page) <= 0
        page.wait_for_selector("img.picture")
        assert overflow(page) <= 0


def test_with_the_keyboard_only(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/papers")
        tab_to(page, "Paper")
        page.keyboard.press("Enter")
        page.get_by_role("option", name="Rahbar").wait_for()
        while not page.locator(".q-item.q-manual-focusable--focused").filter(has_text="Rahbar").count():
            page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**paper=Rahbar*")
        tab_to(page, "Words")
        page.keyboard.type("theorem")
        page.wait_for_url("**text=theorem*")
        wait_until(page, lambda: 0 < len(shown_claims(page)) < len(expected(paper="Rahbar")))
        first = shown_claims(page)[0]
        tab_to(page, first)
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "false"
        page.keyboard.press("Enter")
        page.wait_for_selector(OPENED)
        assert focused(page) == first
        assert page.evaluate("document.activeElement.getAttribute('aria-expanded')") == "true"
        tab_to(page, "Copy the command")
        while focused(page) != first:
            page.keyboard.press("Shift+Tab")
        page.keyboard.press("Enter")
        page.wait_for_function(f"!document.querySelector('{OPENED}')")


def test_wrong_values_in_the_address_are_named(browser, explorer):
    with watched_tab(browser) as page:
        open_panel(page, explorer, "/papers?verdict=%3Cimg%20src%3Dx%3E&claim=none&paper=Mandal")
        assert page.locator(".remark").count() == 2
        assert "<img src=x>" in page.locator(".remark").all_inner_texts()[1]
        assert shown_claims(page) == expected(paper="Mandal")


@pytest.fixture(scope="module")
def hostile(browser, tmp_path_factory):
    """An explorer of a run whose figures have odd names and contents."""
    runs = tmp_path_factory.mktemp("hostile") / "<b>runs"
    figures = runs / "table1-<i>digits" / "figures"
    figures.mkdir(parents=True)
    (figures.parent / "settings.toml").write_text('study = "table1"\n')
    (figures.parent / "report.html").write_text("")
    Image.fromarray(np.zeros((20, 30), dtype=np.uint8)).save(figures / "table1.png")
    Image.fromarray(np.zeros((40, 50), dtype=np.uint8)).save(figures / "<img src=x onerror=boom()>.png")
    (figures / "map.png").write_text("<script>boom()</script>")
    with started(runs) as server:
        yield server


def test_the_pictures_of_a_run_are_shown_and_its_names_are_text(browser, hostile):
    with watched_tab(browser) as page:
        open_panel(page, hostile, "/papers?claim=mandal-table-1-harder-data")
        page.wait_for_selector("img.picture")
        page.wait_for_function("document.querySelector('img.picture').naturalWidth === 30")
        assert "<b>runs/table1-<i>digits" in page.inner_text(f"{OPENED} figcaption")
        page.get_by_label("Picture").click()
        options = page.get_by_role("option").all_inner_texts()
        assert options[:2] == ["table1: table1", "table1: <img src=x onerror=boom()>"]
        assert "table1: map" not in options
        page.get_by_role("option").nth(1).click()
        page.wait_for_function("document.querySelector('img.picture').naturalWidth === 50")
