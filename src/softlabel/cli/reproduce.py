"""`softlabel reproduce`: a table or figure of the papers, with statistics."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.options import EXECUTION, option
from softlabel.ranges import LARGEST_SEED


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A study, or all.")],
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
    """Run a study of the papers or of a question that they leave open, judge it, and write its page.

    The papers: table1, ordinary (Table 1 with ordinary training), figure1, kernel-regime. Their explanations:
    mechanism, width-scaling. Open questions: initialization, multiclass, robustness, sample-size, seed-variance,
    teacher-size. all runs every study in a directory of its own.

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
        _show, as_json, answer_first=True,
    )  # fmt: skip


def _show(document: dict[str, Any]) -> None:
    """What stands above the sentences: for Table 1 the gaps by radius and the paper's table."""
    if "mean_gaps" not in document:
        return
    settings = document["settings"]
    options.bars(
        "gap soft − hard in points, both arms on the same ball, mean of all rows",
        [("no ball" if one["radius"] is None else f"B = {one['radius']:g}", one["mean"], one["verdict"])
         for one in document["mean_gaps"]],
    )  # fmt: skip

    def interval(part: dict[str, float], form: str = ".2f") -> str:
        return f"{part['mean']:{form}} ±{(part['high'] - part['low']) / 2:.2f}"

    rows = []
    for row in document["rows"]:
        printed = f"{row['paper']['hard']:.1f} {row['paper']['soft']:.1f}" if row["paper"] else "–"
        rows.append([f"{row['dataset']}: {row['width']}", interval(row["hard"]), interval(row["soft"]),
                     interval(row["gap"], "+.2f"), printed])  # fmt: skip
    runs = document["rows"][0]["gap"]["runs"]
    title = f"test accuracy in %, {settings['data']}, {runs} seeds, each arm with its own settings and radius"
    options.table(title, ["neurons", "hard", "soft", "gap", "paper"], rows)
