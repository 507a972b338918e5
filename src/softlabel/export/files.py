"""Files that are written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from softlabel.errors import InputError, SoftlabelError, require


@contextmanager
def whole_files(folder: Path) -> Iterator[Path]:
    """A place to write files into; they stand in `folder` once all are written, and never if something fails."""
    from safetensors import SafetensorError

    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".unfinished-", dir=folder, ignore_cleanup_errors=True) as place:
            yield Path(place)
            written = sorted(Path(place).iterdir())
            for file in written:
                require(not (folder / file.name).is_dir(), f"'{folder / file.name}' is a folder: choose another name")
            for file in written:
                file.replace(folder / file.name)
    except (OSError, SafetensorError) as problem:
        if isinstance(problem, SoftlabelError):
            raise
        reason = getattr(problem, "strerror", None) or str(problem)
        raise InputError(
            f"folder '{folder}' cannot be written: {reason}; free some space or choose another folder"
        ) from problem


def write_whole(path: Path, content: bytes) -> None:
    """One file, made with its folder."""
    with whole_files(path.parent) as place:
        (place / path.name).write_bytes(content)
