"""Colors of the explorer: text is readable in both schemes (WCAG AA)."""

import re
from itertools import product
from pathlib import Path

import pytest

import softlabel.app
from softlabel.report.charts import COLORS

STYLE = (Path(softlabel.app.__file__).parent / "style.css").read_text(encoding="utf-8")


def colors(selector: str) -> dict[str, str]:
    """The variables of a rule by name."""
    rule = re.search(re.escape(selector) + r" \{([^}]*)\}", STYLE)
    assert rule is not None
    return dict(re.findall(r"--([\w-]+): (#[0-9a-fA-F]{6})", rule[1]))


def luminance(color: str) -> float:
    parts = [int(color[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_contrast_of_black_and_white():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("selector", [":root", "body.body--dark"])
def test_text_is_readable_on_both_backgrounds(selector):
    scheme = colors(":root") | colors(selector)
    names = ("ink", "muted", "link", "good", "bad", "warn")
    poor = {
        (text, back): round(contrast(scheme[text], scheme[back]), 2)
        for text, back in product(names, ("back", "card"))
        if contrast(scheme[text], scheme[back]) < 4.5
    }
    assert poor == {}


SCHEMES = pytest.mark.parametrize("scheme", [":root", "body.body--dark"])


def blend(color: str, back: str, share: float) -> str:
    """A color of which this share covers another one."""
    parts = [(int(color[k : k + 2], 16), int(back[k : k + 2], 16)) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(share * one + (1 - share) * other):02x}" for one, other in parts)


@SCHEMES
@pytest.mark.parametrize(
    ("selector", "under", "names"),
    [
        (".nav-link:hover", "card", ("ink",)),
        (".nav-link.here", "card", ("ink",)),
        (".claim:hover", "back", ("ink", "muted", "link", "good", "bad", "warn")),
        (".run-choice.here", "back", ("ink", "muted", "link", "good", "bad")),
    ],
)
def test_text_is_readable_where_the_background_is_tinted(scheme, selector, under, names):
    shown = colors(":root") | colors(scheme)
    tint = re.search(re.escape(selector) + r" \{[^}]*color-mix\(in srgb, var\(--link\) (\d+)%, transparent\)", STYLE)
    back = blend(shown["link"], shown[under], int(tint[1]) / 100)
    assert {name: round(contrast(shown[name], back), 2) for name in names if contrast(shown[name], back) < 4.5} == {}


def test_these_are_all_tints():
    assert STYLE.count("color-mix(") == 4


def test_text_is_never_made_transparent():
    faded = re.findall(r"([^{}]+) \{[^}]*opacity:", STYLE)
    assert [selector.strip() for selector in faded] == [".stale .scatterlayer"], "lines of charts, not their text"


@SCHEMES
def test_a_button_that_warns_is_readable(scheme):
    """`frame` gives buttons the bad color of the light scheme, the style sheet that of the dark one."""
    shown = colors(":root") | colors(scheme)
    frame = (Path(softlabel.app.__file__).parent / "frame.py").read_text(encoding="utf-8")
    negative = re.search(r'negative="(#\w{6})"', frame)[1]
    if scheme != ":root":
        rule = re.search(r"\.body--dark \.text-negative \{ --q-negative: var\(--(\w+)\); \}", STYLE)
        negative = shown[rule[1]]
    assert min(contrast(negative, shown["back"]), contrast(negative, shown["card"])) >= 4.5


def test_soft_and_hard_labels_have_the_colors_of_the_figures():
    shown = colors(":root")
    assert (shown["soft-labels"], shown["hard-labels"]) == (COLORS["soft"], COLORS["hard"])
