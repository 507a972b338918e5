"""`softlabel results`, `report` and `cite`: what earlier runs left behind."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options

app = typer.Typer(no_args_is_help=True, help="List, show and export runs.")
COUNTS = ("done", "failed", "damaged", "cells")
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


@app.command("list")
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Where to look for run folders.")] = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """Runs below a folder: study, state, cells.

    Example: softlabel results list
    """
    from softlabel.errors import InputError
    from softlabel.lab import LEDGER

    if not folder.is_dir():
        raise InputError(f"there is no folder '{folder}'; name the one that holds your runs")
    runs = [_state_or_problem(path.parent) for path in sorted(folder.rglob(LEDGER))]
    if as_json:
        options.answer({"runs": runs})
        return
    rows = [
        [
            run["run"],
            run["study"] or "–",
            *("–" if run[name] is None else str(run[name]) for name in COUNTS),
            run["page"],
        ]
        for run in runs
    ]
    options.table(f"runs in {folder}", ["run", "study", "bundles done", "failed", "damaged", "cells", "page"], rows)
    for run in runs:
        if run["problem"]:
            options.note(f"warning: {run['problem']}")


@app.command()
def show(run: Run, as_json: options.Json = False) -> None:
    """One run: its settings, what is done, what failed and why.

    Example: softlabel results show runs/table1-quick
    """
    from softlabel.studies.running import fitting, open_ledger

    with fitting(run), open_ledger(run) as ledger:
        answer = _state(run) | {
            "settings": ledger.meta("settings"),
            "environment": ledger.meta("environment"),
            "threads": ledger.meta("threads"),
            "checksums": ledger.has_checksums,
            "bundles": ledger.bundles(),
        }
    if not answer["checksums"]:
        options.note("note: this ledger is of version 1, without checksums: changes to it cannot be found out")
    if answer["problem"]:
        options.note(f"warning: {answer['problem']}")
    if as_json:
        options.answer(answer)
        return
    rows = [
        [
            f"{row['stage']}: {row['name']}",
            row["status"],
            str(row["cells"]),
            str(row["attempts"]),
            f"{row['seconds']:.0f} s",
        ]
        for row in answer["bundles"]
    ]
    options.table(f"{run}: {answer['study']}", ["bundle", "status", "cells", "attempts", "time"], rows)
    for row in answer["bundles"]:
        if row["reason"]:
            options.say(f"{row['name']}: {row['reason']}")


@app.command()
def export(
    run: Run,
    to: Annotated[Path, typer.Option(help="File to write; .parquet or .csv.")],
    as_json: options.Json = False,
) -> None:
    """Every cell of a run as one row of a table: its settings and its metrics.

    Example: softlabel results export runs/table1-quick --to cells.parquet
    """
    import io

    import polars

    from softlabel.errors import InputError
    from softlabel.lab.spreadsheets import csv_bytes
    from softlabel.lab.writable import check_file
    from softlabel.numerics.files import write_bytes
    from softlabel.studies.running import fitting, open_ledger

    if to.suffix not in (".parquet", ".csv"):
        raise InputError(f"to must end in .parquet or .csv, got '{to}'")
    check_file(to, "to")
    with fitting(run), open_ledger(run) as ledger:
        rows = [{name: _plain(value) for name, value in row.items()} for row in ledger.rows()]
    table = polars.DataFrame(rows, infer_schema_length=None)
    content = io.BytesIO()
    table.write_parquet(content) if to.suffix == ".parquet" else content.write(csv_bytes(table))
    write_bytes(to, content.getvalue())
    if as_json:
        options.answer({"file": str(to), "rows": table.height, "columns": table.columns})
    else:
        options.say(f"{table.height} cells written to {to}")


def report(run: Run, as_json: options.Json = False) -> None:
    """Rebuild the page of a finished run from its ledger.

    Example: softlabel report runs/table1-quick
    """
    from softlabel.studies.running import read_run

    done = read_run(run)
    if as_json:
        options.answer(done.document)
    else:
        options.say(f"Report: {done.page}")


def cite(
    run: Annotated[Path | None, typer.Argument(metavar="[RUN]", help="A run folder; without one, everything.")] = None,
    as_json: options.Json = False,
) -> None:
    """BibTeX of what a run used.

    Example: softlabel cite runs/table1-quick
    """
    from softlabel.report.citations import CITATIONS, citations
    from softlabel.studies.running import fitting, open_ledger

    found = list(CITATIONS.values())
    if run is not None:
        with fitting(run), open_ledger(run) as ledger:
            found = list(citations(ledger.meta("study"), (ledger.meta("settings") or {}).get("data")))
    if as_json:
        options.answer({"bibtex": found})
    else:
        options.say(*"\n\n".join(found).splitlines())


def _state(run: Path) -> dict[str, Any]:
    from softlabel.errors import quoted
    from softlabel.studies.running import open_ledger

    with open_ledger(run) as ledger:
        status = [row["status"] for row in ledger.bundles()]
        damaged = ledger.damaged()
        problem = None
        if damaged:
            problem = (
                f"{len(damaged)} bundles of '{run}' are not what was written ({quoted(damaged, 3)}); run the command "
                "that began the run again, it computes these anew"
            )
        return _row(run) | {
            "study": ledger.meta("study"),
            "done": status.count("done"),
            "failed": status.count("failed"),
            "damaged": len(damaged),
            "cells": sum(row["cells"] for row in ledger.bundles()),
            "problem": problem,
        }


def _state_or_problem(run: Path) -> dict[str, Any]:
    """The same, with the reason where a run cannot be read: the others can."""
    from softlabel.errors import SoftlabelError
    from softlabel.studies.running import fitting

    try:
        with fitting(run):
            return _state(run)
    except SoftlabelError as problem:
        return _row(run) | {"problem": str(problem)}


def _row(run: Path) -> dict[str, Any]:
    page = run / "report.html"
    return {"run": str(run), "study": None, **dict.fromkeys(COUNTS), "page": str(page) if page.exists() else ""}


def _plain(value: Any) -> Any:
    """Lists and tables inside a cell as text, so that every column has one type."""
    import json

    return json.dumps(value) if isinstance(value, (list, dict)) else value
