"""`TableEncoder`: a table of numbers, categories, dates and text as numbers, learned from training rows.

It is plain data, so that run directories and exported students contain it. What each kind of column becomes:

    number      itself; a missing value is the median of the training rows, and where these have gaps a further
                feature is 1 for them
    category    one feature per frequent value, 1 where the row has it; rare and unknown values share one, missing
                values another. A column of two values is one feature
    date        days since 1970-01-01, and sine and cosine of the season and of the day of the week
    text        one feature for each frequent word, 1 where the entry contains it
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.encoding.columns import ColumnPlan
from softlabel.data.encoding.written import DATE_STYLES, blank, days, parse_dates, parse_numbers, unreadable
from softlabel.errors import InputError, few, require, short

if TYPE_CHECKING:
    import polars

MAX_CATEGORIES = 30
MIN_SHARE = 0.002  # of the training rows, for a category of its own
MAX_WORDS = 50
WORD_SHARES = (0.02, 0.9)
YEAR, WEEK = 365.2425, 7.0
DECIMALS = 6  # of sine and cosine
OTHER, MISSING = "(other)", "(missing)"


@dataclass(frozen=True)
class NumberStep:
    """A column of numbers: `fill` stands for missing values, `gaps` says whether they have a feature."""

    column: str
    style: str | None
    fill: float
    gaps: bool

    @property
    def features(self) -> list[str]:
        return [self.column, *([f"{self.column} missing"] if self.gaps else [])]

    @classmethod
    def fit(cls, plan: ColumnPlan, column: "polars.Series", where: str) -> "NumberStep":
        return cls(plan.name, plan.style, *_fill_and_gaps(number_values(column, plan.style, where)))

    def encode(self, column: "polars.Series", where: str) -> np.ndarray:
        values = number_values(column, self.style, where)
        missing = np.isnan(values)
        features = [np.where(missing, self.fill, values)]
        return np.stack([*features, *([missing.astype(np.float64)] if self.gaps else [])], axis=1)

    @property
    def done(self) -> str:
        return "number" + (f", missing values become {self.fill:g} and are marked" if self.gaps else "")


@dataclass(frozen=True)
class CategoryStep:
    """A column of categories; `other` and `gaps` say whether rare and missing values have a feature."""

    column: str
    categories: tuple[str, ...]
    other: bool
    gaps: bool

    @property
    def values(self) -> list[str]:
        """The value of each code: categories, and behind them the rest and missing ones."""
        return [*self.categories, *([OTHER] if self.other else []), *([MISSING] if self.gaps else [])]

    @property
    def first(self) -> int:
        """The first value with a feature: of two values one is enough."""
        return 1 if len(self.values) == 2 else 0

    @property
    def features(self) -> list[str]:
        return [f"{self.column}={value}" for value in self.values[self.first :]]

    @classmethod
    def fit(cls, plan: ColumnPlan, column: "polars.Series", where: str) -> "CategoryStep":
        text = category_text(column)
        counts = text.drop_nulls().value_counts(sort=True)
        names, numbers = counts[text.name].to_list(), counts["count"].to_list()
        enough = max(2, math.ceil(MIN_SHARE * len(text)))
        order = sorted(zip(names, numbers, strict=True), key=lambda pair: (-pair[1], pair[0]))
        kept = tuple(name for name, count in order if count >= enough)[:MAX_CATEGORIES]
        kept = kept or tuple(name for name, _ in order[:MAX_CATEGORIES])
        return cls(plan.name, kept, len(kept) < len(order), text.null_count() > 0)

    def codes(self, column: "polars.Series") -> np.ndarray:
        """Position in `values` of each row (n,); −1 for a value that has none."""
        import polars as pl

        text, count = category_text(column), len(self.categories)
        rest = count if self.other else -1
        gap = len(self.values) - 1 if self.gaps else rest
        known = pl.Series(self.categories, dtype=pl.String)
        codes = text.replace_strict(known, range(count), default=rest, return_dtype=pl.Int64).to_numpy(writable=True)
        codes[text.is_null().to_numpy()] = gap
        return codes

    def encode(self, column: "polars.Series", where: str) -> np.ndarray:
        codes = self.codes(column)
        return (codes[:, None] == np.arange(self.first, len(self.values))).astype(np.float64)

    @property
    def done(self) -> str:
        rest = [
            *(["rare values together"] if self.other else []),
            *(["missing values by themselves"] if self.gaps else []),
        ]
        return f"{len(self.categories)} categories" + (f", {' and '.join(rest)}" if rest else "")


@dataclass(frozen=True)
class DateStep:
    """A column of dates; `fill` are the days of a missing one."""

    column: str
    style: str | None
    fill: float
    gaps: bool

    @property
    def features(self) -> list[str]:
        parts = ["days", "season (sine)", "season (cosine)", "weekday (sine)", "weekday (cosine)"]
        return [f"{self.column} {part}" for part in [*parts, *(["missing"] if self.gaps else [])]]

    @classmethod
    def fit(cls, plan: ColumnPlan, column: "polars.Series", where: str) -> "DateStep":
        return cls(plan.name, plan.style, *_fill_and_gaps(date_values(column, plan.style, where)))

    def encode(self, column: "polars.Series", where: str) -> np.ndarray:
        values = date_values(column, self.style, where)
        missing = np.isnan(values)
        at = np.where(missing, self.fill, values)
        turns = [at / YEAR, np.floor(at) / WEEK]
        angles = [2 * np.pi * (turn - np.floor(turn)) for turn in turns]
        waves = [wave(angle) for angle in angles for wave in (np.sin, np.cos)]
        features = [at, *(np.round(wave, DECIMALS) for wave in waves)]  # the same on every day of a kind
        return np.stack([*features, *([missing.astype(np.float64)] if self.gaps else [])], axis=1)

    @property
    def done(self) -> str:
        return "date: days, season and day of the week" + (", missing ones are marked" if self.gaps else "")


@dataclass(frozen=True)
class TextStep:
    """A column of sentences; `words` are those with a feature."""

    column: str
    words: tuple[str, ...]

    @property
    def features(self) -> list[str]:
        return [f"{self.column} contains '{word}'" for word in self.words]

    @classmethod
    def fit(cls, plan: ColumnPlan, column: "polars.Series", where: str) -> "TextStep":
        entries = [set((entry or "").split()) for entry in category_text(column).to_list()]
        counts: dict[str, int] = {}
        for entry in entries:
            for word in entry:
                counts[word] = counts.get(word, 0) + 1
        low, high = (share * len(entries) for share in WORD_SHARES)
        kept = [word for word, count in counts.items() if max(2, low) <= count <= high]
        return cls(plan.name, tuple(sorted(kept, key=lambda word: (-counts[word], word))[:MAX_WORDS]))

    def encode(self, column: "polars.Series", where: str) -> np.ndarray:
        entries = [set((entry or "").split()) for entry in category_text(column).to_list()]
        return np.array([[word in entry for word in self.words] for entry in entries], dtype=np.float64).reshape(
            len(entries), len(self.words)
        )

    @property
    def done(self) -> str:
        return f"text: whether it contains each of {len(self.words)} frequent words"


Step = NumberStep | CategoryStep | DateStep | TextStep
STEPS: dict[str, type[Step]] = {"number": NumberStep, "category": CategoryStep, "date": DateStep, "text": TextStep}


@dataclass(frozen=True, eq=False)
class TableEncoder:
    """Encoded columns in order, and the columns that were left out with the reason."""

    steps: tuple[Step, ...]
    dropped: tuple[tuple[str, str], ...] = ()

    @classmethod
    def fit(cls, plans: Sequence[ColumnPlan], frame: "polars.DataFrame", where: str = "the table") -> "TableEncoder":
        """Learn from the training rows of a table."""
        used = [plan for plan in plans if plan.kind != "dropped"]
        steps = tuple(STEPS[plan.kind].fit(plan, frame[plan.name], where) for plan in used)
        steps = tuple(step for step in steps if step.features)
        dropped = tuple((plan.name, plan.reason) for plan in plans if plan.kind == "dropped")
        require(
            bool(steps),
            f"{where} has no column to learn from: " + few([f"'{name}' ({reason})" for name, reason in dropped], 5),
        )
        return cls(steps, dropped)

    def transform(self, frame: "polars.DataFrame", where: str = "the table") -> np.ndarray:
        """The table as float32 (n, features)."""
        table, filled = np.empty((frame.height, len(self.features)), dtype=np.float32), 0
        for step in self.steps:
            count = len(step.features)
            table[:, filled : filled + count] = step.encode(frame[step.column], where)
            filled += count
        return table

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that are used."""
        return tuple(step.column for step in self.steps)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(name for step in self.steps for name in step.features)

    def describe(self) -> list[dict[str, Any]]:
        """What was done to every column, as JSON values."""
        used = [{"column": s.column, "kind": _kind(s), "done": s.done, "features": len(s.features)} for s in self.steps]
        left = [{"column": name, "kind": "dropped", "done": reason, "features": 0} for name, reason in self.dropped]
        return used + left

    def to_dict(self) -> dict[str, Any]:
        """The encoder as JSON values."""
        return {
            "steps": [{"kind": _kind(step), **asdict(step)} for step in self.steps],
            "dropped": [list(pair) for pair in self.dropped],
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TableEncoder":
        """The inverse of `to_dict`; values of another form are an error."""
        try:
            steps = tuple(_step(**step) for step in values["steps"])
            return cls(steps, tuple((str(name), str(reason)) for name, reason in values["dropped"]))
        except (KeyError, TypeError, ValueError) as problem:
            raise InputError(f"the encoder of the table is damaged ({problem})") from None


def _kind(step: Step) -> str:
    return next(kind for kind, cls in STEPS.items() if isinstance(step, cls))


def _step(kind: str, **fields: Any) -> Step:
    values: dict[str, Any] = {n: tuple(value) if isinstance(value, list) else value for n, value in fields.items()}
    return STEPS[kind](**values)


def number_values(column: "polars.Series", style: str | None, where: str) -> np.ndarray:
    """Numbers of a column, float64 (n,) with NaN for missing ones; anything else is an error with its row."""
    import polars as pl

    if column.dtype == pl.String:
        values = parse_numbers(column, style or "plain")
        _check_readable(column, values, "a number", where)
    elif column.dtype in (pl.Duration, pl.Time):
        column = column.cast(pl.Duration("us")) if column.dtype == pl.Duration else column
        values = column.cast(pl.Int64).cast(pl.Float64) / 1e6
    else:
        values = column.cast(pl.Float64, strict=False)
    numbers = values.fill_null(float("nan")).to_numpy().astype(np.float64)
    infinite = np.isinf(numbers)
    require(
        not infinite.any(),
        f"{where}: column '{column.name}' has an infinite value in row {infinite.argmax() + 1}: correct or empty it",
    )
    return numbers


def date_values(column: "polars.Series", style: str | None, where: str) -> np.ndarray:
    """Dates of a column as days since 1970-01-01, float64 (n,) with NaN for missing ones."""
    import polars as pl

    if column.dtype == pl.String:
        style = style or DATE_STYLES[0]
        values = parse_dates(column, style)
        _check_readable(column, values, f"a date written as {style}", where)
    else:
        values = column.cast(pl.Float64) if column.dtype.is_numeric() else days(column)
    return values.fill_null(float("nan")).to_numpy().astype(np.float64)


def _fill_and_gaps(values: np.ndarray) -> tuple[float, bool]:
    """The median of the known values (n,), 0 without any, and whether some are missing."""
    known = values[np.isfinite(values)]
    return float(np.median(known)) if len(known) else 0.0, len(known) < len(values)


def category_text(column: "polars.Series") -> "polars.Series":
    """Categories as text, missing ones as null; numbers without a fraction are written without one."""
    import polars as pl

    if column.dtype == pl.String:
        return blank(column)
    if column.dtype.is_float():
        column = column.fill_nan(None)
        integers = column.cast(pl.Int64, strict=False)
        return integers.cast(pl.String).zip_with(integers == column, column.cast(pl.String))
    return (column.cast(pl.Int64) if column.dtype == pl.Duration else column).cast(pl.String)


def _check_readable(column: "polars.Series", parsed: "polars.Series", expected: str, where: str) -> None:
    row = unreadable(column, parsed)
    if row is not None:
        raise InputError(
            f"{where}: column '{column.name}' has '{short(column[row])}' in row {row + 1}, which is not {expected}: "
            "correct or empty it"
        )
