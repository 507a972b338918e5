"""Earlier runs: their state, their cells as a table, their citations."""

import io
import json
from pathlib import Path
from typing import Any

from softlabel.errors import InputError, SoftlabelError, quoted
from softlabel.lab import LEDGER
from softlabel.lab.spreadsheets import csv_bytes
from softlabel.lab.writable import check_file
from softlabel.numerics.files import write_bytes
from softlabel.report.citations import CITATIONS, citations
from softlabel.studies.run import open_ledger, reading

COUNTS = ("done", "failed", "damaged", "cells")


def list_runs(directory: Path) -> list[dict[str, Any]]:
    """The state of every run below a directory; of a run that cannot be read, the reason."""
    if not directory.is_dir():
        raise InputError(f"there is no directory '{directory}'; name the one with your runs")
    return [_state_or_problem(path.parent) for path in sorted(directory.rglob(LEDGER))]


def run_state(run_dir: Path) -> dict[str, Any]:
    """One run: its study, how much is done, its settings, and every bundle."""
    with reading(run_dir), open_ledger(run_dir) as ledger:
        return _state(run_dir) | {
            "settings": ledger.meta("settings"),
            "environment": ledger.meta("environment"),
            "threads": ledger.meta("threads"),
            "checksums": ledger.has_checksums,
            "bundles": ledger.bundles(),
        }


def export_cells(run_dir: str | Path, to: str | Path) -> dict[str, Any]:
    """Write every cell of a run as one row of a table: its settings and its metrics.

    Parameters
    ----------
    run_dir : str or path
        Directory of a run of `verdict`, `plan` or `reproduce`, finished or not.
    to : str or path
        File to write, which ends in ``.parquet`` or ``.csv``.

    Returns
    -------
    dict
        Its ``file``, number of ``rows`` and names of ``columns``.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.export_cells("runs/table1-quick", "cells.csv")["rows"]  # doctest: +SKIP
    416
    """
    import polars

    run_dir, to = Path(run_dir), Path(to)
    if to.suffix not in (".parquet", ".csv"):
        raise InputError(f"to must end in .parquet or .csv, got '{to}'")
    check_file(to, "to")
    with reading(run_dir), open_ledger(run_dir) as ledger:
        rows = [{name: _flat(value) for name, value in row.items()} for row in ledger.rows()]
    table = polars.DataFrame(rows, infer_schema_length=None)
    content = io.BytesIO()
    if to.suffix == ".parquet":
        table.write_parquet(content)
    else:
        content.write(csv_bytes(table))
    write_bytes(to, content.getvalue())
    return {"file": str(to), "rows": table.height, "columns": table.columns}


def run_citations(run_dir: Path | None) -> list[str]:
    """BibTeX entries of what a run used; of everything where `run_dir` is None."""
    if run_dir is None:
        return list(CITATIONS.values())
    with reading(run_dir), open_ledger(run_dir) as ledger:
        return list(citations(ledger.meta("study"), (ledger.meta("settings") or {}).get("data")))


def _state(run_dir: Path) -> dict[str, Any]:
    with open_ledger(run_dir) as ledger:
        bundles, damaged = ledger.bundles(), ledger.damaged()
        status = [row["status"] for row in bundles]
        return _empty_state(run_dir) | {
            "study": ledger.meta("study"),
            "done": status.count("done"),
            "failed": status.count("failed"),
            "damaged": len(damaged),
            "cells": sum(row["cells"] for row in bundles),
            "problem": damage(run_dir, damaged) if damaged else None,
        }


def damage(run_dir: Path, damaged: list[str]) -> str:
    """What it means that these bundles of a run are damaged, and the remedy."""
    return (
        f"{len(damaged)} bundles of '{run_dir}' differ from what was written ({quoted(damaged, 3)}); rerun the "
        "original command, which computes these again"
    )


def _state_or_problem(run_dir: Path) -> dict[str, Any]:
    try:
        with reading(run_dir):
            return _state(run_dir)
    except SoftlabelError as problem:
        return _empty_state(run_dir) | {"problem": str(problem)}


def _empty_state(run_dir: Path) -> dict[str, Any]:
    page = run_dir / "report.html"
    return {"run": str(run_dir), "study": None, **dict.fromkeys(COUNTS), "page": str(page) if page.exists() else ""}


def _flat(value: Any) -> Any:
    """Lists and dictionaries as text, so that every column has one type."""
    return json.dumps(value) if isinstance(value, list | dict) else value
