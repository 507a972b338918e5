"""A look at a user's table before its label is chosen."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from softlabel.data.arrays import missing_labels
from softlabel.data.encoding.columns import ColumnPlan, plan_column
from softlabel.data.encoding.written import as_numbers, blank
from softlabel.data.frames import label_values
from softlabel.data.table_columns import TableColumns, read_table_columns
from softlabel.errors import InputError, counted, require, short
from softlabel.numerics.local_files import local_path

if TYPE_CHECKING:
    import polars

EXAMPLES, HEAD = 3, 5
MOST_CLASSES, FEW_CLASSES = 30, 20  # so many classes need twice as many rows; fewer do not
LABEL_WORDS = {
    "label", "labels", "target", "targets", "class", "classes", "y", "outcome", "response", "diagnosis", "species",
    "survived", "churn", "fraud", "spam",
}  # fmt: skip
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+")


@dataclass(frozen=True)
class ColumnPreview:
    """What one column of a table looks like.

    Attributes
    ----------
    name : str
        The column.
    kind : {'number', 'category', 'date', 'text', 'dropped'}
        What it would be as an input; 'dropped' if there is nothing to learn from it.
    reason : str
        Why.
    examples : tuple of str
        The first three different entries, shortened.
    missing : int
        Number of missing entries. Words for missing values, such as NA and ?, count as missing.
    distinct : int
        Number of different entries, without the missing ones.

    Examples
    --------
    >>> import polars
    >>> import softlabel as sl
    >>> polars.DataFrame({"city": ["Rome", "Bonn", None] * 9, "rain": [True, False, True] * 9}).write_csv("rain.csv")
    >>> city, rain = sl.preview("rain.csv").columns
    >>> city.kind, city.reason, city.examples, city.missing
    ('category', '2 different values', ('Rome', 'Bonn'), 9)
    """

    name: str
    kind: str
    reason: str
    examples: tuple[str, ...]
    missing: int
    distinct: int


@dataclass(frozen=True, repr=False)
class TablePreview:
    """What a table looks like, see `preview`.

    Attributes
    ----------
    name : str
        Name of the file.
    rows : int
        Number of rows.
    columns : tuple of ColumnPreview
        The columns, in the order of the file.
    head : tuple of tuples of str
        The first five rows as text, shortened; a missing entry is empty.
    label_candidates : tuple of str
        Columns that could be the label, the most plausible first.

    Examples
    --------
    >>> import polars
    >>> import softlabel as sl
    >>> polars.DataFrame({"city": ["Rome", "Bonn", "Oslo"] * 9, "rain": [True, False, True] * 9}).write_csv("rain.csv")
    >>> table = sl.preview("rain.csv")
    >>> table
    <TablePreview rain.csv: 27 rows, 2 columns; the label could be rain, city>
    >>> table.head[0]
    ('Rome', 'true')
    """

    name: str
    rows: int
    columns: tuple[ColumnPreview, ...]
    head: tuple[tuple[str, ...], ...] = field(default=())
    label_candidates: tuple[str, ...] = ()

    def __repr__(self) -> str:
        size = f"{counted(self.rows, 'row')}, {counted(len(self.columns), 'column')}"
        names = ", ".join(self.label_candidates[:EXAMPLES])
        label = f"the label could be {names}" if names else "no column could be the label"
        return f"<TablePreview {self.name}: {size}; {label}>"


def preview(data: str | Path) -> TablePreview:
    """Look at a table before its label is chosen: its columns, its first rows, and which columns could be the label.

    A column could be the label if it has 2 to 30 different values, some of which occur repeatedly, and more than 20
    values only in twice as many rows. Dates, fractions and columns that identify the rows are no labels. Columns with a
    usual name (label, target, class, y, outcome and the like) come first, then text and truth values, then numbers;
    among equals, later columns come before earlier ones.

    Parameters
    ----------
    data : str or path
        A CSV, Parquet, NPZ or NPY file. The columns of arrays are numbered from 0; in an NPZ file the label is one of
        the other arrays with one entry per row.

    Returns
    -------
    TablePreview

    Raises
    ------
    InputError
        If the file cannot be read as a table.

    See Also
    --------
    load : With the label chosen, `treatment` of its result says what is done to every column, and `notes` what else
        was done. What a column becomes depends on the others: a constant column stays where all inputs are plain
        numbers, and is left out of a table that needs an encoder.
    doctor : Known mistakes in a table.

    Examples
    --------
    >>> import numpy as np
    >>> import polars
    >>> import softlabel as sl
    >>> rng = np.random.default_rng(0)
    >>> age = rng.integers(20, 80, size=100)
    >>> pain = rng.choice(["low", "mild", "severe"], size=100)
    >>> polars.DataFrame({"age": age, "sick": age > 50, "pain": pain}).write_csv("heart.csv")
    >>> table = sl.preview("heart.csv")
    >>> table.rows, table.label_candidates
    (100, ('pain', 'sick'))
    >>> [(column.name, column.kind) for column in table.columns]
    [('age', 'number'), ('sick', 'number'), ('pain', 'category')]
    >>> [(column["column"], column["done"]) for column in sl.load("heart.csv", "sick").treatment]
    [('age', 'number'), ('pain', '3 categories')]
    """
    require(isinstance(data, str | Path), f"data must be the name of a file, got {type(data).__name__}")
    path = local_path(data)
    file = read_table_columns(path)
    columns = tuple(_look_at(column, plan) for column, plan in zip(file.columns, _plans(file), strict=True))
    rows = len(file.columns[0])
    head = tuple(zip(*(_texts(column.head(HEAD)) for column in file.columns), strict=True))
    return TablePreview(path.name, rows, columns, head, _label_candidates(file, columns, path))


def _plans(file: TableColumns) -> list[ColumnPlan]:
    """What each column would be as an input."""
    return [
        ColumnPlan(column.name, "number", "numbers") if at in file.plain else plan_column(column)
        for at, column in enumerate(file.columns)
    ]


def _look_at(column: "polars.Series", plan: ColumnPlan) -> ColumnPreview:
    entries = _known_entries(column)
    different = entries.unique(maintain_order=True)
    examples = tuple(_texts(different.head(EXAMPLES)))
    return ColumnPreview(plan.name, plan.kind, plan.reason, examples, len(column) - len(entries), len(different))


def _known_entries(column: "polars.Series") -> "polars.Series":
    """The entries of a column that are not missing; those that are not numbers, text or dates as text."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        return pl.Series(column.name, [str(entry) for entry in column.to_list() if entry is not None], dtype=pl.String)
    if column.dtype.is_float():
        column = column.fill_nan(None)
    elif column.dtype in (pl.String, pl.Categorical, pl.Enum):
        column = blank(column.cast(pl.String))
    return column.drop_nulls()


def _texts(column: "polars.Series") -> list[str]:
    """Every entry as short text, a missing one as empty text."""
    import polars as pl
    from polars.exceptions import PolarsError

    try:
        entries = column.cast(pl.String).to_list()
    except PolarsError:
        entries = column.to_list()
    return ["" if entry is None else short(entry) for entry in entries]


def _label_candidates(file: TableColumns, columns: tuple[ColumnPreview, ...], path: Path) -> tuple[str, ...]:
    """Names of the columns that could be the label, the most plausible first."""
    order = []
    for at in file.labels:
        column, few = file.columns[at], columns[at].distinct <= MOST_CLASSES
        if few and _names_classes(column, path):
            usual = bool(LABEL_WORDS & {word.lower() for word in _WORD.findall(column.name)})
            order.append((not usual, _numbers(column) is not None, -at))
    return tuple(columns[-at].name for _, _, at in sorted(order))


def _names_classes(column: "polars.Series", path: Path) -> bool:
    """Whether the entries of a column, read as labels, could be names of classes."""
    if plan_column(column).kind not in ("number", "category"):
        return False
    try:
        values = label_values(column.unique(), path)
    except InputError:
        return False
    classes = len({str(value).strip() for value in values[~missing_labels(values)].tolist()})
    rows, numbers = len(_known_entries(column)), _numbers(column)
    enough = rows > classes if classes <= FEW_CLASSES else rows >= 2 * classes
    return 2 <= classes <= MOST_CLASSES and enough and (numbers is None or bool((numbers % 1 == 0).all()))


def _numbers(column: "polars.Series") -> "polars.Series | None":
    """The different numbers of a column; None for a column of text or truth values."""
    import polars as pl

    entries = column.unique()
    if entries.dtype == pl.String:
        numbers = as_numbers(entries)
        return None if numbers is None else numbers[0].drop_nulls()
    if not entries.dtype.is_numeric():
        return None
    return entries.drop_nulls().drop_nans() if entries.dtype.is_float() else entries.drop_nulls()
