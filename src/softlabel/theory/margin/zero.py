"""Data sets with γ* = 0, up to angles of 10⁻⁷, and the rows that cause it.

γ* = 0 iff some q in the simplex has Σ q_i y_i φ_i = 0. Features of different lines through the origin are
independent but for φ_x − φ_{−x} = x. With u the direction of a line, a point αu contributes q y α φ_u and a point −βu
contributes q y β (φ_u − u). So Σ vanishes iff on every line the coefficients of φ_u cancel, and the
remaining vectors βu of the points on the negative sides cancel in total. Only lines with two or more points can
contribute, and a linear program decides whether they do. Most data have no such line, and then γ* > 0.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog

from softlabel.errors import SoftlabelError


@dataclass(frozen=True)
class ZeroMargin:
    """Rows whose labels no network can fit with a positive margin, and the reason."""

    rows: tuple[int, ...]
    reason: str


def find_zero_margin(x: np.ndarray, y: np.ndarray, tolerance: float = 1e-7) -> ZeroMargin | None:
    """The rows that cause γ* = 0, or None if γ* > 0. Angles below `tolerance` count as 0."""
    x = np.asarray(x, dtype=np.float64)
    norms = np.linalg.norm(x, axis=1)
    empty = np.flatnonzero(norms == 0)
    if len(empty):
        return ZeroMargin((int(empty[0]),), f"row {empty[0]} is all zeros, so every network outputs 0 for it")
    lines = _lines(x / norms[:, None], tolerance)
    for rows, sides in lines:
        for side in (1, -1):
            here = rows[sides == side]
            if len(np.unique(y[here])) > 1:
                pair = (int(here[0]), int(here[y[here] != y[here[0]]][0]))
                return ZeroMargin(pair, f"rows {pair[0]} and {pair[1]} are parallel and labeled differently")
    mixed = [
        (rows, sides) for rows, sides in lines if len(np.unique(sides * y[rows])) == 1 and len(np.unique(sides)) > 1
    ]
    return _dependency(x / norms[:, None], y, mixed) if mixed else None


def _dependency(directions: np.ndarray, y: np.ndarray, lines: list[tuple[np.ndarray, np.ndarray]]) -> ZeroMargin | None:
    """Whether antiparallel pairs with opposite labels depend on each other: a linear program in q_i‖x_i‖ (∝)."""
    rows = np.concatenate([members for members, _ in lines])
    sides = np.concatenate([side for _, side in lines])
    line = np.concatenate([np.full(len(members), k) for k, (members, _) in enumerate(lines)])
    cancel = np.zeros((len(lines), len(rows)))
    cancel[line, np.arange(len(rows))] = y[rows]
    left_over = np.where(sides < 0, y[rows], 0) * directions[rows].T  # (d, rows); −u on the negative side
    equations = np.vstack([cancel, left_over, np.ones((1, len(rows)))])
    right = np.zeros(len(equations))
    right[-1] = 1
    program = linprog(np.zeros(len(rows)), A_eq=equations, b_eq=right, bounds=(0, None), method="highs")
    if program.status == 2:
        return None
    if program.status != 0:
        raise SoftlabelError(f"whether the margin is 0 could not be decided: {program.message}")
    used = tuple(sorted(int(row) for row in rows[program.x > 1e-9]))
    shown = ", ".join(map(str, used[:8])) + (" …" if len(used) > 8 else "")
    return ZeroMargin(used, f"rows {shown} are antiparallel pairs whose labels depend on each other")


def _lines(directions: np.ndarray, tolerance: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Lines through the origin with several points: their rows, and the side (±1) of each."""
    rng = np.random.default_rng(0)
    probe = rng.standard_normal(directions.shape[1])
    probe /= np.linalg.norm(probe)
    height = directions @ probe
    sides = np.where(height >= 0, 1, -1)
    folded = np.abs(height)
    order = np.argsort(folded, kind="stable")
    ends = np.searchsorted(folded[order], folded[order] + tolerance, side="right")
    taken = np.zeros(len(order), dtype=bool)
    lines = []
    for first in np.flatnonzero(ends - np.arange(len(order)) > 1):
        if taken[first]:
            continue
        level = np.arange(first, ends[first])  # at one height, in order
        level = level[~taken[level]]
        rows = order[level]
        apart = sides[rows, None] * directions[rows] - sides[rows[0]] * directions[rows[0]]
        same = np.linalg.norm(apart, axis=1) <= tolerance
        taken[level[same]] = True
        if same.sum() > 1:
            rows = np.sort(rows[same])
            lines.append((rows, sides[rows]))
    return lines
