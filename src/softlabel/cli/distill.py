"""`softlabel distill`: a deep student from images and a teacher."""

from pathlib import Path
from typing import Annotated, Any

import typer

from softlabel.cli import options


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
    import torch

    from softlabel.data.image_sets import load_images
    from softlabel.errors import InputError, require
    from softlabel.networks.deep import (
        CachedLogits,
        FeatureMatch,
        Objective,
        Training,
        build_network,
        cached_logits,
    )
    from softlabel.studies.distilling import answer_latency, check_distillation, claim_folder, cut, train_teacher
    from softlabel.studies.distilling import distill as run
    from softlabel.teachers.logit_files import file_fingerprint, remembered_logits
    from softlabel.teachers.onnx_file import OnnxTeacher

    require(seed >= 0, f"--seed must not be negative, got {seed}")
    training = Training(epochs, patience, batch, rate, decay, augment=augment, views=views, precision=precision,
                        device=device, seed=seed)  # fmt: skip
    layers = None if match is None else match.split(":")
    if layers is not None and len(layers) != 2:
        raise InputError(f"--match must be STUDENT_LAYER:TEACHER_LAYER, got '{match}'")
    objective = Objective(soft_share, temperature, temperature_on, 0.0, feature_weight if layers else 0.0)  # type: ignore[arg-type]
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
    wanted, whole = _teacher(teacher, teacher_output, teacher_scale, parts, held)
    begun = wanted or build_network(teacher, parts.train.classes, parts.train.shape, teacher_width)
    matched = None if layers is None else FeatureMatch(layers[0], layers[1], seed)
    check_distillation(parts, begun, network, training, objective, smoothing, online, matched)
    if out is not None:
        claim_folder(out, settings)
    facts, test_logits = None, None
    if wanted is None:
        wanted = train_teacher(teacher, parts, teacher_width, training, out, _watch)
    elif isinstance(wanted, OnnxTeacher):
        facts = {"parameters": wanted.parameters, "milliseconds": answer_latency(wanted, parts.test)}
        if not (augment or online):
            name = f"{settings['teacher_content']} {teacher_output} {teacher_scale}"
            everything = _whole(held)
            whole = (
                cached_logits(wanted, everything) if out is None else remembered_logits(out, wanted, name, everything)
            )
    if whole is not None:
        rows = [torch.from_numpy(part) for part in parts.rows]
        wanted, test_logits = CachedLogits(whole.logits[rows[0]], parts.train.fingerprint), whole.logits[rows[2]]
    found = run(
        parts, wanted, network, training=training, objective=objective, smoothing=smoothing, online=online,
        match=matched, test_logits=test_logits, teacher_facts=facts, folder=out, watch=_watch,
        about={"network": student, "width": width, "classes": list(held.classes)},
    )  # fmt: skip
    document = {"dataset": data, "student": student, **found.document}
    if as_json:
        options.answer(document)
    else:
        _show(document)


def _whole(held) -> Any:
    from softlabel.networks.deep import Images

    return Images.of(held.pixels, held.labels, len(held.classes))


def _teacher(teacher: str, output: str | None, scale: float, parts, held):
    """A teacher from a file, and its logits on all images where it is a file of logits; None for one to be trained."""
    from softlabel.errors import InputError, require
    from softlabel.teachers.logit_files import load_logits
    from softlabel.teachers.onnx_file import OnnxTeacher

    path = Path(teacher)
    if path.suffix not in (".onnx", ".npy", ".safetensors"):
        require(not path.exists(), f"teacher '{teacher}' is neither an ONNX file nor logits (.safetensors, .npy)")
        return None, None
    if not path.exists():
        raise InputError(f"teacher '{teacher}' does not exist")
    if path.suffix == ".onnx":
        answer = OnnxTeacher(path, parts.train.classes, output, scale)
        answer.columns(parts.train.pixels[:2])  # refused before anything is made
        answer.decide(parts.train.pixels)
        return answer, None
    found = load_logits(path, _whole(held))
    return found, found


def _watch(arm: str, epoch: int, found) -> None:
    options.note(f"{arm}, epoch {epoch}: loss {found.loss:.4f}, validation accuracy {found.accuracy:.2%}")


def _show(document: dict[str, Any]) -> None:
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
    print(f"Soft − hard: {100 * gap:+.2f} points, one run of each: other seeds may turn it round.")
    for arm, entry in document["exported"].items():
        print(f"{arm}: {entry['onnx']} ({entry['bytes']:,} bytes, parity {entry['onnx_parity']:.1e})")
