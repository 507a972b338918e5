"""`softlabel reproduce`: a table or figure of the papers, with statistics."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.options import EXECUTION, option
from softlabel.ranges import LARGEST_SEED


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="table1, figure1 or kernel-regime.")],
    preset: Annotated[str, option("quick, standard or paper.")] = "quick",
    settings: Annotated[Path | None, option("TOML file that changes settings of the preset.")] = None,
    data: Annotated[str | None, option("Another data set than the paper's, by name.")] = None,
    executor: Annotated[str, option("serial, local (processes) or dask.", EXECUTION)] = "local",
    workers: options.Workers = None,
    threads: options.Threads = None,
    scheduler: options.Scheduler = None,
    seed: Annotated[int | None, option("First seed of the runs.", None, min=0, max=LARGEST_SEED)] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Run a study of the papers, judge it, and write its page.

    Finished work is kept: the same command goes on where it was interrupted, and ends at once when all is done.

    Example: softlabel reproduce table1

    Example: softlabel reproduce table1 --preset standard --out runs/standard

    Example: softlabel reproduce table1 --preset paper --executor dask --scheduler tcp://10.0.0.1:8786
    """
    from softlabel.studies.reproduce import reproduce as run
    from softlabel.studies.run import Execution

    command = f"softlabel reproduce {name} --preset {preset}"
    command += f" --settings {settings.name}" if settings else ""
    command += f" --data {data}" if data else ""
    command += f" --seed {seed}" if seed is not None else ""
    execution = Execution(executor, workers, threads, scheduler, command=command)
    options.print_result(
        lambda: run(name, preset, settings=settings, data=data, seed=seed, out=out, execution=execution),
        _show, as_json,
    )  # fmt: skip


def _show(document: dict[str, Any]) -> None:
    def interval(part: dict[str, float], form: str = ".2f") -> str:
        return f"{part['mean']:{form}} ±{(part['high'] - part['low']) / 2:.2f}"

    rows = []
    for row in document.get("rows", []):  # Table 1 alone has them
        printed = f"{row['paper']['hard']:.2f} {row['paper']['soft']:.2f}" if row["paper"] else "–"
        rows.append([f"{row['dataset']}: {row['width']}", interval(row["hard"]), interval(row["soft"]),
                     interval(row["gap"], "+.2f"), row["verdict"], printed])  # fmt: skip
    if not rows:
        return
    for row in {row["dataset"]: row for row in document["rows"]}.values():
        printed = f" (paper {row['paper']['teacher']:.2f})" if row["paper"] else ""
        options.say(f"teacher, {row['dataset']}: {row['teacher']:.2f}%{printed}")
    runs = document["rows"][0]["gap"]["runs"]
    title = f"test accuracy in %, {document['settings']['data']}, {runs} runs, settings chosen for each arm"
    options.table(title, ["neurons", "hard", "soft", "gap", "verdict", "paper's"], rows)
