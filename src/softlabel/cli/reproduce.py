"""`softlabel reproduce`: a table or figure of the papers, run again with statistics."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.ranges import LARGEST_SEED

Study = Annotated[str, typer.Argument(metavar="NAME", help="table1, figure1 or kernel-regime.")]
Preset = Annotated[str, typer.Option(help="quick, standard or paper.")]


def reproduce(
    name: Study,
    preset: Preset = "quick",
    settings: Annotated[Path | None, typer.Option(help="TOML file that changes settings of the preset.")] = None,
    data: Annotated[str | None, typer.Option(help="Another data set than the paper's, by name.")] = None,
    executor: Annotated[str, typer.Option(help="serial, local (processes) or dask.")] = "local",
    workers: Annotated[int | None, typer.Option(min=1, help="Workers; by default one for each core.")] = None,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads of each worker; by default cores / workers.")
    ] = None,
    scheduler: Annotated[str | None, typer.Option(help="Address of a Dask cluster, e.g. tcp://10.0.0.1:8786.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=LARGEST_SEED, help="First seed; runs take the ones that follow.")
    ] = None,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Run a study of the papers, judge it, and write its page.

    What is finished is kept: the same command goes on where it was interrupted, and ends at once when all is done.

    Example: softlabel reproduce table1

    Example: softlabel reproduce table1 --preset standard --out runs/standard

    Example: softlabel reproduce table1 --preset paper --executor dask --scheduler tcp://10.0.0.1:8786
    """
    from softlabel.cli.answering import run_and_answer
    from softlabel.lab.writable import check_folder
    from softlabel.studies.running import RUNS, chosen_executor, study_settings, with_data
    from softlabel.studies.running import reproduce as run

    folder = out or RUNS / f"{name}-{preset}"
    chosen = study_settings(name, preset, settings, data=data, seed=seed)
    check_folder(folder)
    chosen_executor(executor, workers, threads, scheduler)
    chosen = with_data(chosen, options.note)
    again = f"softlabel reproduce {name} --preset {preset}"
    again += f" --settings {settings.name}" if settings else ""
    again += f" --data {data}" if data else ""
    again += f" --seed {seed}" if seed is not None else ""
    study = partial(run, name, chosen, folder, executor=executor, workers=workers, threads=threads,
                    scheduler=scheduler, again=again)  # fmt: skip
    run_and_answer(lambda watch: study(watch=watch), _show, as_json)


def _show(document: dict) -> None:
    if "rows" not in document:  # Table 1 alone has them
        return

    def interval(part: dict) -> str:
        return f"{part['mean']:.2f} ±{(part['high'] - part['low']) / 2:.2f}"

    rows = []
    for row in document["rows"]:
        paper = row["paper"]
        printed = f"{paper['hard']:.2f} {paper['soft']:.2f}" if paper else "–"
        rows.append(
            [
                f"{row['dataset']}: {row['width']}",
                interval(row["hard"]),
                interval(row["soft"]),
                f"{row['gap']['mean']:+.2f} ±{(row['gap']['high'] - row['gap']['low']) / 2:.2f}",
                row["verdict"],
                printed,
            ]
        )
    for row in {row["dataset"]: row for row in document["rows"]}.values():
        printed = f" (paper {row['paper']['teacher']:.2f})" if row["paper"] else ""
        options.say(f"teacher, {row['dataset']}: {row['teacher']:.2f}%{printed}")
    runs = document["rows"][0]["gap"]["runs"]
    options.table(
        f"test accuracy in %, {document['settings']['data']}, {runs} runs, each arm with settings of its own choice",
        ["neurons", "hard", "soft", "gap", "verdict", "paper's"],
        rows,
    )
