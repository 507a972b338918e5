"""`softlabel distill`: a deep student from images and a teacher."""

from typing import Annotated

import typer

from softlabel.cli import options
from softlabel.cli.distill_options import LABELS, STUDENT, DeepTrainingChoice, NetworkChoice, ObjectiveChoice
from softlabel.cli.groups import grouped
from softlabel.cli.options import TEACHER, option

IMAGES = "Images: name of a data set, an NPZ file (images, labels), or a folder with one subfolder per class."
SOURCE = "An ONNX file, a file of logits (.safetensors or .npy, one row per image), or a network to train: vgg8+3."


@grouped
def distill(
    *,
    data: Annotated[str, typer.Argument(metavar="DATA", help=IMAGES)],
    classes: options.Classes = None,
    size: options.Size = None,
    teacher: Annotated[str, option(SOURCE, TEACHER)],
    student: Annotated[str, option("vgg1+3 … vgg19+3, resnet8, resnet14, resnet20, …", STUDENT)] = "vgg2+3",
    networks: NetworkChoice,
    labels: ObjectiveChoice,
    smoothing: Annotated[float, option("Label smoothing of an additional arm; 0: none.", LABELS)] = 0.0,
    match: Annotated[
        str | None,
        option("STUDENT_LAYER:TEACHER_LAYER: match these features, too (with a teacher trained here).", LABELS),
    ] = None,
    online: Annotated[bool, option("Evaluate the teacher on every batch.", TEACHER, "--online")] = False,
    training: DeepTrainingChoice,
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train a deep student on hard labels and on a teacher's soft labels, compare both, and export them.

    With --out, students (safetensors and ONNX), the teacher's logits and checkpoints are written to a directory, and
    the same command goes on from there after an interruption.

    Example: softlabel distill cifar10 --classes cat,dog --teacher vgg8+3 --width-multiplier 0.25 --out runs/pets

    Example: softlabel distill photos/ --size 32 --teacher big.onnx --student resnet8 --augment --out runs/photos

    Example: softlabel distill images.npz --teacher logits.npy --student resnet8 --temperature 2
    """
    from softlabel.data import load
    from softlabel.data.images import refuse_table
    from softlabel.studies.distill import distill as run

    arguments = {
        "training": training.training(seed), "objective": labels.objective(match is not None), "smoothing": smoothing,
        "match": match, "online": online, "seed": seed, "out": out, "options": networks.options(),
    }  # fmt: skip
    refuse_table(data)
    with options.interruptible():
        result = run(load(data, classes=classes, size=size, seed=seed), teacher, student, **arguments)
    if as_json:
        options.answer(result.to_dict())
        return
    options.print_tables(result.table)
    options.say(*result.summary)
