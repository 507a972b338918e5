"""What `softlabel.load` does to every column of a table, and why it would refuse one."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from softlabel.data.encoding import TableEncoder
from softlabel.data.encoding.inputs import table_inputs
from softlabel.data.encoding.written import unreadable
from softlabel.data.problem import SHARES
from softlabel.data.splits import split_by_groups
from softlabel.data.tables import time_values
from softlabel.errors import InputError, short
from softlabel.studies.doctor.findings import Finding
from softlabel.studies.doctor.sheets import FileColumns, Sheet, numbers_of


def column_treatment(sheet: Sheet, chosen: FileColumns) -> list[dict[str, Any]]:
    """What becomes of every column: its name, its kind, what is done and how many features it becomes.

    Arrays of numbers without gaps have no entries. Raises an InputError where `softlabel.load` would.
    """
    import polars as pl

    frame, where = sheet.table, f"'{sheet.path}'"
    if frame is None:
        if not np.isnan(sheet.inputs).any():
            return []
        frame = pl.DataFrame(sheet.inputs, schema=list(sheet.columns))
    elif chosen.roles.time is not None and sheet.frame is not None:
        time_values(sheet.frame[chosen.roles.time], where)
    elif sheet.groups is not None:
        split_by_groups(sheet.groups, SHARES, 0, np.maximum(sheet.labels, 0))
    inputs = table_inputs(frame, chosen.roles, where)
    if inputs.table is not None:
        described = {one["column"]: one for one in TableEncoder.fit(inputs.plans, frame, where).describe()}
    else:
        described = {
            plan.name: {"column": plan.name, "kind": "number", "done": "number", "features": 1}
            if plan.name in inputs.columns
            else {"column": plan.name, "kind": "dropped", "done": plan.reason, "features": 0}
            for plan in inputs.plans
        }
    nothing = {"kind": "dropped", "done": "no word in it is frequent", "features": 0}
    return [described.get(plan.name, {"column": plan.name, **nothing}) for plan in inputs.plans]


def refusals(sheet: Sheet, chosen: FileColumns) -> Iterator[Finding]:
    """The reason why `softlabel.load` refuses the training rows, if it does."""
    try:
        column_treatment(sheet, chosen)
    except InputError as refused:
        where = {"file": str(sheet.path)}
        yield Finding("table is refused", "mistake", where, {"columns": len(sheet.columns)}, str(refused))


def entries_of_another_kind(sheet: Sheet) -> Iterator[Finding]:
    """Entries of another split that are not what their column is in the training rows."""
    import polars as pl

    for name, plan in sheet.plans.items():
        if sheet.frame is None or plan.kind not in ("number", "date") or sheet.frame[name].dtype != pl.String:
            continue
        column = sheet.frame[name]
        row = unreadable(column, pl.Series(name, numbers_of(column, plan), nan_to_null=True))
        if row is not None:
            where = {"file": str(sheet.path), "column": name}
            evidence = {"in the training rows it is a": plan.kind, "the first other entry": f"'{short(column[row])}'",
                        "in row": row + 1}  # fmt: skip
            remedy = f"correct or empty these entries, or `drop` '{name}'"
            yield Finding("columns differ", "mistake", where, evidence, remedy, 1.0)
