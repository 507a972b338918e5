"""`softlabel verdict`: should you distil?"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, TeacherChoice, Training, grouped


@grouped
def verdict(
    *,
    given: DataChoice,
    test: options.TestFile = None,
    taught: TeacherChoice,
    width: Annotated[int, typer.Option(help="Neurons of the students.")] = 32,
    metric: Annotated[str, typer.Option(help="accuracy, balanced-accuracy, auc or log-loss.")] = "accuracy",
    margin: Annotated[float, typer.Option(help="Points within which a gap does not matter.")] = 0.5,
    seeds: Annotated[int, typer.Option(help="At most so many for each arm.")] = 40,
    confidence: Annotated[float, typer.Option(help="Confidence over all looks together.")] = 0.95,
    transfer: Annotated[
        Path | None, typer.Option(help="File of unlabelled rows, same columns: the teacher labels them for an arm.")
    ] = None,
    training: Training,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Should you distil? Soft, hard and smoothed labels with equal budgets, paired seeds and a verdict.

    Seeds are added until the interval of soft − hard decides, or the budget ends; looks are planned so that adding
    seeds does not inflate the error rate. Answers: soft wins, no difference, hard wins, or undecided and what it would
    take.

    Example: softlabel verdict digits

    Example: softlabel verdict heart.csv --label sick --teacher forest.onnx --metric auc

    Example: softlabel verdict heart.csv --label sick --test later.csv --teacher labels.csv --id patient

    Example: softlabel verdict heart.csv --label sick --drop patient --transfer unlabelled.csv
    """
    from softlabel.cli.answering import run_and_answer
    from softlabel.cli.practice import again_command, load_practice
    from softlabel.studies.verdict import verdict as ask
    from softlabel.teachers.asking import read_unlabelled

    problem = load_practice(given, taught.id_column, seed, test)
    unlabelled = None if transfer is None else read_unlabelled(transfer, problem, given.drop or ())
    run = partial(
        ask, problem, width=width, metric=metric, margin=margin, seeds=seeds, confidence=confidence,
        transfer=unlabelled, seed=seed, folder=out, again=again_command("verdict"), note=options.note,
        **asdict(taught), **training.settings(),
    )  # fmt: skip
    run_and_answer(lambda watch: run(watch=watch), _show, as_json)


def _show(document: dict[str, Any]) -> None:
    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    rows = [
        [
            arm, f"{found['mean']:.4f} ({found['low']:.4f} … {found['high']:.4f})", number(found["log_loss"], ".4f"),
            number(found["calibration_error"], ".3f"), number(found.get("agreement"), ".1%"),
        ]
        for arm, found in document["arms"].items()
    ]  # fmt: skip
    options.table(
        f"{document['metric']} on test rows, {document['runs']} seeds",
        ["labels", document["metric"], "log loss", "calibration error", "agreement"],
        rows,
    )
