"""Colors of the explorer: text is readable in both schemes (WCAG AA)."""

import re
from itertools import product
from pathlib import Path

import pytest

import softlabel.app

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
