"""`softlabel distill`: a deep student from images and a teacher."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options

TEACHER_FILES = (".onnx", ".npy", ".safetensors")


def distill(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A data set of images by name, an NPZ file (images, labels), or a folder of class folders.",
        ),
    ],
    teacher: Annotated[
        str,
        typer.Option(
            help="An ONNX file, logits (.safetensors or .npy, a row an image), or a network to train: vgg8+3."
        ),
    ],
    student: Annotated[str, typer.Option(help="vgg1+3 … vgg19+3, resnet8, resnet14, resnet20, …")] = "vgg2+3",
    width: Annotated[float, typer.Option(help="Multiplies the student's channels and units.")] = 1.0,
    teacher_width: Annotated[float, typer.Option(help="The same for a teacher that is trained here.")] = 1.0,
    classes: options.Classes = None,
    size: Annotated[int | None, typer.Option(min=4, help="Pixels that a folder's images are brought to.")] = None,
    soft_share: Annotated[
        float, typer.Option(help="Weight of the teacher's soft labels, 0 to 1; the given labels have the rest.")
    ] = 1.0,
    temperature: Annotated[float, typer.Option(help="Temperature of the soft labels.")] = 4.0,
    temperature_on: Annotated[str, typer.Option(help="both (sides, with the factor T²) or labels.")] = "both",
    smoothing: Annotated[float, typer.Option(help="Label smoothing; above 0 an arm of its own.")] = 0.0,
    match: Annotated[
        str | None,
        typer.Option(help="STUDENT_LAYER:TEACHER_LAYER whose features are matched too (a teacher trained here)."),
    ] = None,
    feature_weight: Annotated[float, typer.Option(help="Weight λ of matched features.")] = 1.0,
    epochs: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    patience: Annotated[int, typer.Option(min=1, help="Epochs without progress after which training stops.")] = 20,
    batch: Annotated[int, typer.Option(min=1, help="Images a step.")] = 128,
    rate: Annotated[float, typer.Option(help="Adam's step.")] = 1e-3,
    decay: Annotated[float, typer.Option(help="L2.")] = 5e-4,
    augment: Annotated[bool, typer.Option("--augment", help="Shift and mirror training images.")] = False,
    views: Annotated[
        int | None, typer.Option(min=1, help="Augmented views of an image; the teacher labels each once.")
    ] = None,
    online: Annotated[bool, typer.Option("--online", help="Run the teacher on every batch.")] = False,
    teacher_output: Annotated[str | None, typer.Option(help="Output of an ONNX teacher to take.")] = None,
    teacher_scale: Annotated[
        float, typer.Option(help="What pixels in [0, 1] are multiplied by for an ONNX teacher, e.g. 255.")
    ] = 1.0,
    precision: Annotated[str, typer.Option(help="auto, float32 or bfloat16 products.")] = "auto",
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    seed: options.Seed = 0,
    out: options.Out = None,
    as_json: options.Json = False,
) -> None:
    """Train a deep student from hard labels and from a teacher, compare them, and export both.

    With --out the run leaves students (safetensors and ONNX), the teacher's logits and checkpoints there, and goes on
    from them when the same command is given again.

    Example: softlabel distill cifar10 --classes cat,dog --teacher vgg8+3 --student vgg2+3 --width 0.25 --out runs/pets

    Example: softlabel distill photos/ --size 32 --teacher big.onnx --student resnet8 --augment --out runs/photos

    Example: softlabel distill images.npz --teacher logits.npy --student resnet8 --temperature 2
    """
    from contextlib import nullcontext

    from softlabel.cli.answering import telling_what_is_kept
    from softlabel.data.image_sets import load_images
    from softlabel.errors import InputError, require
    from softlabel.lab import claim_folder
    from softlabel.lab.writable import check_folder
    from softlabel.networks.deep import FeatureMatch, Objective, Training, build_network
    from softlabel.networks.deep.building import MULTIPLIERS
    from softlabel.ranges import check_positive
    from softlabel.studies.distilling import (
        GivenTeacher,
        ask_once,
        check_distillation,
        cut,
        open_teacher,
        train_teacher,
    )
    from softlabel.studies.distilling import distill as run
    from softlabel.teachers.logit_files import file_fingerprint

    check_positive(teacher_width, "teacher_width", *MULTIPLIERS)
    check_positive(teacher_scale, "teacher_scale")
    training = Training(epochs, patience, batch, rate, decay, augment=augment, views=views, precision=precision,
                        device=device, seed=seed)  # fmt: skip
    layers = None if match is None else match.split(":")
    if layers is not None and len(layers) != 2:
        raise InputError(f"--match must be STUDENT_LAYER:TEACHER_LAYER, got '{match}'")
    objective = Objective(soft_share, temperature, temperature_on, 0.0, feature_weight if layers else 0.0)  # type: ignore[arg-type]
    check_folder(out, folders=("students", "checkpoints"))
    held = load_images(data, classes, size)
    parts = cut(held, seed)
    network = build_network(student, parts.train.classes, parts.train.shape, width, seed + 1)
    options.note(f"{held.name}: {len(held):,} images {parts.train.shape}, classes {', '.join(held.classes)}")
    settings: dict[str, Any] = {
        "data": data, "teacher": teacher, "student": student, "width": width, "teacher_width": teacher_width,
        "classes": classes, "size": size, "soft_share": soft_share, "temperature": temperature,
        "temperature_on": temperature_on, "smoothing": smoothing, "match": match, "feature_weight": feature_weight,
        "epochs": epochs, "patience": patience, "batch": batch, "rate": rate, "decay": decay, "augment": augment,
        "views": views, "online": online, "teacher_output": teacher_output,
        "teacher_scale": teacher_scale, "precision": precision, "device": device, "seed": seed,
        "images": parts.train.fingerprint,
        "teacher_content": file_fingerprint(teacher) if Path(teacher).is_file() else None,
    }  # fmt: skip
    path = Path(teacher)
    require(
        path.suffix in TEACHER_FILES or not path.exists(),
        f"teacher '{teacher}' is neither an ONNX file nor logits (.safetensors, .npy)",
    )
    given = (
        open_teacher(path, teacher_output, teacher_scale, held, parts)
        if path.suffix in TEACHER_FILES
        else GivenTeacher(build_network(teacher, parts.train.classes, parts.train.shape, teacher_width))
    )
    matched = None if layers is None else FeatureMatch(layers[0], layers[1], seed)
    check_distillation(parts, given.teacher, network, training, objective, smoothing, online, matched)
    with telling_what_is_kept(), nullcontext() if out is None else claim_folder(out, settings):
        if path.suffix in TEACHER_FILES:
            given = ask_once(given, held, parts, augment or online, out)
        else:
            given = GivenTeacher(train_teacher(teacher, parts, teacher_width, training, out, _watch))
        found = run(
            parts, given.teacher, network, training=training, objective=objective, smoothing=smoothing, online=online,
            match=matched, test_logits=given.test_logits, teacher_facts=given.facts, folder=out, watch=_watch,
            about={"network": student, "width": width, "classes": list(held.classes)},
        )  # fmt: skip
    document = {"dataset": data, "student": student, **found.document}
    if as_json:
        options.answer(document)
    else:
        _show(document)


def _watch(arm: str, epoch: int, found) -> None:
    options.note(f"{arm}, epoch {epoch}: loss {found.loss:.4f}, validation accuracy {found.accuracy:.2%}")


def _show(document: dict[str, Any]) -> None:
    from softlabel.networks.softening import PROBABILITIES

    def number(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    rows = []
    for name, found in (("teacher", document["teacher"]), *document["arms"].items()):
        rows.append([
            name, number(found["accuracy"], ".2%"), number(found.get("agreement"), ".2%"),
            number(found.get("kl"), ".3f"),
            number(found["calibration_error"], ".3f"), number(found["parameters"], ",d"),
            number(found["milliseconds"], ".2f"),
        ])  # fmt: skip
    options.table(
        f"{document['dataset']}, student {document['student']}: {document['images']['test']:,} test images",
        ["", "accuracy", "agreement", "KL", "calibration error", "parameters", "ms an image"],
        rows,
    )
    gap = document["arms"]["soft"]["accuracy"] - document["arms"]["hard"]["accuracy"]
    options.say(f"Soft − hard: {100 * gap:+.2f} points, one run of each: other seeds may turn it round.")
    for warning in document["warnings"]:
        options.say(f"Warning: {warning}.")
    for arm, found in document["arms"].items():
        if found["probabilities_are"] != PROBABILITIES:
            options.say(f"Outputs of the arm '{arm}' are {found['probabilities_are']}, not probabilities.")
    for arm, entry in document["exported"].items():
        options.say(f"{arm}: {entry['onnx']} ({entry['bytes']:,} bytes, parity {entry['onnx_parity']:.1e})")
