"""What changes along the width, along λ, and with the distance of the start from what is known: rows, table, figure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from softlabel.errors import require
from softlabel.networks.privileged import (
    PrivilegedStudent,
    check_strength,
    draw_privileged_start,
    kernel_problem,
    select_units,
    unit_outputs,
)
from softlabel.ranges import check_count, check_positive, check_seed
from softlabel.report.charts import Chart, Panel, Series
from softlabel.studies.dynamics.comparison import SCALES, check_units, predict_and_train, train_teacher
from softlabel.theory.dynamics import limit, strength_tradeoff

SEEDS = 3


@dataclass(frozen=True)
class Student:
    """What every point of a sweep shares: the student, its teacher, and how they are trained.

    step    of gradient descent; None: a fifth of the largest that converges
    """

    width: int = 100
    teacher_width: int = 400
    strength: float = 1.0
    activation: str = "softplus"
    scale: float = 1.0
    iterations: int = 1000
    step: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        require(
            1 <= self.width <= self.teacher_width,
            f"width must lie between 1 and the teacher's {self.teacher_width}, got {self.width}",
        )
        check_count(self.iterations, "iterations")
        check_positive(self.scale, "scale", *SCALES)
        check_strength(self.strength)
        check_seed(self.seed)

    @property
    def seeds(self) -> range:
        return range(self.seed, self.seed + SEEDS)

    def knowing(self, x: np.ndarray, y: np.ndarray, seed: int) -> PrivilegedStudent:
        """A student that starts from units of a teacher trained on the labels, and knows their outputs."""
        teacher = train_teacher(x, y, self.teacher_width, self.activation, self.scale, self.iterations, seed)
        hidden, output = select_units(teacher.network, self.width, seed)
        known = unit_outputs(hidden, x, self.activation)
        return PrivilegedStudent(hidden, output, self.strength, known, self.activation)


@dataclass(frozen=True)
class Sweep:
    """A sweep's rows and facts (for JSON), its table, what it says in words, and its figure."""

    rows: list[dict[str, Any]]
    facts: dict[str, Any]
    title: str
    heads: list[str]
    lines: list[list[str]]
    says: list[str]
    chart: Chart


def width_sweep(
    x: np.ndarray, y: np.ndarray, widths: Sequence[int], student: Student, activations: Sequence[str]
) -> Sweep:
    """Largest deviation of prediction from simulation for students of these widths: random starts, φ_k = f_k(0)."""
    require(len(widths) >= 2, f"widths must be at least two, got {len(widths)}")
    check_units(max(widths), x, "widths")
    rows = []
    for activation in activations:
        for width in widths:
            for seed in student.seeds:
                hidden, output = draw_privileged_start(width, x.shape[1], student.scale, seed)
                known = unit_outputs(hidden, x, activation)
                start = PrivilegedStudent(hidden, output, student.strength, known, activation)
                deviation = predict_and_train(start, x, y, student.iterations, student.step)[-1]
                rows.append({"activation": activation, "width": width, "seed": seed, "deviation": deviation})
    by_name = {name: [row for row in rows if row["activation"] == name] for name in activations}
    powers = {name: fitted_power(held) for name, held in by_name.items()}
    series = [
        _banded(f"{name}: m^{powers[name]:.2f}", widths, held, "width", "deviation", role)
        for (name, held), role in zip(by_name.items(), ("soft", "hard"), strict=False)
    ]
    guide = [series[0].y[0] * (widths[0] / m) ** 0.5 for m in widths]
    series.append(Series("m^−½, for comparison", list(widths), guide, role="paper", dashed=True))
    setting = f"{len(x)} rows, λ = {student.strength:g}"
    panel = Panel(setting, series, "units m", "deviation / ‖f(0) − y‖", log_x=True, log_y=True)
    return Sweep(
        rows,
        {"powers": powers},
        f"{setting}: largest deviation over ‖f(0) − y‖, mean of {SEEDS} seeds",
        ["units", *activations],
        [
            [f"{m:,}", *(f"{mean_at(held, 'width', m, 'deviation'):.2e}" for held in by_name.values())]
            for m in widths
        ],
        [f"{name}: falls like m^{power:.2f} (theory: m^−0.5 or faster)." for name, power in powers.items()],
        Chart("kernel-deviation", "Kernel prediction against simulation",
              f"Largest deviation along the run; bands from the smallest to the largest of {SEEDS} seeds.", [panel]),
    )  # fmt: skip


def strength_sweep(x: np.ndarray, y: np.ndarray, strengths: Sequence[float], student: Student) -> Sweep:
    """Where the student ends and how fast, along λ (section 2.7)."""
    require(len(strengths) >= 2, f"strengths must be at least two, got {len(strengths)}")
    for strength in strengths:
        check_strength(strength)
    rows = []
    for seed in student.seeds:
        problem = kernel_problem(student.knowing(x, y, seed), x, y)
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
    finite = [strength for strength in strengths if 0 < strength < math.inf]
    timed = [strength for strength in strengths if strength < math.inf]
    panels = [
        Panel(
            f"λ from {min(timed):g} to {max(timed):g}, joined in order",
            [
                Series(
                    "true limit",
                    [mean_at(rows, "strength", strength, "slowest_pole") for strength in timed],
                    [mean_at(rows, "strength", strength, "error") for strength in timed],
                    role="soft",
                )
            ],
            "slowest active pole (faster →)",
            "mean (y − f)² at the end",
            log_x=True,
        ),
        Panel(
            f"{len(x)} rows, {student.width} of {student.teacher_width} units",
            [
                _banded("true limit", finite, rows, "strength", "error", "soft"),
                _banded("as printed", finite, rows, "strength", "printed_error", "paper", dashed=True),
            ],
            "λ",
            "mean (y − f)² at the end",
            log_x=True,
        ),
    ]
    lines = []
    for strength in strengths:
        key = None if math.isinf(strength) else strength
        numbers = [
            mean_at(rows, "strength", key, name) for name in ("error", "printed_error", "slowest_pole", "settled")
        ]
        lines.append(["∞ (in time λt)" if key is None else f"{strength:g}", *(f"{number:.4g}" for number in numbers)])
    means = [mean_at(rows, "strength", strength, "error") for strength in sorted(timed)]
    times = [mean_at(rows, "strength", strength, "settled") for strength in sorted(timed)]
    rising = all(later >= earlier - 1e-12 for earlier, later in pairwise(means))
    quicker = all(later <= earlier for earlier, later in pairwise(times))
    return Sweep(
        rows,
        {"error_rises": rising, "settles_sooner": quicker},
        f"{len(x)} rows, {student.width} of {student.teacher_width} units: the end along λ, mean of {SEEDS} seeds",
        ["λ", "mean (y − f)²", "as printed", "slowest active pole", "settled after"],
        lines,
        [
            f"The error {'rises with λ, as section 2.7 says' if rising else 'does not rise with λ everywhere'}.",
            f"The student {'settles sooner' if quicker else 'does not always settle sooner'} with larger λ (a tenth of "
            "its way left).",
        ],
        Chart("strength", "What λ trades: speed against error",
              f"Means of {SEEDS} seeds; bands from smallest to largest.", panels, share_y=False),
    )  # fmt: skip


def distance_sweep(x: np.ndarray, y: np.ndarray, shifts: Sequence[float], student: Student) -> Sweep:
    """Starts moved away from the known units by shift × scale × N(0, 1): what giving up Assumption 4 costs."""
    require(len(shifts) >= 2, f"distances must be at least two, got {len(shifts)}")
    require(max(shifts) <= SCALES[1], f"distances must be at most {SCALES[1]:g}, got {max(shifts)}")
    rows = []
    for seed in student.seeds:
        near = student.knowing(x, y, seed)
        noise, _ = draw_privileged_start(student.width, x.shape[1], student.scale, seed + 1000)
        for shift in shifts:
            moved = replace(near, hidden=near.hidden + shift * noise)
            dynamics, run, predicted, deviation = predict_and_train(moved, x, y, student.iterations, student.step)
            problem = dynamics.problem
            away = float((problem.privileged - problem.features).norm(dim=1).max())
            rows.append(
                {
                    "shift": float(shift),
                    "seed": seed,
                    "distance": away,
                    "limit_error": float((limit(problem) - problem.y).square().mean()),
                    "predicted_error": float(np.mean((predicted[-1] - y) ** 2)),
                    "simulated_error": run.train[-1],
                    "deviation": deviation,
                }
            )
    distances = [mean_at(rows, "shift", shift, "distance") for shift in shifts]

    def along(name: str, key: str, role: str, **options: Any) -> Series:
        return replace(_banded(name, shifts, rows, "shift", key, role, **options), x=distances)

    axis = "largest ‖φ_k − f_k(0)‖"
    panels = [
        Panel(
            f"after {student.iterations:,} steps",
            [
                along("simulated", "simulated_error", "soft"),
                along("predicted by the kernel", "predicted_error", "hard", dashed=True),
                along("predicted limit", "limit_error", "paper", dashed=True),
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
        f"{len(x)} rows, {student.width} units, λ = {student.strength:g}: starts moved away, mean of {SEEDS} seeds",
        ["shift", "‖φ_k − f_k(0)‖", "limit", "predicted", "simulated", "deviation"],
        [[f"{s:g}", *(f"{mean_at(rows, 'shift', s, name):.3g}" for name in names)] for s in shifts],
        [f"The prediction misses by {first:.2%} of ‖f(0) − y‖ at shift {shifts[0]:g}, {last:.2%} at {shifts[-1]:g}."],
        Chart("distance", "Starts away from what is known (Assumption 4 given up)",
              f"Means of {SEEDS} seeds; bands from smallest to largest.", panels, share_y=False),
    )  # fmt: skip


def fitted_power(rows: Sequence[dict[str, Any]]) -> float:
    """The power of m with which deviations fall, by least squares on a double logarithmic scale."""
    widths, deviations = (np.log([row[name] for row in rows]) for name in ("width", "deviation"))
    return float(np.polyfit(widths, deviations, 1)[0])


def mean_at(rows: Sequence[dict[str, Any]], key: str, place: Any, name: str) -> float:
    """Mean of `name` over the rows whose `key` is `place`."""
    return float(np.mean([row[name] for row in rows if row[key] == place]))


def _banded(
    name: str, places: Sequence[Any], rows: Sequence[dict[str, Any]], key: str, value: str, role: str, **options: Any
) -> Series:
    """Means over seeds at the places, from the smallest to the largest seed."""
    held = [[row[value] for row in rows if row[key] == place] for place in places]
    means = [float(np.mean(part)) for part in held]
    return Series(name, list(places), means, [min(part) for part in held], [max(part) for part in held],
                  role=role, **options)  # fmt: skip
