"""The figures of a study as pictures for a page: those of a run, or the published ones of a source checkout.

Nothing that a browser sends is used as the name of a file, and what is read must be a PNG image of moderate size.
"""

import base64
import os
import stat
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import softlabel as sl

SETTINGS, FIGURES = "settings.toml", "figures/*.png"
LARGEST_PICTURE, LARGEST_SETTINGS = 4 * 2**20, 2**20  # bytes
MOST_PIXELS = 50_000_000
MOST_RUNS, MOST_PICTURES = 1000, 12
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@dataclass(frozen=True)
class Picture:
    """A figure of a study.

    study       the name of the study
    name        the name of the figure
    source      the directory of its run
    published   whether the run is a published one
    data        the image as a data URI
    """

    study: str
    name: str
    source: Path
    published: bool
    data: str


def study_pictures(study: str, runs: Path) -> list[Picture]:
    """The figures of the newest run of a study below `runs`, or else the published ones; empty where there are none."""
    for run_dir in _runs(study, runs):
        if pictures := _pictures(study, run_dir, published=False):
            return pictures
    published = published_results()
    return [] if published is None else _pictures(study, published / study, published=True)


def published_results() -> Path | None:
    """The directory of published results where softlabel runs from its source repository."""
    root = Path(sl.__file__).resolve().parents[2]
    results = root / "docs" / "results"
    return results if (root / "pyproject.toml").is_file() and results.is_dir() else None


def _runs(study: str, runs: Path) -> list[Path]:
    """The directories of a study's runs, the newest first."""
    dated = []
    for run_dir in sl.find_runs(runs, limit=MOST_RUNS) if runs.is_dir() else []:
        settings = run_dir / SETTINGS
        if _study_of(settings) == study:
            with suppress(OSError):  # it may be removed just now
                dated.append((settings.stat().st_mtime, run_dir))
    return [run_dir for _, run_dir in sorted(dated, reverse=True)]


def _study_of(settings: Path) -> str | None:
    try:
        content = tomllib.loads((_content(settings, LARGEST_SETTINGS) or b"").decode())
    except (ValueError, RecursionError):
        return None
    name = content.get("study")
    return name if isinstance(name, str) else None


def _pictures(study: str, run_dir: Path, published: bool) -> list[Picture]:
    return [Picture(study, name, run_dir, published, data) for name, data in islice(_images(run_dir), MOST_PICTURES)]


def _images(run_dir: Path) -> Iterator[tuple[str, str]]:
    """Name and data URI of every figure that is a PNG image of moderate size."""
    for path in [] if (run_dir / "figures").is_symlink() else sorted(run_dir.glob(FIGURES)):
        content = _content(path, LARGEST_PICTURE)
        if content is not None and _is_moderate_png(content):
            yield path.stem, "data:image/png;base64," + base64.b64encode(content).decode()


def _is_moderate_png(content: bytes) -> bool:
    width, height = (int.from_bytes(content[start : start + 4]) for start in (len(PNG), len(PNG) + 4))
    return content.startswith(PNG) and 0 < width * height <= MOST_PIXELS


def _content(path: Path, limit: int) -> bytes | None:
    """What a regular file contains; None for a larger file, a link, a pipe, and what cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(limit + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    return content if content is not None and len(content) <= limit else None
