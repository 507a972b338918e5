"""Rows that are nearly equal: up to rounding or noise, or in all columns but one.

A row is compared with all others (a sample of them in large tables). Differences of numbers are relative to the
standard deviation of their column; a different category counts as one standard deviation. Two signs:

    nearly equal    the largest difference to the nearest row is at most a tenth of that to the fourth nearest
    all but one     the nearest row differs in one column only, the fourth nearest in at least half of them (and in 4)

Both happen by chance. Where rows fill m dimensions evenly, the ratio r of the first sign is below x with probability
1 − (1 − xᵐ)³, which gives the share of the rows with r < 0.4 that have r < 0.1: 35% on a line, 7% in a plane. The
number m follows from the second and the fourth nearest row, whose ratio is above 2^(−1/m) for half of the rows, and is
made smaller to be safe. Usually more rows differ from all others in two columns than in one. The signs are reported
where there are significantly more (binomial tests), and three times as many as with shuffled columns, unless a tenth of
the rows are equal to others. Equal rows are another finding and are not counted. Of tables with more than 20,000 rows a
sample is compared, in which few pairs are complete.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import Sheet

NEAREST = 4
NEAR, QUITE_NEAR = 0.1, 0.4
SLACK, ALPHA, MORE = 0.05, 1e-5, 3.0
FEWEST_COLUMNS, FEWEST_DIFFERENT = 2, 4
MOST_ROWS, MOST_QUERIES, WORK = 20_000, 1_000, 4e8
FEWEST_ROWS = 20
MOSTLY_DISTINCT = 0.9  # of the rows of a file, or the inputs have so few values that near ones are usual
SHOWN = 5
_CELLS = 2_000_000  # of differences at a time


@dataclass(frozen=True, eq=False)
class NearRows:
    """Rows `query` of a table that nearly equal rows `partner` of another; only `column` differs, −1 if several do."""

    tried: int
    query: np.ndarray
    partner: np.ndarray
    column: np.ndarray


def near_rows(table: np.ndarray, others: np.ndarray, words: np.ndarray, *, same: bool) -> NearRows | None:
    """Rows of `table` (n, d) that nearly equal rows of `others` (m, d); None if there are no more than by chance.

    words   mask (d,) of the columns of codes
    same    both tables are the same, so that a row is not compared with itself
    """
    near = _near_rows(table, others, words, same=same)
    if near is None:
        return None
    rng = np.random.default_rng(1)
    shuffled = np.stack([rng.permutation(column) for column in others.T], axis=1)
    by_chance = _near_rows(shuffled, shuffled, words, same=True)
    usual = 0.0 if by_chance is None else len(by_chance.query) / by_chance.tried
    return near if len(near.query) / near.tried > MORE * usual else None


def _near_rows(
    table: np.ndarray, others: np.ndarray, words: np.ndarray, *, same: bool, seed: int = 0
) -> NearRows | None:
    """Rows of `table` (n, d) that nearly equal rows of `others` (m, d); None if there are no more than by chance.

    words   mask (d,) of the columns of codes
    same    both tables are the same, so that a row is not compared with itself
    """
    spread = np.where(words, 1.0, others.std(axis=0, dtype=np.float64))
    kept = (spread > 0) & np.isfinite(spread)
    if kept.sum() < FEWEST_COLUMNS or len(others) < FEWEST_ROWS:
        return None
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(others))[: min(MOST_ROWS, max(2_000, int(WORK / 200 / kept.sum())))]
    queries = rng.permutation(rows) if same else rng.permutation(len(table))
    queries = queries[: min(MOST_QUERIES, max(50, int(WORK / len(rows) / kept.sum())))]
    scale = spread[kept]
    reference, asked = ((one[:, kept] / scale).astype(np.float32) for one in (others[rows], table[queries]))
    near = _compared(asked, reference, words[kept])
    largest, place, different, other_place, changed = near
    ratio = largest[:, 0] / np.maximum(largest[:, -1], 1e-30)
    close, quite = ratio <= NEAR, (ratio > NEAR) & (ratio <= QUITE_NEAR)
    needed = max(FEWEST_DIFFERENT, kept.sum() / 2)
    one = (different[:, 0] == 1) & (different[:, -1] >= needed)
    two = different[:, 0] == 2
    close &= _unlikely(int(close.sum()), int(quite.sum()), _by_chance(largest))
    one &= _unlikely(int(one.sum()), int(two.sum()), 0.5)
    chosen = np.flatnonzero(close | one)
    if not len(chosen):
        return None
    partner = np.where(close, place, other_place)[chosen]
    column = np.where(close, -1, np.flatnonzero(kept)[changed])[chosen]
    order = np.argsort(queries[chosen])
    return NearRows(len(queries), queries[chosen][order], rows[partner][order], column[order])


def _by_chance(largest: np.ndarray) -> float:
    """Share of rows with a small ratio among those with a moderate one, for smallest differences (q, 4)."""
    second, fourth = largest[:, min(1, largest.shape[1] - 1)], largest[:, -1]
    spread = float(np.median(np.log(np.maximum(fourth, 1e-30) / np.maximum(second, 1e-30))))
    dimensions = min(3.0, max(1.0, 0.75 * np.log(2) / max(spread, 1e-9)))
    below = [1 - (1 - ratio**dimensions) ** 3 for ratio in (NEAR, QUITE_NEAR)]
    return below[0] / below[1] + SLACK


def _unlikely(count: int, rivals: int, share: float) -> bool:
    """Whether so many of count + rivals are more than chance explains."""
    return count >= 2 and float(binom.sf(count - 1, count + rivals, share)) < ALPHA


def _compared(asked: np.ndarray, reference: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each row asked: the smallest largest differences (q, 4) and the row of the first, the smallest numbers of
    different columns (q, 4) and the row of the first, and a column in which that differs."""
    count = min(NEAREST, len(reference) - 1)
    result: list[list[np.ndarray]] = [[], [], [], [], []]
    step = max(1, _CELLS // reference.size)
    for start in range(0, len(asked), step):
        difference = np.abs(asked[start : start + step, None, :] - reference)
        difference[..., words] = difference[..., words] > 0
        largest, different = difference.max(axis=-1), (difference > 0).sum(axis=-1)
        largest[different == 0] = np.inf
        different[different == 0] = difference.shape[-1] + 1
        own = np.arange(len(largest))
        place, other = largest.argmin(axis=1), different.argmin(axis=1)
        parts = (
            np.partition(largest, range(count), axis=1)[:, :count], place,
            np.partition(different, range(count), axis=1)[:, :count], other, difference[own, other].argmax(axis=1),
        )  # fmt: skip
        for values, part in zip(result, parts, strict=True):
            values.append(part)
    return tuple(np.concatenate(values) for values in result)


def near_findings(sheets: Sequence[Sheet], columns: Sequence[str]) -> Iterator[Finding]:
    """Rows of one file that nearly equal others of it, or rows of an earlier file.

    columns     the columns to compare
    """
    if not columns:
        return
    words = np.array([column in sheets[0].words for column in columns])
    first = sheets[0]
    rng = np.random.default_rng(0)
    samples = [np.sort(rng.permutation(len(sheet))[:MOST_ROWS]) for sheet in sheets]
    tables = [_selected(sheet, columns, rows) for sheet, rows in zip(sheets, samples, strict=True)]
    fill = _beyond(tables[0])
    tables = [np.where(np.isnan(table), fill, table) for table in tables]
    distinct = np.sort(np.unique(tables[0], axis=0, return_index=True)[1])
    reference, origin = tables[0][distinct], samples[0][distinct]
    if len(distinct) < MOSTLY_DISTINCT * len(tables[0]):
        return
    if first.groups is None:
        inside = near_rows(reference, reference, words, same=True)
        if inside is not None:
            remedy = (
                "a random split puts such rows into both parts, and the test looks better than it is: if a column says "
                "which rows belong together (a patient, a product), pass it as `group`; otherwise keep one of each"
            )
            where = {"file": str(first.path)}
            evidence = _evidence(inside, origin[inside.query], origin[inside.partner], columns)
            yield Finding("rows nearly twice", "hint", where, evidence, remedy, len(inside.query) / inside.tried)
    for sheet, table, rows in zip(sheets[1:], tables[1:], samples[1:], strict=True):
        across = near_rows(table, reference, words, same=False)
        if across is not None:
            where = {"files": [str(first.path), str(sheet.path)]}
            evidence = _evidence(across, origin[across.partner], rows[across.query], columns)
            remedy = (
                f"the test nearly contains training examples: remove these rows from {sheet.path.name}, or join the "
                "files and split again, with a column of what belongs together as `group`"
            )
            degree = len(across.query) / across.tried
            yield Finding("nearly equal rows in two splits", "mistake", where, evidence, remedy, degree)


def _evidence(near: NearRows, first: np.ndarray, second: np.ndarray, columns: Sequence[str]) -> dict[str, object]:
    single = near.column[near.column >= 0]
    evidence: dict[str, object] = {
        "rows that nearly equal another": len(near.query), "of": near.tried,
        "up to small differences": len(near.query) - len(single), "in all columns but one": len(single),
    }  # fmt: skip
    if len(single):
        evidence["this column is mostly"] = f"'{columns[int(np.bincount(single).argmax())]}'"
    rows = zip(first[:SHOWN].tolist(), second[:SHOWN].tolist(), strict=True)
    more = ", …" if len(first) > SHOWN else ""
    return evidence | {"the first": ", ".join(f"rows {one + 1} and {two + 1}" for one, two in rows) + more}


def _selected(sheet: Sheet, columns: Sequence[str], rows: np.ndarray) -> np.ndarray:
    """Inputs (n, …) float64 of these columns and rows, NaN where they are not finite."""
    known = {column: k for k, column in enumerate(sheet.columns)}
    table = sheet.inputs[rows][:, [known[column] for column in columns]].astype(np.float64)
    return np.where(np.isfinite(table), table, np.nan)


def _beyond(table: np.ndarray) -> np.ndarray:
    """Three standard deviations above the mean of each column (d,), which stand for missing values."""
    known = ~np.isnan(table)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, table, 0).sum(axis=0) / count
    return mean + 3 * np.sqrt((np.where(known, table - mean, 0) ** 2).sum(axis=0) / count)
