"""Sweeps along the width, along λ, and along the distance of the initialization from the privileged knowledge."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.errors import require
from softlabel.lab.study import Result
from softlabel.networks.privileged import (
    PrivilegedStudent,
    check_strength,
    draw_privileged_init,
    kernel_problem,
    unit_outputs,
)
from softlabel.report.charts import Chart, Panel, Series
from softlabel.report.page import Table
from softlabel.studies.dynamics.student import SCALES, SEEDS, StudentSettings, check_units
from softlabel.theory.dynamics import limit, strength_tradeoff

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Result):
    """The result of a sweep.

    Attributes
    ----------
    rows : list of dict
        The measured numbers of every point and seed.
    facts : dict
        What follows from all rows together.
    title, header, lines
        A table of means over seeds.
    sentences : list of str
        What the sweep says in words.
    chart : Chart
        Its figure.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.dynamics("digits", rows=20, width=5, teacher_width=10, iterations=10, sweep={"strengths": [0, 1]})
    >>> len(result.rows)
    6
    """

    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    title: str
    header: list[str]
    lines: list[list[str]]
    sentences: list[str]
    chart: Chart

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {"rows": self.rows, **self.facts}

    @property
    def summary(self) -> list[str]:
        """What the sweep says in plain sentences."""
        return self.sentences

    @property
    def table(self) -> Table:
        """Means over seeds."""
        return Table(self.title, self.title, self.header, self.lines)

    def plot(self) -> "Figure":
        """The measured numbers along the sweep, as a Matplotlib figure."""
        from softlabel.report.drawing import chart_figure

        return chart_figure(self.chart)

    def _repr_html_(self) -> str:
        from softlabel.report.notebook import result_html

        return result_html(self.summary, self.plot(), self.table)


def width_sweep(
    x: np.ndarray, y: np.ndarray, widths: Sequence[int], student: StudentSettings, activations: Sequence[str]
) -> Sweep:
    """Largest deviation of prediction from simulation by width, for random initializations with φ_k = f_k(0)."""
    require(len(widths) >= 2, f"widths must contain at least two values, got {len(widths)}")
    check_units(max(widths), x, "widths")
    rows = []
    for activation in activations:
        for width in widths:
            for seed in student.seeds:
                hidden, output = draw_privileged_init(width, x.shape[1], student.init_scale, seed)
                known = unit_outputs(hidden, x, activation)
                initial = PrivilegedStudent(hidden, output, student.strength, known, activation)
                deviation = student.simulate(initial, x, y).deviation
                rows.append({"activation": activation, "width": width, "seed": seed, "deviation": deviation})
    by_name = {name: [row for row in rows if row["activation"] == name] for name in activations}
    powers = {name: fitted_power(own) for name, own in by_name.items()}
    series = [
        _banded(f"{name}: {_power_of_m(powers[name])}", widths, own, "width", "deviation", role)
        for (name, own), role in zip(by_name.items(), ("soft", "hard"), strict=False)
    ]
    guide = [series[0].y[0] * (widths[0] / m) ** 0.5 for m in widths]
    series.append(Series("1/√m, for comparison", list(widths), guide, role="paper", dashed=True))
    setting = f"{len(x)} rows, λ = {student.strength:g}"
    panel = Panel(setting, series, "units m", "deviation / ‖f(0) − y‖", log_x=True, log_y=True, ticks=widths)
    return Sweep(
        rows,
        {"powers": powers},
        f"{setting}: largest deviation over ‖f(0) − y‖, mean of {SEEDS} seeds",
        ["units", *activations],
        [
            [f"{m:,}", *(f"{mean_at(own, 'width', m, 'deviation'):.2e}" for own in by_name.values())]
            for m in widths
        ],
        [f"{name}: falls like {_power_of_m(power)} (theory: like 1/√m or faster)." for name, power in powers.items()],
        Chart("kernel-deviation", "Kernel prediction against simulation",
              f"Largest deviation along the run; bands from the smallest to the largest of {SEEDS} seeds.", [panel]),
    )  # fmt: skip


def strength_sweep(x: np.ndarray, y: np.ndarray, strengths: Sequence[float], student: StudentSettings) -> Sweep:
    """Where the student ends and how fast, along λ (section 2.7)."""
    require(len(strengths) >= 2, f"strengths must contain at least two values, got {len(strengths)}")
    for strength in strengths:
        check_strength(strength)
    rows = []
    for seed in student.seeds:
        problem = kernel_problem(student.informed(x, y, seed), x, y)
        rows.extend(
            {
                "strength": None if math.isinf(trade.strength) else trade.strength,
                "seed": seed,
                "error": trade.error**2 / len(y),
                "printed_error": trade.printed_error**2 / len(y),
                "slowest_pole": trade.slowest_active,
                "settled": trade.settled,
            }
            for trade in strength_tradeoff(problem, strengths)
        )
    timed = sorted(strength for strength in strengths if strength < math.inf)
    errors, times = ([mean_at(rows, "strength", s, name) for s in timed] for name in ("error", "settled"))
    rising = all(later >= earlier - 1e-12 for earlier, later in pairwise(errors))
    quicker = all(later <= earlier for earlier, later in pairwise(times))
    return Sweep(
        rows,
        {"error_rises": rising, "settles_sooner": quicker},
        f"{len(x)} rows, {student.width} of {student.teacher_width} units: the end along λ, mean of {SEEDS} seeds",
        ["λ", "mean (y − f)²", "as printed", "slowest active pole", "settled after"],
        [_strength_line(rows, strength) for strength in strengths],
        [
            f"The error {'rises with λ, as section 2.7 says' if rising else 'does not rise with λ everywhere'}.",
            f"The student {'settles sooner' if quicker else 'does not always settle sooner'} with larger λ (a tenth of "
            "the distance remains).",
        ],
        _strength_chart(rows, strengths, f"{len(x)} rows, {student.width} of {student.teacher_width} units"),
    )


def _strength_line(rows: Sequence[dict[str, Any]], strength: float) -> list[str]:
    key = None if math.isinf(strength) else strength
    names = ("error", "printed_error", "slowest_pole", "settled")
    numbers = [f"{mean_at(rows, 'strength', key, name):.4g}" for name in names]
    return ["∞ (in time λt)" if key is None else f"{strength:g}", *numbers]


def _strength_chart(rows: Sequence[dict[str, Any]], strengths: Sequence[float], setting: str) -> Chart:
    timed = [strength for strength in strengths if strength < math.inf]
    poles, errors = ([mean_at(rows, "strength", s, name) for s in timed] for name in ("slowest_pole", "error"))
    infinite = []
    if math.inf in strengths:  # its poles refer to the time λt
        error = mean_at(rows, "strength", None, "error")
        infinite = [Series("λ = ∞, error only", [min(poles), max(poles)], [error, error], role="extra", dashed=True)]
    names = {None if math.isinf(s) else s: "∞" if math.isinf(s) else f"{s:g}" for s in strengths}
    named = [row | {"strength": names[row["strength"]]} for row in rows]
    printed = _banded("as printed", [*names.values()], named, "strength", "printed_error", "paper")
    panels = [
        Panel(
            f"each point is one λ, joined from {min(timed):g} to {max(timed):g}",
            [Series("true limit", poles, errors, role="soft"), *infinite],
            "slowest active pole (faster →)",
            "mean (y − f)² at the end",
            log_x=True,
        ),
        Panel(
            setting,
            [
                _banded("true limit", [*names.values()], named, "strength", "error", "soft"),
                replace(printed, low=None, high=None, marks=True),
            ],
            "λ",
            "mean (y − f)² at the end",
        ),
    ]
    caption = f"Means of {SEEDS} seeds; bands from smallest to largest."
    return Chart("strength", "The tradeoff that λ controls: speed against error", caption, panels, share_y=False)


def distance_sweep(x: np.ndarray, y: np.ndarray, shifts: Sequence[float], student: StudentSettings) -> Sweep:
    """Initializations moved away from the known units by shift × init_scale × N(0, 1), which violates Assumption 4."""
    require(len(shifts) >= 2, f"distances must contain at least two values, got {len(shifts)}")
    require(max(shifts) <= SCALES[1], f"distances must be at most {SCALES[1]:g}, got {max(shifts)}")
    rows = []
    for seed in student.seeds:
        near = student.informed(x, y, seed)
        noise, _ = draw_privileged_init(student.width, x.shape[1], student.init_scale, seed + 1000)
        for shift in shifts:
            moved = replace(near, hidden=near.hidden + shift * noise)
            simulation = student.simulate(moved, x, y)
            problem = simulation.dynamics.problem
            away = float((problem.privileged - problem.features).norm(dim=1).max())
            rows.append(
                {
                    "shift": float(shift),
                    "seed": seed,
                    "distance": away,
                    "limit_error": float((limit(problem) - problem.y).square().mean()),
                    "predicted_error": float(np.mean((simulation.predicted[-1] - y) ** 2)),
                    "simulated_error": simulation.run.train[-1],
                    "deviation": simulation.deviation,
                }
            )
    distances = [mean_at(rows, "shift", shift, "distance") for shift in shifts]

    def along(name: str, key: str, role: str, **options: Any) -> Series:
        return replace(_banded(name, shifts, rows, "shift", key, role, **options), x=distances)

    axis = "largest ‖φₖ − fₖ(0)‖"
    panels = [
        Panel(
            f"after {student.iterations:,} steps",
            [
                along("simulated", "simulated_error", "soft"),
                replace(along("predicted by the kernel", "predicted_error", "hard", dashed=True), low=None, high=None),
                replace(along("predicted limit", "limit_error", "paper", dashed=True), low=None, high=None),
            ],
            axis,
            "mean (y − f)²",
        ),
        Panel("prediction against simulation", [along("deviation", "deviation", "extra")], axis,
              "deviation / ‖f(0) − y‖"),
    ]  # fmt: skip
    names = ("distance", "limit_error", "predicted_error", "simulated_error", "deviation")
    first, last = (mean_at(rows, "shift", shift, "deviation") for shift in (shifts[0], shifts[-1]))
    return Sweep(
        rows,
        {},
        f"{len(x)} rows, {student.width} units, λ = {student.strength:g}: moved initializations, mean of {SEEDS} seeds",
        ["shift", "‖φ_k − f_k(0)‖", "limit", "predicted", "simulated", "deviation"],
        [[f"{s:g}", *(f"{mean_at(rows, 'shift', s, name):.3g}" for name in names)] for s in shifts],
        [f"The prediction deviates by {first:.2%} of ‖f(0) − y‖ at shift {shifts[0]:g}, {last:.2%} at {shifts[-1]:g}."],
        Chart("distance", "Initializations away from the known units (without Assumption 4)",
              f"Means of {SEEDS} seeds; bands from smallest to largest.", panels, share_y=False),
    )  # fmt: skip


def fitted_power(rows: Sequence[dict[str, Any]]) -> float:
    """The power of m with which deviations decrease, by least squares on logarithmic scales."""
    widths, deviations = (np.log([row[name] for row in rows]) for name in ("width", "deviation"))
    return float(np.polyfit(widths, deviations, 1)[0])


def _power_of_m(power: float) -> str:
    """A power of m, such as m⁻⁰·⁸⁷."""
    return "m" + f"{power:.2f}".translate(str.maketrans("0123456789-.", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻·"))


def mean_at(rows: Sequence[dict[str, Any]], key: str, value: Any, name: str) -> float:
    """Mean of `name` over the rows whose `key` is `value`."""
    return float(np.mean([row[name] for row in rows if row[key] == value]))


def _banded(
    name: str, points: Sequence[Any], rows: Sequence[dict[str, Any]], key: str, value: str, role: str, **options: Any
) -> Series:
    """Means over seeds at the points, with a band from the smallest to the largest value."""
    values = [[row[value] for row in rows if row[key] == point] for point in points]
    means = [float(np.mean(part)) for part in values]
    low, high = [min(part) for part in values], [max(part) for part in values]
    return Series(name, list(points), means, low, high, role=role, **options)
