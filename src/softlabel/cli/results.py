"""`softlabel results`: list, show and export runs."""

from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.options import option

app = typer.Typer(no_args_is_help=True, help="List, show and export runs.")
Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")]


@app.command("list")
def list_runs(
    directory: Annotated[Path, typer.Argument(help="Directory to search for runs.")] = Path("runs"),
    as_json: options.Json = False,
) -> None:
    """List the runs below a directory: study, state, cells.

    Example: softlabel results list
    """
    from softlabel.studies import runs as library

    runs = library.list_runs(directory)
    if as_json:
        options.answer({"runs": runs})
        return
    rows = []
    for run in runs:
        counts = ["–" if run[name] is None else str(run[name]) for name in library.COUNTS]
        rows.append([run["run"], run["study"] or "–", *counts, run["page"]])
    columns = ["run", "study", "bundles done", "failed", "damaged", "cells", "page"]
    options.table(f"runs in {directory}", columns, rows)
    for run in runs:
        if run["problem"]:
            options.note(f"warning: {run['problem']}")


@app.command()
def show(run: Run, as_json: options.Json = False) -> None:
    """Show one run: its settings, what is done, what failed and why.

    Example: softlabel results show runs/table1-quick
    """
    from softlabel.studies.runs import run_state

    state = run_state(run)
    if not state["checksums"]:
        options.note("note: this ledger is of version 1, without checksums, so changes to it cannot be detected")
    if state["problem"]:
        options.note(f"warning: {state['problem']}")
    if as_json:
        options.answer(state)
        return
    rows = [[f"{row['stage']}: {row['name']}", row["status"], str(row["cells"]), str(row["attempts"]),
             f"{row['seconds']:.0f} s"] for row in state["bundles"]]  # fmt: skip
    options.table(f"{run}: {state['study']}", ["bundle", "status", "cells", "attempts", "time"], rows)
    options.say(*(f"{row['name']}: {row['reason']}" for row in state["bundles"] if row["reason"]))


@app.command()
def export(
    run: Run, to: Annotated[Path, option("File to write: .parquet or .csv.")], as_json: options.Json = False
) -> None:
    """Export every cell of a run as one row of a table: its settings and its metrics.

    Example: softlabel results export runs/table1-quick --to cells.parquet
    """
    from softlabel.studies.runs import export_cells

    written = export_cells(run, to)
    options.answer(written) if as_json else options.say(f"{written['rows']} cells written to {to}")
