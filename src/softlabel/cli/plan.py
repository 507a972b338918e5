"""`softlabel plan`: how small can the student be?"""

from typing import Annotated, Any

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, ExecutionChoice, TeacherChoice, TrainingChoice, grouped
from softlabel.cli.options import option


@grouped
def plan(
    *,
    data: DataChoice,
    test: options.TestFile = None,
    size: options.Size = None,
    accuracy: Annotated[float, option("Test accuracy to reach, e.g. 0.95.")],
    teacher: TeacherChoice,
    student: options.StudentFamily = "two-layer",
    widths: Annotated[
        str | None, option("Sizes to try, in the unit of the family, e.g. 2,4,8,16. Default: 2 … 512 neurons.")
    ] = None,
    seeds: Annotated[int, option("Students at each size of the search.")] = 10,
    share: Annotated[float, option("Probability with which a fresh student must reach the accuracy.")] = 0.9,
    confidence: Annotated[float, option("Confidence of that promise.")] = 0.95,
    confirm: Annotated[
        int | None, option("Fresh students that confirm a size, 0 for none. Default: 62, deep students 0.", min=0)
    ] = None,
    rival: Annotated[bool, option("Train the 8-bit rival of the same size.")] = True,
    training: TrainingChoice,
    execution: ExecutionChoice,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Find the smallest student that reaches a test accuracy, on hard and on soft labels, and export it.

    A ladder of sizes is trained at once, bisection narrows it down, and fresh students confirm the answer. "No size
    reaches the target" is an answer, too.

    Example: softlabel plan mnist --accuracy 0.95

    Example: softlabel plan heart.csv --label sick --teacher forest.onnx --accuracy 0.9 --student boosted-trees

    Example: softlabel plan cifar10 --classes cat,dog --student vgg --teacher vgg8+3 --accuracy 0.7 --seeds 3
    """
    from softlabel.studies.plan import PlanOptions
    from softlabel.studies.plan import plan as find

    problem = data.loader(seed=seed, id_column=teacher.id_column, test=test, size=size)
    chosen = PlanOptions(
        **vars(training), share=share, confidence=confidence, confirm=confirm, rival=rival, teacher=teacher.options(),
    )  # fmt: skip
    ladder = None if widths is None else options.positive_integers(widths, "widths")
    options.print_result(
        lambda: find(problem, teacher=teacher.teacher, accuracy=accuracy, student=student, widths=ladder, seeds=seeds,
                     seed=seed, out=out, options=chosen, execution=execution.execution()),
        _show, as_json,
    )  # fmt: skip


def _show(document: dict[str, Any]) -> None:
    arms = ("hard", "soft")
    points = {(point["width"], point["arm"]): point for point in document["curve"]}
    fresh = {(attempt["width"], arm): attempt for arm in arms for attempt in document["arms"][arm]["attempts"]}
    rows = []
    for width in sorted({width for width, _ in points.keys() | fresh}):
        row = [str(width)]
        for arm in arms:
            point, attempt, planned = points.get((width, arm)), fresh.get((width, arm)), document["arms"][arm]
            accuracy = point or (planned["accuracy"] if width == planned["width"] else None)
            cells = [
                "–" if accuracy is None else f"{accuracy['mean']:.4f} ±{(accuracy['high'] - accuracy['low']) / 2:.4f}",
                "–" if point is None else f"{point['reached']}/{point['students']}",
                "–" if attempt is None else f"{attempt['reached']}/{attempt['of']} {'✗✓'[attempt['confirmed']]}",
            ]
            row += cells if fresh else cells[:2]
        rows.append(row)
    columns = [document["unit"], *(column for arm in arms for column in (arm, "reach", "fresh")[: 3 if fresh else 2])]
    title = f"test accuracy by number of {document['unit']}, and students that reach {document['target']:g}"
    options.table(title + ("; fresh ones confirm (✓) or not (✗)" if fresh else ""), columns, rows)
