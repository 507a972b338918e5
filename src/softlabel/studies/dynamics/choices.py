"""Students made of randomly chosen units of a teacher: Theorem 2, the lottery ticket, and two stages against one.

Theory gives what a choice leaves, e²; with it stands what students leave that were really trained: directly from the
teacher, for twice as long, and through an intermediate network that was itself trained (m̄ → m_1 → m, m_1² = m m̄).
A student whose outputs are corrected has a_k = ā_k/q, so that its units stand for the whole teacher.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.errors import require
from softlabel.networks.privileged import (
    PrivilegedStudent,
    kernel_problem,
    select_units,
    train_privileged,
    unit_outputs,
)
from softlabel.networks.two_layer import TwoLayer
from softlabel.report.charts import Chart, Panel, Series
from softlabel.studies.dynamics.comparison import SHARE, train_teacher
from softlabel.studies.dynamics.sweeps import Student, Sweep
from softlabel.theory.dynamics import kernel_dynamics, limit
from softlabel.theory.lottery import Selection, weighted_units

DRAWS = 400
TRAINED = 20
SHOWN = {
    "corrected": "e², q",
    "expected": "theory",
    "uncorrected": "no q",
    "two_choices": "twice",
    "multiplied": "product",
    "ticket": "λ = 0",
    "direct, twice as long": "direct",
    "two stages": "two stages",
}
ROUTES = ("direct", "direct, twice as long", "two stages")


def choice_sweep(x: np.ndarray, y: np.ndarray, counts: Sequence[int], student: Student) -> Sweep:
    """What students of `counts` units, chosen at random among the teacher's, leave."""
    total = student.teacher_width
    for count in counts:
        require(1 <= count < total, f"cannot choose {count} of the teacher's {total} units; give 1 to {total - 1}")
    teacher = train_teacher(x, y, total, student.activation, student.scale, student.iterations, student.seed).network
    features = unit_outputs(teacher.hidden, x, student.activation)
    units = weighted_units(teacher.output.double().numpy()[0], features)
    rows = [_row(x, y, teacher, units, count, student) for count in counts]
    return Sweep(
        rows,
        {"teacher_units": total, "draws": DRAWS, "trained": TRAINED},
        f"{len(x)} rows, teacher of {total} units, λ = {student.strength:g}: e²/n of choices, and mean (y − f)² of "
        "students trained equally long",
        ["units", *SHOWN.values()],
        [_line(row) for row in rows],
        _says(rows),
        _chart(rows),
    )  # fmt: skip


def _row(
    x: np.ndarray, y: np.ndarray, teacher: TwoLayer, units: np.ndarray, count: int, student: Student
) -> dict[str, Any]:
    n, total = len(y), len(units)
    through = max(count, round(math.sqrt(count * total)))
    with_q, without = Selection(units, count), Selection(units, count, corrected=False)
    direct, plain = with_q.draw(DRAWS, student.seed), without.draw(DRAWS, student.seed)
    staged = with_q.draw(DRAWS, student.seed + 1, through=through)
    row = {
        "units": count,
        "left_out": 1 - count / total,
        "through": through,
        "corrected": _mean(direct / n),
        "expected": with_q.expected() / n,
        "bound": with_q.bound() / n,
        "uncorrected": _mean(plain / n),
        "uncorrected_expected": without.expected() / n,
        "two_choices": _mean(staged / n),
        "multiplied": (1 - count / through) * (1 - through / total) / (1 - count / total) * with_q.expected() / n,
        "ticket": _ticket(x, y, teacher, count, student),
    }
    return row | {name: _mean(errors) for name, errors in _trained(x, y, teacher, count, through, student).items()}


def _mean(values: np.ndarray) -> dict[str, float]:
    """Mean and half the width of its 95 % interval."""
    return {"mean": float(values.mean()), "half_width": float(1.96 * values.std(ddof=1) / math.sqrt(len(values)))}


def _start(
    x: np.ndarray, network: TwoLayer, count: int, strength: float, seed: int, name: str = ""
) -> PrivilegedStudent:
    """A corrected student of `count` randomly chosen units of a network, that knows their outputs."""
    hidden, output = select_units(network, count, seed)
    q = math.sqrt(count / network.width)
    known = unit_outputs(hidden, x, network.activation)
    return PrivilegedStudent(hidden, output / q, strength, known, network.activation, name)


def _ticket(x: np.ndarray, y: np.ndarray, teacher: TwoLayer, count: int, student: Student) -> float:
    """Where a chosen student ends that is trained by the labels alone (λ = 0), in the kernel regime."""
    problem = kernel_problem(_start(x, teacher, count, 0.0, student.seed), x, y)
    return float((limit(problem) - problem.y).square().mean())


def _trained(
    x: np.ndarray, y: np.ndarray, teacher: TwoLayer, count: int, through: int, student: Student
) -> dict[str, np.ndarray]:
    """mean (y − f)² of trained students, (trained,) for each route."""
    seeds = range(student.seed, student.seed + TRAINED)

    def train(starts: list[PrivilegedStudent], times: int = 1) -> list[Any]:
        step = student.step or SHARE * min(
            kernel_dynamics(kernel_problem(start, x, y), vectors=20).largest_step for start in starts
        )
        return train_privileged(x, y, starts, iterations=times * student.iterations, step=step)

    starts = [_start(x, teacher, count, student.strength, seed) for seed in seeds]
    middle = train([_start(x, teacher, through, student.strength, seed) for seed in seeds])
    later = [_start(x, run.network, count, student.strength, seed) for run, seed in zip(middle, seeds, strict=True)]
    found = {"direct": train(starts), "direct, twice as long": train(starts, 2), "two stages": train(later)}
    return {name: np.array([run.train[-1] for run in found[name]]) for name in ROUTES}


def _line(row: dict[str, Any]) -> list[str]:
    values = [row[name] for name in SHOWN]
    numbers = [value["mean"] if isinstance(value, dict) else value for value in values]
    return [f"{row['units']:,}", *(f"{number:.2g}" for number in numbers)]


def _says(rows: Sequence[dict[str, Any]]) -> list[str]:
    inside = sum(
        abs(row["corrected"]["mean"] - row["expected"]) <= 1.5 * row["corrected"]["half_width"] for row in rows
    )
    gaps = [row["direct, twice as long"]["mean"] - row["two stages"]["mean"] for row in rows]
    widths = [math.hypot(row["direct, twice as long"]["half_width"], row["two stages"]["half_width"]) for row in rows]
    better = sum(gap > width for gap, width in zip(gaps, widths, strict=True))
    worse = sum(gap < -width for gap, width in zip(gaps, widths, strict=True))
    return [
        f"(1 − m/m̄) S² is the mean over choices at {inside} of {len(rows)} sizes, within their noise.",
        "A choice from a choice leaves what one choice leaves; multiplied errors (section 7.4.1) do not happen.",
        f"Trained for as long in all, two stages end better at {better} and worse at {worse} of {len(rows)} sizes.",
    ]


def _chart(rows: Sequence[dict[str, Any]]) -> Chart:
    x = [row["left_out"] for row in rows]

    def line(name: str, key: str, role: str, **options: Any) -> Series:
        values = [row[key] for row in rows]
        if not isinstance(values[0], dict):
            return Series(name, x, values, role=role, **options)
        low, high = ([v["mean"] + sign * v["half_width"] for v in values] for sign in (-1, 1))
        return Series(name, x, [v["mean"] for v in values], low, high, role=role, **options)

    axis = "1 − m/m̄"
    panels = [
        Panel(
            "what a choice leaves, e²/n",
            [
                line("with q", "corrected", "soft", marks=True),
                line("(1 − m/m̄) S²", "expected", "soft", dashed=True),
                line("bound, C = 1", "bound", "paper", dashed=True),
                line("without q", "uncorrected", "hard"),
                line("two choices", "two_choices", "extra", marks=True),
                line("if stages multiplied", "multiplied", "other", dashed=True),
            ],
            axis,
            "e²/n",
            log_y=True,
        ),
        Panel(
            "what trained students leave",
            [line(name, name, role) for name, role in zip(ROUTES, ("soft", "hard", "extra"), strict=True)],
            axis,
            "mean (y − f)²",
            log_y=True,
        ),
    ]
    return Chart("choices", "Students of randomly chosen units (Theorem 2, section 7.4.1)",
                 f"Means of {DRAWS} choices and of {TRAINED} trained students, with 95 % intervals.", panels,
                 share_y=False)  # fmt: skip
