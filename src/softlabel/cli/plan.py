"""`softlabel plan`: how small can the student be?"""

from dataclasses import asdict
from functools import partial
from typing import Annotated, Any

import typer

from softlabel.cli import options
from softlabel.cli.groups import DataChoice, TeacherChoice, Training, grouped


@grouped
def plan(
    *,
    given: DataChoice,
    test: options.TestFile = None,
    accuracy: Annotated[float, typer.Option(help="The test accuracy to reach, e.g. 0.95.")],
    taught: TeacherChoice,
    widths: Annotated[str | None, typer.Option(help="The ladder, e.g. 2,4,8,16; by default 2 … 512.")] = None,
    seeds: Annotated[int, typer.Option(help="Students at each width of the search.")] = 10,
    share: Annotated[float, typer.Option(help="Probability with which a fresh student is to reach it.")] = 0.9,
    confidence: Annotated[float, typer.Option(help="Confidence of that promise.")] = 0.95,
    confirm: Annotated[
        int | None, typer.Option(min=0, help="Fresh students that confirm a width; 0 for none. Default 62, deep 0.")
    ] = None,
    rival: Annotated[bool, typer.Option(help="Train the 8-bit rival of the same size.")] = True,
    family: Annotated[
        str, typer.Option(help="two-layer, vgg or resnet; of deep ones widths are channels of the first layer.")
    ] = "two-layer",
    size: Annotated[int | None, typer.Option(min=4, help="Pixels that a folder's images are brought to.")] = None,
    training: Training,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """The smallest student that reaches a test accuracy, with hard and with soft labels, and exports it.

    A ladder of widths is trained at once, bisection narrows it down, and fresh students confirm the answer. That no
    width reaches the target is an answer too.

    Example: softlabel plan mnist --accuracy 0.95

    Example: softlabel plan heart.csv --label sick --teacher forest.onnx --accuracy 0.9 --out runs/heart

    Example: softlabel plan cifar10 --classes cat,dog --family vgg --teacher vgg8+3 --accuracy 0.7 --seeds 3
    """
    from softlabel.cli.answering import run_and_answer
    from softlabel.cli.practice import again_command, load_pictures, load_practice
    from softlabel.errors import require, unknown
    from softlabel.studies.plan import plan as ask
    from softlabel.studies.plan.settings import LADDERS

    if family not in LADDERS:
        raise unknown("family", family, LADDERS)
    tabular = {"--label": given.label, "--task": given.task, "--leave-out": given.leave_out, "--scale": given.scale,
               "--drop": given.drop, "--id": taught.id_column, "--test": test}  # fmt: skip
    idle = [name for name, value in tabular.items() if value] if family != "two-layer" else ["--size"] * bool(size)
    require(
        not idle, f"{', '.join(idle)} {'has' if len(idle) == 1 else 'have'} no meaning for {family} students; leave out"
    )
    if family == "two-layer":
        problem = load_practice(given, taught.id_column, seed, test)
    else:
        problem = load_pictures(given.data, given.classes, size, seed)
    ladder = None if widths is None else options.whole_numbers(widths, "--widths")
    run = partial(
        ask, problem, accuracy=accuracy, widths=ladder, seeds=seeds, share=share, confidence=confidence,
        confirm=confirm, rival=rival, family=family, seed=seed, folder=out, again=again_command("plan"),
        note=options.note, **asdict(taught), **training.settings(),
    )  # fmt: skip
    run_and_answer(lambda watch: run(watch=watch), _show, as_json)


def _show(document: dict[str, Any]) -> None:
    widths = sorted({point["width"] for point in document["curve"]})
    points = {(point["arm"], point["width"]): point for point in document["curve"]}

    def cell(arm: str, width: int) -> list[str]:
        point = points.get((arm, width))
        if point is None:
            return ["–", "–"]
        return [
            f"{point['mean']:.4f} ±{(point['high'] - point['low']) / 2:.4f}",
            f"{point['reached']} of {point['students']}",
        ]

    options.table(
        f"test accuracy by width, and students that reach {document['target']:g}",
        ["width", "hard", "reach", "soft", "reach"],
        [[str(width), *cell("hard", width), *cell("soft", width)] for width in widths],
    )
