"""A teacher's logits in a file: computed once, bound to the images they belong to.

A safetensors file carries the fingerprint of its images and of its teacher, and is refused for others. NPY files carry
nothing: their rows must be as many as the images, in the same order, which only their maker can know.
"""

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from softlabel.errors import InputError, require
from softlabel.networks.deep.images import Images
from softlabel.networks.deep.teaching import Answer, CachedLogits, cached_logits
from softlabel.numerics.array_files import read_array
from softlabel.numerics.local_files import read_content
from softlabel.numerics.tensor_files import load_tensors, save_tensors

KIND = "softlabel logits"


def save_logits(path: Path, logits: CachedLogits, teacher: str, transform: str = "none") -> None:
    """Write logits with what they belong to."""
    metadata = {"images": logits.fingerprint, "teacher": teacher, "transform": transform}
    save_tensors(path, {"logits": logits.logits}, KIND, metadata)


def load_logits(path: str | Path, images: Images, teacher: str | None = None) -> CachedLogits:
    """Logits for these images from a safetensors or NPY file; those of others are refused."""
    path = Path(path)
    if path.suffix == ".npy":
        table = read_array(path)
        require(table.dtype.kind == "f", f"logits '{path}' must be numbers with a fraction, got {table.dtype}")
        found = CachedLogits(torch.from_numpy(table.astype(np.float32)), images.fingerprint)
    else:
        tensors, metadata = load_tensors(path, KIND, "file of logits", {"logits"})
        found = CachedLogits(tensors["logits"].float(), metadata.get("images", ""))
        held = metadata.get("teacher")
        require(teacher is None or held == teacher, f"logits '{path}' are of another teacher ({held}, not {teacher})")
        require(metadata.get("transform", "none") == "none", f"logits '{path}' are of transformed images")
    try:
        found.check_images(images)
    except InputError as problem:
        raise InputError(f"'{path}': {problem}") from None
    require(bool(torch.isfinite(found.logits).all()), f"logits '{path}' hold values that are not finite")
    if looks_like_probabilities(found.logits):
        found = CachedLogits(found.logits.clamp_min(1e-12).log(), found.fingerprint)
    return found


def looks_like_probabilities(table: Tensor) -> bool:
    """Whether rows are not negative and add up to 1: probabilities given for logits."""
    return bool(table.min() >= 0 and (table.sum(1) - 1).abs().max() < 1e-3)


def remembered_logits(folder: Path, teacher: nn.Module | Answer, name: str, images: Images) -> CachedLogits:
    """A teacher's logits on images, computed once for each teacher and set of images, and kept in the folder.

    name    identity of the teacher, e.g. `network_fingerprint` of it
    """
    key = hashlib.sha256(f"{name},{images.fingerprint},none".encode()).hexdigest()[:20]
    path = folder / f"logits-{key}.safetensors"
    if path.exists():
        return load_logits(path, images, name)
    found = cached_logits(teacher, images)
    save_logits(path, found, name)
    return found


def file_fingerprint(path: str | Path) -> str:
    """Identity of a file's content."""
    return hashlib.sha256(read_content(Path(path))).hexdigest()[:20]
