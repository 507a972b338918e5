"""`softlabel verdict`: should you distill?"""

from pathlib import Path
from typing import Annotated, Any

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, ExecutionChoice, TeacherChoice, TrainingChoice, grouped
from softlabel.cli.options import DATA, option


@grouped
def verdict(
    *,
    data: DataChoice,
    test: options.TestFile = None,
    size: options.Size = None,
    transfer: Annotated[
        Path | None, option("File of unlabeled rows with the same columns; the teacher labels them for an arm.", DATA)
    ] = None,
    augment: Annotated[
        float, option("Synthetic rows for an arm that the teacher labels, as a multiple of the training rows.", DATA)
    ] = 0.0,
    teacher: TeacherChoice,
    student: options.StudentFamily = "two-layer",
    width: options.StudentSize = None,
    metric: Annotated[str, option("accuracy, balanced-accuracy, auc or log-loss.")] = "accuracy",
    equivalence: Annotated[float, option("A gap within ± this many points does not matter.")] = 0.5,
    seeds: Annotated[int, option("Maximum number of seeds per arm.")] = 40,
    confidence: Annotated[float, option("Confidence over all looks together.")] = 0.95,
    cross_test: options.CrossTest = None,
    training: TrainingChoice,
    execution: ExecutionChoice,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Should you distill? Soft, hard and smoothed labels with equal budgets, paired seeds and a verdict.

    Seeds are added until the interval of soft − hard decides, or their maximum is reached; looks are planned so that
    adding seeds does not inflate the error rate. The verdict is: soft wins, no difference, hard wins, or undecided,
    with what would decide it.

    Example: softlabel verdict digits

    Example: softlabel verdict heart.csv --label sick --teacher forest.onnx --metric auc

    Example: softlabel verdict heart.csv --label sick --test later.csv --teacher labels.csv --id patient

    Example: softlabel verdict heart.csv --label sick --drop patient --transfer unlabeled.csv

    Example: softlabel verdict heart.csv --label sick --student tree --width 8
    """
    from softlabel.studies.verdict import VerdictOptions
    from softlabel.studies.verdict import verdict as decide
    from softlabel.teachers.rows import read_unlabeled_rows

    problem = data.loader(seed=seed, id_column=teacher.id_column, test=test, size=size)
    chosen = VerdictOptions(
        **vars(training), equivalence=equivalence, confidence=confidence, cross_test=cross_test, augment=augment,
        teacher=teacher.options(),
        transfer=None if transfer is None else read_unlabeled_rows(transfer, problem(), data.drop or ()),
    )  # fmt: skip
    options.print_result(
        lambda: decide(problem, teacher=teacher.teacher, student=student, width=width, metric=metric, seeds=seeds,
                       seed=seed, out=out, options=chosen, execution=execution.execution()),
        _show, as_json,
    )  # fmt: skip


def _show(document: dict[str, Any]) -> None:
    rows = []
    for name, arm in document["arms"].items():
        agreement = arm.get("agreement")
        rows.append([
            name, f"{arm['mean']:.4f} ±{(arm['high'] - arm['low']) / 2:.4f}", f"{arm['log_loss']:.4f}",
            f"{arm['brier_score']:.4f}", f"{arm['calibration_error']:.3f}",
            "–" if agreement is None else f"{agreement:.1%}",
        ])  # fmt: skip
    columns = ["labels", document["metric"], "log loss", "Brier", "calibration", "agreement"]
    options.table(f"{document['metric']} on test rows, {document['runs']} seeds", columns, rows)
