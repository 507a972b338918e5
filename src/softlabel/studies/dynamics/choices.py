"""Students made of randomly chosen units of a teacher: Theorem 2, the lottery ticket, and two stages against one.

Theory gives the error of a choice, e². It is compared with the errors of trained students: directly from the teacher,
for twice as long, and through an intermediate trained network (m̄ → m_1 → m, m_1² = m m̄). A student with corrected
outputs has a_k = ā_k/q, so that its units represent all units of the teacher.
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
from softlabel.studies.dynamics.student import SHARE, StudentSettings, max_learning_rate
from softlabel.studies.dynamics.sweeps import Sweep
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


def choice_sweep(x: np.ndarray, y: np.ndarray, counts: Sequence[int], student: StudentSettings) -> Sweep:
    """Errors of students of `counts` units, chosen at random among the teacher's."""
    total = student.teacher_width
    for count in counts:
        require(1 <= count < total, f"cannot choose {count} of the teacher's {total} units; use 1 to {total - 1}")
    teacher = student.teacher(x, y, student.seed)
    features = unit_outputs(teacher.hidden, x, student.activation)
    units = weighted_units(teacher.output.double().numpy()[0], features)
    rows = [_row(x, y, teacher, units, count, student) for count in counts]
    return Sweep(
        rows,
        {"teacher_units": total, "draws": DRAWS, "trained": TRAINED},
        f"{len(x)} rows, teacher of {total} units, λ = {student.strength:g}: e²/n of choices, and mean (y − f)² of "
        "students trained for equally many steps",
        ["units", *SHOWN.values()],
        [_line(row) for row in rows],
        _sentences(rows),
        _chart(rows),
    )  # fmt: skip


def _row(
    x: np.ndarray, y: np.ndarray, teacher: TwoLayer, units: np.ndarray, count: int, student: StudentSettings
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
    """Mean and half-width of its 95% interval."""
    return {"mean": float(values.mean()), "half_width": float(1.96 * values.std(ddof=1) / math.sqrt(len(values)))}


def _chosen(x: np.ndarray, network: TwoLayer, count: int, strength: float, seed: int) -> PrivilegedStudent:
    """A corrected student of `count` randomly chosen units of a network, with their outputs as knowledge."""
    hidden, output = select_units(network, count, seed)
    q = math.sqrt(count / network.width)
    known = unit_outputs(hidden, x, network.activation)
    return PrivilegedStudent(hidden, output / q, strength, known, network.activation)


def _ticket(x: np.ndarray, y: np.ndarray, teacher: TwoLayer, count: int, student: StudentSettings) -> float:
    """Error of a chosen student that is trained on the labels only (λ = 0), in the kernel regime."""
    problem = kernel_problem(_chosen(x, teacher, count, 0.0, student.seed), x, y)
    return float((limit(problem) - problem.y).square().mean())


def _trained(
    x: np.ndarray, y: np.ndarray, teacher: TwoLayer, count: int, through: int, student: StudentSettings
) -> dict[str, np.ndarray]:
    """Mean (y − f)² of trained students, (trained,) for each route."""
    seeds = range(student.seed, student.seed + TRAINED)

    def train(students: list[PrivilegedStudent], times: int = 1) -> list[Any]:
        learning_rate = student.learning_rate or SHARE * max_learning_rate(
            kernel_dynamics(kernel_problem(one, x, y), vectors=20) for one in students
        )
        return train_privileged(x, y, students, iterations=times * student.iterations, learning_rate=learning_rate)

    first = [_chosen(x, teacher, count, student.strength, seed) for seed in seeds]
    middle = train([_chosen(x, teacher, through, student.strength, seed) for seed in seeds])
    later = [_chosen(x, run.network, count, student.strength, seed) for run, seed in zip(middle, seeds, strict=True)]
    runs = {"direct": train(first), "direct, twice as long": train(first, 2), "two stages": train(later)}
    return {name: np.array([run.train[-1] for run in runs[name]]) for name in ROUTES}


def _line(row: dict[str, Any]) -> list[str]:
    values = [row[name] for name in SHOWN]
    numbers = [value["mean"] if isinstance(value, dict) else value for value in values]
    return [f"{row['units']:,}", *(f"{number:.2g}" for number in numbers)]


def _sentences(rows: Sequence[dict[str, Any]]) -> list[str]:
    inside = sum(
        abs(row["corrected"]["mean"] - row["expected"]) <= 1.5 * row["corrected"]["half_width"] for row in rows
    )
    gaps = [row["direct, twice as long"]["mean"] - row["two stages"]["mean"] for row in rows]
    errors = [math.hypot(row["direct, twice as long"]["half_width"], row["two stages"]["half_width"]) for row in rows]
    better = sum(gap > error for gap, error in zip(gaps, errors, strict=True))
    worse = sum(gap < -error for gap, error in zip(gaps, errors, strict=True))
    compared = (
        f"is smaller than that of direct training at {better} of {len(rows)} sizes and larger at {worse}"
        if better or worse
        else "differs from that of direct training by no more than sampling error at every size"
    )
    return [
        f"(1 − m/m̄) S² is the mean over choices at {inside} of {len(rows)} sizes, within sampling error.",
        "Choosing in two stages leaves the same error as choosing once; the errors do not multiply (section 7.4.1).",
        f"After equally many steps, the error of two stages {compared}.",
    ]


def _chart(rows: Sequence[dict[str, Any]]) -> Chart:
    x = [row["left_out"] for row in rows]

    def line(name: str, key: str, role: str, **options: Any) -> Series:
        values = [row[key] for row in rows]
        if not isinstance(values[0], dict):
            return Series(name, x, values, role=role, **options)
        low, high = ([v["mean"] + sign * v["half_width"] for v in values] for sign in (-1, 1))
        return Series(name, x, [v["mean"] for v in values], low, high, role=role, **options)

    axis = "share of units left out, 1 − m/m̄"
    panels = [
        Panel(
            "error of a choice, e²/n",
            [
                line("with the correction q", "corrected", "soft", marks=True),
                line("(1 − m/m̄) S²", "expected", "soft", dashed=True),
                line("bound (6), C = 1", "bound", "paper", dashed=True),
                line("without q", "uncorrected", "hard"),
                line("choosing twice", "two_choices", "extra", marks=True),
                line("if errors multiplied", "multiplied", "other", dashed=True),
            ],
            axis,
            "e²/n",
            log_y=True,
        ),
        Panel(
            "error of trained students",
            [line(name, name, role) for name, role in zip(ROUTES, ("soft", "hard", "extra"), strict=True)],
            axis,
            "mean (y − f)²",
            log_y=True,
        ),
    ]
    return Chart("choices", "Students of randomly chosen units (Theorem 2, section 7.4.1)",
                 f"Means of {DRAWS} choices and of {TRAINED} trained students, with 95 % intervals.", panels,
                 share_y=False)  # fmt: skip
