"""Trouble in single columns: gaps, ids, constants, numbers and dates as text, many categories, copies of the label."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from softlabel.data.encoding.encoder import MAX_CATEGORIES, CategoryStep
from softlabel.data.encoding.written import blank, parse_numbers, unreadable
from softlabel.errors import few, quoted, short
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.identifiers import is_named_as_id
from softlabel.studies.doctor.sheets import UNKNOWN, Sheet

NAMED_COLUMNS = 20  # with their counts in one finding
MOSTLY = 0.5
NEARLY_ALL = 0.9  # of the entries are numbers, so that the others are probably mistakes
FEW_WORDS = 3  # different words beside many numbers, which probably stand for missing values
MANY_NUMBERS = 10  # different ones
FEWEST_IDS = 10
_BLOCK = 4096
_WITH_UNIT = re.compile(r"[-+]?[\d.,\s]*\d\s*(?P<unit>[^\d\s.,][^\d]{0,11})")


def examine_columns(sheet: Sheet) -> Iterator[Finding]:
    """Trouble in the columns of the training rows."""
    yield from _ids(sheet)
    yield from _groups(sheet)
    yield from _written_numbers(sheet)
    yield from _nearly_numbers(sheet)
    yield from _many_categories(sheet)
    yield from _dates(sheet)
    yield from _text(sheet)


def gaps(sheet: Sheet) -> Iterator[Finding]:
    """Missing and infinite values of a file, each with its columns."""
    missing = sheet.missing()
    if missing:
        counts = {column: int(rows.sum()) for column, rows in missing.items()}
        worst = sorted(counts, key=lambda column: -counts[column])
        evidence = {
            "missing values": sum(counts.values()),
            "rows with one": int(np.logical_or.reduce(list(missing.values())).sum()),
            "of": len(sheet),
            "first in row": min(int(rows.argmax()) for rows in missing.values()) + 1,
            "in columns": few([f"{column} {counts[column]:,}" for column in worst], NAMED_COLUMNS),
        }
        where = {"file": str(sheet.path), "columns": quoted(list(missing), NAMED_COLUMNS)}
        mostly = [column for column in worst if counts[column] > MOSTLY * len(sheet) and column in sheet.columns]
        if sheet.id_column in missing:
            remedy = f"give every row an id, or leave out `id_column` '{sheet.id_column}'"
        else:
            remedy = (
                "nothing, if they are meant: a missing number becomes the median of the training rows and is marked, a "
                "missing category is a category; otherwise fill them in"
            )
            remedy += f", or drop columns that are mostly empty: {_each('drop', mostly)}" if mostly else ""
        severity = "mistake" if sheet.id_column in missing else "hint"
        yield Finding("missing values", severity, where, evidence, remedy, sum(counts.values()) / sheet.inputs.size)
    infinite = np.isinf(sheet.inputs)
    if infinite.any():
        columns = np.flatnonzero(infinite.any(axis=0))
        names = [sheet.columns[k] for k in columns]
        evidence = {
            "infinite values": int(infinite.sum()),
            "first in row": int(infinite.any(axis=1).argmax()) + 1,
            "in columns": few(
                [f"{sheet.columns[k]} {int(infinite[:, k].sum()):,}" for k in columns.tolist()], NAMED_COLUMNS
            ),
        }
        where = {"file": str(sheet.path), "columns": quoted(names, NAMED_COLUMNS)}
        remedy = f"correct or empty these entries (values beyond 3.4e38 count as infinite), or {_each('drop', names)}"
        yield Finding("infinite values", "mistake", where, evidence, remedy)


def _ids(sheet: Sheet) -> Iterator[Finding]:
    columns = [column for column in sheet.identifying() if sheet.plans[column].kind != "text"]
    if not columns:
        return
    used = [column for column in columns if sheet.plans[column].kind != "dropped"]
    where = {"file": str(sheet.path), "columns": quoted(columns)}
    evidence = {"rows": len(sheet), "different values": int(sheet.frame[columns[0]].n_unique())}  # type: ignore[index]
    if used:
        remedy = f"{_each('drop', used)}: a student would learn row numbers, which mean nothing for new rows"
    else:
        remedy = f"nothing: {'they are' if len(columns) > 1 else 'it is'} left out"
    if sheet.id_column is None and columns[0]:
        remedy += f"; if a teacher's labels are matched by it, pass `id_column` '{columns[0]}'"
    yield Finding("id among the inputs", "hint", where, evidence, remedy, float(len(used)))


def _groups(sheet: Sheet) -> Iterator[Finding]:
    """Columns named like ids whose entries repeat: they say which rows belong together."""
    ids = [name for name, plan in sheet.plans.items() if plan.kind in ("number", "category") and is_named_as_id(name)]
    for name in ids:
        column = sheet.frame[name].drop_nulls()  # type: ignore[index]
        distinct = column.n_unique()
        if not FEWEST_IDS <= distinct < len(column) or name in sheet.identifying():
            continue
        where = {"file": str(sheet.path), "column": name}
        evidence = {"different values": distinct, "rows": len(sheet), "rows of each": len(column) / distinct}
        remedy = (
            f"if it says which rows belong together (a patient, a product), pass `group` '{name}', which keeps them in "
            f"one part of the split; otherwise `drop` '{name}', or pass `categorical` '{name}'"
        )
        yield Finding("repeated ids among the inputs", "hint", where, evidence, remedy)


def constant_columns(sheet: Sheet) -> Iterator[Finding]:
    """Columns with the same entry in every row."""
    table = sheet.select(sheet.columns)
    same = np.flatnonzero((table == table[:1]).all(axis=0)) if len(sheet) > 1 else ()
    ids = sheet.identifying()  # long ones differ by less than float32 resolves
    constant = [sheet.columns[k] for k in same if sheet.columns[k] not in ids]
    if constant:
        where = {"file": str(sheet.path), "columns": quoted(constant)}
        evidence = {"constant columns": len(constant), "of": len(sheet.columns)}
        remedy = f"they contain no information: {_each('drop', constant)}"
        yield Finding("constant columns", "hint", where, evidence, remedy)


def _written_numbers(sheet: Sheet) -> Iterator[Finding]:
    """Numbers with decimal commas, thousands separators or signs of currencies, which are understood."""
    for name, plan in sheet.plans.items():
        if plan.kind != "number" or plan.style in (None, "plain"):
            continue
        entries = blank(sheet.frame[name])  # type: ignore[index]
        value = parse_numbers(entries, str(plan.style)).drop_nulls()[0]
        where = {"file": str(sheet.path), "column": name}
        evidence = {"written as": plan.style, "an entry": f"'{short(entries.drop_nulls()[0])}'", "read as": value}
        remedy = (
            f"nothing, if it was understood; if these are codes (zip codes, versions), pass `categorical` '{name}', "
            "otherwise write numbers with a decimal point"
        )
        yield Finding("numbers written as text", "hint", where, evidence, remedy)


def _nearly_numbers(sheet: Sheet) -> Iterator[Finding]:
    """Columns of words that are nearly all numbers, or numbers with a unit."""
    import polars as pl

    for name, plan in sheet.plans.items():
        if sheet.frame is None or plan.kind == "number" or sheet.frame[name].dtype != pl.String:
            continue
        entries = blank(sheet.frame[name])
        known = entries.drop_nulls()
        where = {"file": str(sheet.path), "column": name}
        treated = "left out" if plan.kind == "dropped" else f"taken for {plan.kind}"
        parsed = parse_numbers(entries, "plain")
        numbers = len(parsed) - parsed.null_count()
        row = unreadable(entries, parsed)
        words = entries.filter(parsed.is_null()).drop_nulls().n_unique()
        few_words = words <= FEW_WORDS and parsed.n_unique() > MANY_NUMBERS and numbers >= MOSTLY * len(known)
        if row is not None and (numbers >= NEARLY_ALL * len(known) or few_words):
            evidence = {"numbers": numbers, "other entries": len(known) - numbers,
                        "the first": f"'{short(entries[row])}'", "in row": row + 1}  # fmt: skip
            remedy = (
                f"the column is {treated}: correct or empty these entries, then `numeric` '{name}' makes sure that all "
                "are numbers"
            )
            yield Finding("numbers written as text", "mistake", where, evidence, remedy, numbers / len(known))
        elif plan.kind != "date" and (unit := _common_unit(known.to_list())) is not None:
            evidence = {"entries with a unit": len(known), "the unit": f"'{unit}'", "the first": f"'{short(known[0])}'"}
            remedy = (
                f"the column is {treated}: remove '{unit}' from the entries, then `numeric` '{name}' makes sure that "
                "all are numbers"
            )
            yield Finding("numbers written as text", "mistake", where, evidence, remedy, 0.5)


def _common_unit(entries: Sequence[str]) -> str | None:
    """What follows the number in every entry, such as "kg"; None if that differs."""
    units = set()
    for entry in entries:
        match = _WITH_UNIT.fullmatch(entry)
        if match is None:
            return None
        units.add(match["unit"].strip())
        if len(units) > 1:
            return None
    return units.pop() if len(set(entries)) > 2 and units else None


def _many_categories(sheet: Sheet) -> Iterator[Finding]:
    for name, plan in sheet.plans.items():
        if plan.kind != "category" or is_named_as_id(name):
            continue
        column = sheet.frame[name]  # type: ignore[index]
        distinct = column.drop_nulls().n_unique()
        if distinct <= MAX_CATEGORIES:
            continue
        step = CategoryStep.fit(plan, column, str(sheet.path))
        codes = step.codes(column)
        together = int((codes == len(step.categories)).sum()) if step.other else 0
        where = {"file": str(sheet.path), "column": name}
        evidence = {"different values": distinct, "values with a feature of their own": len(step.categories),
                    "rows with other values, which share one": together, "of": len(sheet)}  # fmt: skip
        remedy = (
            f"combine rare values into fewer, or `drop` '{name}'; if its values are what rows belong to (a person, a "
            f"place) and new ones will come, pass `group` '{name}'"
        )
        yield Finding("many categories", "hint", where, evidence, remedy, together / len(sheet))


def _dates(sheet: Sheet) -> Iterator[Finding]:
    for name, plan in sheet.plans.items():
        if plan.kind != "date":
            continue
        where = {"file": str(sheet.path), "column": name}
        values = sheet.frame[name].drop_nulls()  # type: ignore[index]
        evidence = {"written as": plan.style, "different dates": values.n_unique(), "of": len(sheet)}
        remedy = (
            f"if students will be used on later rows than these, pass `time` '{name}', which tests on the latest rows; "
            f"otherwise it is an input (days, season, day of the week) unless you `drop` '{name}'"
        )
        yield Finding("dates among the inputs", "hint", where, evidence, remedy)


def _text(sheet: Sheet) -> Iterator[Finding]:
    for name, plan in sheet.plans.items():
        if plan.kind == "text":
            where, evidence = {"file": str(sheet.path), "column": name}, {"it has": plan.reason}
            remedy = (
                "only frequent words become inputs: replace the text by numbers (embeddings), or, if it only names the "
                f"rows or was written when the label was known, `drop` '{name}'"
            )
            yield Finding("text among the inputs", "hint", where, evidence, remedy)


def label_copies(sheet: Sheet) -> Iterator[Finding]:
    """Columns that are constant within each class and differ between classes."""
    columns = [name for name in sheet.columns if name not in sheet.plans or sheet.plans[name].kind != "dropped"]
    present = np.unique(sheet.labels[sheet.labels != UNKNOWN])
    if len(present) < 2 or len(sheet) <= 2 * len(present) or not columns:
        return
    table = sheet.select(columns)
    low, high = (_by_class(table, sheet.labels, present, extreme) for extreme in (np.minimum, np.maximum))
    for k in np.flatnonzero((low == high).all(axis=0)):
        if len(np.unique(low[:, k])) == len(present):
            column = columns[k]
            where = {"file": str(sheet.path), "column": column}
            evidence = {"rows": len(sheet), "classes": len(present), "values of the column": len(present),
                        "rows in which its value determines the class": len(sheet)}  # fmt: skip
            remedy = f"'{column}' is the label in another form: `drop` '{column}'"
            yield Finding("label among the inputs", "mistake", where, evidence, remedy)


def _by_class(table: np.ndarray, labels: np.ndarray, present: np.ndarray, extreme: np.ufunc) -> np.ndarray:
    """The smallest or largest value of each column in each class, (classes, d), block by block."""
    empty = np.inf if extreme is np.minimum else -np.inf
    values = np.full((len(present), table.shape[1]), empty, dtype=np.float32)
    for start in range(0, len(table), _BLOCK):
        block, own = table[start : start + _BLOCK], labels[start : start + _BLOCK]
        for k, label in enumerate(present):
            rows = block[own == label]
            if len(rows):
                values[k] = extreme(values[k], extreme.reduce(rows, axis=0))
    return values


def _each(parameter: str, columns: Sequence[str]) -> str:
    """A parameter with the columns it takes, as in "`drop` 'a', 'b'"."""
    return f"`{parameter}` {quoted(columns, 5)}"
