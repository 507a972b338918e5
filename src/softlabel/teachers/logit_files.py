"""A teacher's logits for images in a file: computed once, tied to the images they belong to.

A safetensors file carries the fingerprint of its images and of its teacher, and is refused for others. An NPY file
carries nothing: it must have one row per image, in the order of the images.
"""

import hashlib
from pathlib import Path

import torch
from torch import nn

from softlabel.errors import InputError, require
from softlabel.networks.deep.images import Images
from softlabel.networks.deep.teaching import CachedLogits, LogitFunction, cached_logits
from softlabel.numerics.array_files import read_array
from softlabel.numerics.local_files import read_content
from softlabel.numerics.tensor_files import load_tensors, save_tensors
from softlabel.teachers.reading import IMAGE_FLOOR, decide_reading

KIND = "softlabel logits"


def save_logits(path: Path, logits: CachedLogits, teacher: str) -> None:
    """Write logits with the fingerprints of their images and teacher."""
    metadata = {"images": logits.fingerprint, "teacher": teacher}
    save_tensors(path, {"logits": logits.logits}, KIND, metadata)


def load_logits(path: str | Path, images: Images, teacher: str | None = None, kind: str | None = None) -> CachedLogits:
    """Logits for these images from a safetensors or NPY file; those for other images are refused.

    kind    "logits" or "probabilities"; by default decided by all rows
    """
    path = Path(path)
    if path.suffix == ".npy":
        table = read_array(path)
        require(table.dtype.kind == "f", f"logits '{path}' must be floating-point numbers, got {table.dtype}")
        logits = CachedLogits(torch.from_numpy(table.astype("float32")), images.fingerprint)
    else:
        tensors, metadata = load_tensors(path, KIND, "file of logits", {"logits"})
        logits = CachedLogits(tensors["logits"].float(), metadata.get("images", ""))
        owner = metadata.get("teacher")
        require(teacher is None or owner == teacher, f"logits '{path}' are of another teacher ({owner}, not {teacher})")
    try:
        logits.check_images(images)
    except InputError as error:
        raise InputError(f"'{path}': {error}") from None
    reading = decide_reading(
        logits.logits, classes=images.classes, kind=kind, floor=IMAGE_FLOOR, name=f"logits '{path}'"
    )
    if reading.kind == "probabilities":
        logits = CachedLogits(torch.from_numpy(reading.logits(logits.logits)).float(), logits.fingerprint)
    return logits


def remembered_logits(run_dir: Path, teacher: nn.Module | LogitFunction, name: str, images: Images) -> CachedLogits:
    """A teacher's logits for images, computed once per teacher and set of images, and stored in the run directory.

    name    identity of the teacher, e.g. its `network_fingerprint`
    """
    key = hashlib.sha256(f"{name},{images.fingerprint},none".encode()).hexdigest()[:20]
    path = run_dir / f"logits-{key}.safetensors"
    if path.exists():
        return load_logits(path, images, name, kind="logits")
    logits = cached_logits(teacher, images)
    save_logits(path, logits, name)
    return logits


def file_fingerprint(path: str | Path) -> str:
    """Identity of a file's content."""
    return hashlib.sha256(read_content(Path(path))).hexdigest()[:20]
