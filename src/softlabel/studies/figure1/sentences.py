"""What the result of Figure 1 says, in sentences."""

from softlabel.errors import counted
from softlabel.lab.statistics import Interval
from softlabel.studies.figure1.family import NAMES, NetworkFamily

VERDICTS = {
    "holds": "soft − hard rises with the noise",
    "does not hold": "soft − hard falls with the noise",
    "open": "it is not decided whether soft − hard changes with the noise",
}


def slope_sentence(family: NetworkFamily) -> str:
    """Whether the gap rises with the noise, and what it is at every level."""
    gaps = ", ".join(f"{level.gap:+.2f} at noise {level.noise:g}" for level in family.levels)
    no_gain = family.verdict == "holds" and all(level.gap.low <= 0 for level in family.levels)
    caveat = "; soft labels are not shown to win at any of these levels" if no_gain else ""
    return (
        f"{NAMES[family.name]}: {VERDICTS[family.verdict]}, {family.slope:+.2f} points per 0.1 of noise; it is {gaps}"
        f"{caveat}."
    )


def reason_sentence(family: NetworkFamily) -> str:
    """Students that never left chance, and how much of the slope comes from them."""
    name = NAMES[family.name]
    if not any(level.failed[arm].mean for level in family.levels for arm in ("hard", "soft")):
        return f"{name}: all students learned."
    counts = "; ".join(
        f"at noise {level.noise:g}: {_count(level.failed['hard'])} with hard and {_count(level.failed['soft'])} with "
        "soft labels"
        for level in family.levels
    )
    others = "" if family.started is None else f"; among these {family.learned} the slope is {family.started:+.2f}"
    return (
        f"{name}, students that never left chance: {counts}. Of the slope, {family.parts['at chance']:+.2f} comes from "
        f"{counted(family.slope.runs - family.learned, 'seed')} with such a student and {family.parts['learned']:+.2f} "
        f"from the others{others}."
    )


def teacher_sentence(family: NetworkFamily) -> str:
    """Teachers against students with hard labels."""
    parts = ", ".join(
        f"not known at noise {level.noise:g}"
        if level.ahead is None
        else f"{level.ahead:+.2f} points at noise {level.noise:g}"
        for level in family.levels
    )
    return f"{NAMES[family.name]}, teacher − student with hard labels, where that student learned: {parts}."


def teacher_warnings(family: NetworkFamily) -> list[str]:
    """Teachers that never left chance, or are not shown to be better than students that learned."""
    lines = []
    for level in family.levels:
        where, failed = f"{NAMES[family.name]}, noise {level.noise:g}", level.failed["teacher"]
        if failed.mean:
            lines.append(f"{where}: {_count(failed)} teachers never left chance.")
        if level.ahead is not None and level.ahead.low <= 0:
            word = "less accurate" if level.ahead.high < 0 else "not shown to be more accurate"
            lines.append(
                f"{where}: the teacher is {word} than students with hard labels that learned; teacher − student is "
                f"{level.ahead:+.2f} points."
            )
    return lines


def _count(share: Interval) -> str:
    return f"{round(share.mean * share.runs)} of {share.runs} ({share.low:.0%} … {share.high:.0%})"
