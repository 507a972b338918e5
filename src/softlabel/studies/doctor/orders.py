"""Possible orders of the rows of a label file relative to the rows of the data."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from softlabel.data.frames import NAMED_FILES, as_text, read_frame
from softlabel.studies.doctor.sheets import Sheet

SHIFTS = 10
MOST_COLUMNS = 500


@dataclass(frozen=True, eq=False)
class Order:
    """Row `data[i]` of the data matches row `labels[i]` of the labels; `words` complete the sentence "they fit …"."""

    words: str
    data: np.ndarray
    labels: np.ndarray


def possible_orders(path: Path, sheet: Sheet, sorted_by_columns: bool = True) -> Iterator[Order]:
    """Shifted by a few rows, reversed, matched by a common column, or sorted by the label or by a column."""
    rows, count = np.arange(len(sheet)), len(sheet)
    for shift in [sign * size for size in range(1, min(SHIFTS, count // 4) + 1) for sign in (1, -1)]:
        kept = rows[(rows + shift >= 0) & (rows + shift < count)]
        words = f"shifted by {abs(shift)} row{'' if abs(shift) == 1 else 's'} {'up' if shift > 0 else 'down'}"
        yield Order(words, kept, kept + shift)
    yield Order("in reverse order", rows, rows[::-1])
    yield from _common_columns(path, sheet)
    keys = [("the label", sheet.labels)]
    keys += [(f"column '{name}'", sheet.inputs[:, k]) for k, name in enumerate(sheet.columns[:MOST_COLUMNS])]
    for words, values in keys:
        order = np.argsort(values, kind="stable")
        yield Order(f"the data sorted by {words}", order, rows)
        yield Order(f"the data sorted by {words}, descending", order[::-1], rows)


def _common_columns(path: Path, sheet: Sheet) -> Iterator[Order]:
    """Orders by columns that identify every row of both files."""
    if sheet.frame is None or path.suffix.lower() not in NAMED_FILES:
        return
    frame, known = read_frame(path), set(sheet.frame.columns)
    for column in frame.columns:
        if column not in known:
            continue
        left, right = (as_text(one[column], path).fill_null("").to_numpy().astype(str) for one in (sheet.frame, frame))
        left_order, right_order = np.argsort(left, kind="stable"), np.argsort(right, kind="stable")
        if len(np.unique(left)) == len(left) and np.array_equal(left[left_order], right[right_order]):
            yield Order(f"matched by column '{column}'", left_order, right_order)
