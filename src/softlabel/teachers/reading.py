"""How the numbers of a teacher are read: probabilities or logits, which column is which class, and their floor.

One `TeacherReading` is decided per teacher from its predictions, be it an ONNX model, a label file, a fitted model or
a function, for tables and for images. Every later prediction of that teacher is read in the same way.

    kind        probabilities are never negative and every row adds up to 1 within SUM_TOLERANCE (a single column lies
                in [0, 1]); all other numbers are logits, except those that only some rows or a sign keep from being
                probabilities: these are refused
    logits      z = ln max(p, floor): the floor keeps probabilities of exactly 0 finite
    one column  for two classes: the probability or the log-odds of the second class, or of the first one if the column
                is named after it
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from softlabel.data.class_names import match_names, number_name, plain_name, rule_of
from softlabel.errors import InputError, counted, quoted, require

KINDS = ("logits", "probabilities")
SUM_TOLERANCE = 1e-3  # label files hold rounded numbers
ROUNDING = 1e-6  # by which a probability may lie outside of [0, 1]
FLOOR = 1e-6  # of tables: label files with six decimals, votes of trees
IMAGE_FLOOR = 1e-12  # deep students learn at higher temperatures, where a floor of 1e-6 would add visible mass
LARGEST_LOGIT = 1e30  # differences and temperatures keep smaller ones finite
PREFIXES = {
    "": None,
    "p_": "probabilities",
    "prob_": "probabilities",
    "proba_": "probabilities",
    "probability_": "probabilities",
    "logit_": "logits",
    "logits_": "logits",
}


@dataclass(frozen=True)
class TeacherReading:
    """How the predictions of one teacher are read; `decide_reading` makes it.

    Attributes
    ----------
    kind : {"logits", "probabilities"}
        What the teacher returns.
    columns : tuple of int
        For each of K classes, its column in the teacher's predictions. A single number means that the teacher returns
        one column for two classes, which belongs to this class.
    classes : int
        Number of classes K.
    floor : float
        Smallest probability that is turned into a logit.
    name : str
        How messages call the teacher.
    """

    kind: str
    columns: tuple[int, ...]
    classes: int
    floor: float = FLOOR
    name: str = "the teacher"

    def logits(self, numbers: Any, rows: np.ndarray | None = None, name: str | None = None) -> np.ndarray:
        """Logits (n, K) float64 from predictions of this teacher.

        Parameters
        ----------
        numbers : array-like of shape (n, K), (n, 1) or (n,)
            Predictions as the teacher returns them.
        rows : ndarray of shape (n,), optional
            Row number in the user's file, from 0, for messages.
        name : str, optional
            How messages call the teacher here.
        """
        table = self._ordered(numbers, rows, name or self.name)
        return log_probabilities(table, self.floor) if self.kind == "probabilities" else table

    def _ordered(self, numbers: Any, rows: np.ndarray | None, name: str) -> np.ndarray:
        """Checked numbers (n, K) in the order of the classes."""
        table, rows = _finite_table(numbers, self.classes, name, rows)
        require(
            table.shape[1] == len(self.columns),
            f"{name}: predictions have {counted(table.shape[1], 'column')}, earlier ones had {len(self.columns)}",
        )
        probabilities = self.kind == "probabilities"
        if probabilities:
            _check_probabilities(table, name, rows)
        if len(self.columns) > 1:
            return table if self.columns == tuple(range(self.classes)) else table[:, self.columns]
        if self.columns == (0,):
            table = 1 - table if probabilities else -table
        return np.concatenate([1 - table if probabilities else np.zeros_like(table), table], axis=1)


def decide_reading(
    numbers: Any,
    *,
    classes: int | Sequence[str],
    column_names: Sequence[Any] | None = None,
    columns: Sequence[int] | None = None,
    decisions: np.ndarray | None = None,
    kind: str | None = None,
    floor: float = FLOOR,
    name: str = "the teacher",
    rows: np.ndarray | None = None,
) -> TeacherReading:
    """Decide from a teacher's predictions how they, and all later ones, are read.

    Parameters
    ----------
    numbers : array-like of shape (n, K), or (n, 1) or (n,) for two classes
        Predictions, best those for all rows: the kind is decided by all of them.
    classes : sequence of str, or int
        Names of the K classes in their order, or their number where they have no names.
    column_names : sequence, optional
        The teacher's own names of the classes, in the order of its columns.
    columns : sequence of int, optional
        `TeacherReading.columns`, where the caller has matched them already.
    decisions : ndarray of shape (n, 1), optional
        The classes that the teacher itself decides for; they tell the order of columns without names.
    kind : {"logits", "probabilities"}, optional
        What the numbers are. Default: decided by the numbers.
    floor : float, default=1e-6
        Smallest probability that is turned into a logit.
    name : str, default="the teacher"
        How messages call the teacher.
    rows : ndarray of shape (n,), optional
        Row number in the user's file, from 0, for messages.

    Returns
    -------
    TeacherReading

    Raises
    ------
    InputError
        If the numbers are neither probabilities nor logits, or belong to other classes.

    Examples
    --------
    >>> from softlabel.teachers.reading import decide_reading
    >>> reading = decide_reading([[0.9, 0.1], [0.2, 0.8]], classes=("no", "yes"), column_names=("yes", "no"))
    >>> reading.kind
    'probabilities'
    >>> reading.columns
    (1, 0)
    """
    check_kind(kind)
    count = classes if isinstance(classes, int) else len(classes)
    named = None if isinstance(classes, int) else tuple(classes)
    if columns is None and column_names is not None and named is not None:
        columns = class_order(column_names, named, name)
    table, rows = _finite_table(numbers, count, name, rows)
    if table.shape[1] == 1:
        own_second = list(columns).index(1) if columns is not None and len(columns) > 1 else 1
        columns = columns if columns is not None and len(columns) == 1 else (own_second,)
    elif columns is None:
        columns = range(count)
        if decisions is not None and named is not None:
            columns = _order_by_decisions(table, decisions, named, name)
    kind = kind or _kind(table, name, rows)
    if kind == "probabilities":
        _check_probabilities(table, name, rows)
    return TeacherReading(kind, tuple(columns), count, floor, name)


def check_kind(kind: str | None) -> None:
    """Refuse a kind that does not exist."""
    require(kind is None or kind in KINDS, f"a teacher's predictions are logits or probabilities, not '{kind}'")


def log_probabilities(probabilities: np.ndarray, floor: float = FLOOR) -> np.ndarray:
    """Probabilities as logits: ln max(p, floor)."""
    return np.log(np.maximum(probabilities, floor))


def probability_rows(table: np.ndarray) -> np.ndarray:
    """(n,) which rows of (n, K) are probabilities: none negative, adding up to 1 (one column: within [0, 1]).

    Rounding is allowed for: forests in ONNX add shares in float32, so that a probability of 0 may come as −1.5e-8.
    """
    if table.shape[1] == 1:
        return ((table >= -ROUNDING) & (table <= 1 + ROUNDING))[:, 0]
    return (table >= -ROUNDING).all(axis=1) & (np.abs(table.sum(axis=1) - 1) <= SUM_TOLERANCE)


def are_percentages(table: np.ndarray) -> bool:
    """Whether every row of (n, K) adds up to 100 and nothing is negative."""
    off = np.abs(table.sum(axis=1) - 100) > 100 * SUM_TOLERANCE
    return table.shape[1] > 1 and bool(not off.any() and (table >= 0).all())


def _kind(table: np.ndarray, name: str, rows: np.ndarray) -> str:
    """The kind of (n, K) predictions; probabilities with some broken rows are neither, and refused."""
    if probability_rows(table).all():
        return "probabilities"
    if table.shape[1] == 1:
        return "logits"
    if are_percentages(table):
        raise InputError(f"{name}: every row adds up to 100, so these are percentages: divide them by 100")
    sums, negative = table.sum(axis=1, keepdims=True), table < -ROUNDING
    off = np.abs(sums - 1) > SUM_TOLERANCE
    remedy = "fix that, or declare the numbers to be logits (`kind` 'logits')"
    if not off.any():
        where = _at(table, negative, rows)
        raise InputError(f"{name}: every row adds up to 1 as probabilities do, yet there is {where}: {remedy}")
    if off.mean() < 0.5 and not negative.any():
        where = _at(sums, off, rows)
        raise InputError(f"{name}: most rows add up to 1 as probabilities do, yet there is {where}: {remedy}")
    return "logits"


def _check_probabilities(table: np.ndarray, name: str, rows: np.ndarray) -> None:
    """Refuse rows (n, K) that are not probabilities."""
    if probability_rows(table).all():
        return
    wrong, rule = table < -ROUNDING, "probabilities must not be negative"
    if table.shape[1] == 1:
        wrong, rule = wrong | (table > 1 + ROUNDING), "a probability must lie in [0, 1]"
    elif not wrong.any():
        table = table.sum(axis=1, keepdims=True)
        wrong, rule = np.abs(table - 1) > SUM_TOLERANCE, "probabilities of a row must add up to 1"
    raise InputError(f"{name}: {rule}, got {_at(table, wrong, rows)}; are these logits?")


def _finite_table(numbers: Any, classes: int, name: str, rows: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Predictions as finite float64, (n, classes) or (n, 1) for two classes, and their row numbers."""
    if hasattr(numbers, "detach"):
        numbers = numbers.detach().cpu()
    try:
        table = np.asarray(numbers)
        table = table.astype(np.float64) if table.dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        table = None
    if table is None:
        raise InputError(f"{name}: predictions must be a table of numbers, got {type(numbers).__name__}")
    table = table[:, None] if table.ndim == 1 else table
    require(table.ndim == 2, f"{name}: predictions must be one row of numbers per input row, got shape {table.shape}")
    rows = np.arange(len(table)) if rows is None else rows
    require(
        len(table) == len(rows),
        f"{name}: predictions have {counted(len(table), 'row')} for {counted(len(rows), 'input row')}",
    )
    fits = table.shape[1] == classes or (classes == 2 and table.shape[1] == 1)
    require(fits, f"{name}: predictions have {counted(table.shape[1], 'column')}, the data have {classes} classes")
    for wrong, fault in (
        (~np.isfinite(table), "are not finite"),
        (np.abs(table) > LARGEST_LOGIT, f"beyond ±{LARGEST_LOGIT:g} cannot be logits"),
    ):
        if wrong.any():
            raise InputError(f"{name}: predictions {fault}: {_at(table, wrong, rows)}")
    return table, rows


def _at(table: np.ndarray, where: np.ndarray, rows: np.ndarray) -> str:
    """The first value that is marked in `where`, its row in the user's file, and the number of such rows."""
    marked = where.any(axis=1)
    place = int(np.argmax(marked))
    more = f", {marked.sum():,} such rows" if marked.sum() > 1 else ""
    return f"{table[place][where[place]][0]:.6g} (row {rows[place] + 1}{more})"


def class_order(names: Sequence[Any], classes: Sequence[str], teacher: str) -> list[int]:
    """Where each of `classes` is among the teacher's names of classes; other or missing classes are an error.

    1, 1.0 and "1" are the same class, so are True and "true"; True is 1 where the data have numbers.
    """
    order = match_names(names, classes)
    if order is not None:
        return order
    own, wanted = [plain_name(name) for name in names], [plain_name(name) for name in classes]
    other = [str(name) for name, plain in zip(names, own, strict=True) if plain not in wanted]
    missing = [name for name, plain in zip(classes, wanted, strict=True) if plain not in own]
    reasons = [f"it knows {quoted(other)}, which the data do not have"] if other else []
    reasons += [f"it does not know {quoted(missing)}"] if missing else []
    reasons = reasons or [f"it names a class twice ({quoted([str(name) for name in names])})"]
    raise InputError(f"{teacher} is for other classes: {' and '.join(reasons)}; train it on the same classes")


def _order_by_decisions(table: np.ndarray, decisions: Any, classes: Sequence[str], teacher: str) -> list[int]:
    """The order of the columns of (n, K) as far as the teacher's decisions (n, 1) tell the class of each column.

    Decisions that number the classes (0, 1, …), or the sides of a rule, follow the order of the classes; names of
    other classes are an error.
    """
    largest, meant = table.argmax(axis=1), {}
    for column in np.unique(largest).tolist() if decisions.shape == (len(table), 1) else []:
        spellings, counts = np.unique(decisions[largest == column, 0].astype(str), return_counts=True)
        if counts.max() > 0.9 * counts.sum():
            meant[column] = str(spellings[counts.argmax()])
    places = {
        column: next((k for k, known in enumerate(classes) if match_names([text], [known])), None)
        for column, text in meant.items()
    }
    strange = [text for column, text in meant.items() if places[column] is None]
    numbered = {str(place) for place in range(len(classes))} | (
        {"-1", "1", "false", "true"} if rule_of(classes) else set()
    )
    require(
        not strange or {plain_name(text) for text in meant.values()} <= numbered,
        f"{teacher} is for other classes: it decides for {quoted(strange)}, the data have {quoted(classes)}; train it "
        "on the same classes",
    )
    if strange or all(column == place for column, place in places.items()):
        return list(range(len(classes)))
    order = match_names([meant.get(column, "") for column in range(len(classes))], classes)
    if order is None:
        raise InputError(
            f"{teacher}: by its decisions its columns are not in the order of the classes ({quoted(classes)}), and "
            "their order cannot be derived; export it with class names (ZipMap)"
        )
    return order


def find_class_columns(
    columns: Sequence[str], classes: Sequence[str], kind: str | None, name: str
) -> tuple[list[str], tuple[int, ...], str | None]:
    """Columns of a label file that are named after the classes, perhaps with a prefix such as `p_` or `logit_`.

    Returns the columns in the order of the classes, `TeacherReading.columns` for them, and the kind that the prefix
    means. All are empty where no column is named after a class.
    """
    for prefix, implied in sorted(PREFIXES.items(), key=lambda entry: (entry[0] == "", entry[1] != kind)):
        prefixed = [column for column in columns if column.lower().startswith(prefix)]
        per_class = _named_after(prefixed, len(prefix), classes)
        matched = [column for column in per_class if column is not None]
        if len(matched) == len(classes):
            return matched, tuple(range(len(classes))), implied
        if len(classes) == 2 and len(matched) == 1:
            require(
                prefix != "" or per_class[0] is None or not plain_name(classes[0]).isdigit(),
                f"{name}: it is not clear which class the single column '{matched[0]}' is for; call it p_{classes[0]} "
                f"or p_{classes[1]}",
            )
            return matched, (per_class.index(matched[0]),), implied
        if len(matched) > 1:
            missing = [own for own, column in zip(classes, per_class, strict=True) if column is None]
            raise InputError(f"{name} has columns {quoted(matched)}, but none for the classes {quoted(missing)}")
    return [], (), None


def _named_after(columns: Sequence[str], prefix: int, classes: Sequence[str]) -> list[str | None]:
    """The first column named after each class, behind a prefix of this length; None where there is none."""
    exact: dict[str, str] = {}
    plain: dict[str, list[str]] = {}
    for column in columns:
        exact.setdefault(column[prefix:], column)
        plain.setdefault(number_name(column[prefix:]), []).append(column)
    return [
        exact.get(own)
        or next((c for c in plain.get(number_name(own), ()) if match_names([c[prefix:]], [own]) is not None), None)
        for own in classes
    ]


def input_order(own: Sequence[str], columns: Sequence[str], teacher: str, identifiers: bool = False) -> list[int]:
    """Where each input column of a teacher, `own`, is among the data's columns; other columns are an error.

    With `identifiers`, signs other than letters and digits may be underscores in the teacher's names.
    """
    forms = (str, identifier) if identifiers else (str,)
    for form in forms:
        places = {form(column): place for place, column in enumerate(columns)}
        if sorted(map(form, own)) == sorted(places) and len(places) == len(columns):
            return [places[form(name)] for name in own]
    known = {identifier(column): column for column in columns} if identifiers else {}
    own = [known.get(identifier(name), name) for name in own]
    missing = [column for column in own if column not in set(columns)]
    unknown = [column for column in columns if column not in set(own)]
    if not missing and not unknown:
        raise InputError(f"{teacher} names a column twice ({quoted(own)})")
    reasons = [f"the data have no {quoted(missing)}"] if missing else []
    reasons += [f"it does not know {quoted(unknown)}"] if unknown else []
    raise InputError(f"{teacher} learned from other columns: {' and '.join(reasons)}; rename or drop columns")


def identifier(name: str) -> str:
    """A name with underscores in place of signs other than letters and digits."""
    return "".join(sign if sign.isalnum() else "_" for sign in name)
