"""Margin γ_m of students' initial features against their width, with the certified interval of γ*."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from softlabel.numerics.files import replacing


def draw_init_margins(rows: Sequence[dict[str, Any]], lower: float, upper: float, path: Path) -> None:
    """Save the figure as a PNG file at `path`; each row has the keys "width", "seed" and "gamma"."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4), layout="constrained")
    axis = figure.subplots()
    widths = sorted({row["width"] for row in rows})
    axis.axhspan(lower, upper, color="tab:orange", alpha=0.3, label="γ* (certified interval)")
    axis.plot([row["width"] for row in rows], [row["gamma"] for row in rows], "o", color="tab:blue", alpha=0.6)
    means = [np.mean([row["gamma"] for row in rows if row["width"] == width]) for width in widths]
    axis.plot(widths, means, "-", color="tab:blue", label="γ_m at initialization (points: seeds)")
    axis.set_xscale("log", base=2)
    axis.set_xticks(widths, [f"{width:,}" for width in widths])
    axis.set_ylim(bottom=0)
    axis.set_xlabel("neurons m")
    axis.set_ylabel("margin")
    axis.set_title("Separability of a student's initial features (Lemma 6)", fontsize=10)
    axis.legend(frameon=False, loc="lower right")
    axis.grid(alpha=0.3)
    with replacing(path) as part:
        figure.savefig(part, format="png", dpi=130)
