"""The margin of a data set, for the panel of the bounds."""

import softlabel as sl
from softlabel.app.children import Line


def certify(line: Line, name: str, rows: int | None) -> None:
    """Send the margin of a named data set, and the numbers that the bounds take from it.

    Messages: ("progress", a sentence), ("interval", a sentence), ("numbers", gamma, n and c by their names).
    """

    def report(at: sl.MarginProgress) -> None:
        line.send("progress", f"γ* lies in [{at.lower:.4g}, {at.upper:.4g}] so far: {at.stage}")

    result = sl.margin(name, rows=rows, options=sl.MarginOptions(progress=report))
    interval = (
        f"γ* of {name} lies in [{result.lower:.4g}, {result.upper:.4g}] with confidence {result.confidence:.0%}; its "
        f"teacher has a margin of at least {result.teacher_lower:.4g}."
    )
    line.send("interval", interval)
    inputs = result.bounds().inputs
    line.send("numbers", {key: inputs[key] for key in ("gamma", "n", "c")})
