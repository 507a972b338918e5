"""Whether results can be written somewhere, asked before the work that they come from."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from softlabel.errors import InputError, require


def check_folder(
    folder: Path | str | None, parameter: str = "out", folders: Iterable[str] = (), files: Iterable[str] = ()
) -> None:
    """Raise `InputError` unless files can be created in this folder, or the folder itself can be; creates nothing.

    Parameters
    ----------
    folder : path or None
        None is always fine.
    parameter : str
        The caller's name for it, for the message.
    folders, files : iterable of str
        Names below the folder that will be written as folders and as files.
    """
    if folder is None:
        return
    folder = Path(folder)
    try:
        require(not folder.is_file(), f"{parameter} must be a folder: '{folder}' is a file; name another place")
        _check_place(folder, f"{parameter} must be a folder that can be written: '{folder}'")
        for name in folders:
            below = folder / name
            require(
                below.is_dir() or not _taken(below),
                f"{parameter} must be a folder with room for '{name}', but '{below}' is a file; name another place",
            )
        for name in files:
            require(
                not (folder / name).is_dir(),
                f"{parameter} must be a folder with room for '{name}', but '{folder / name}' is a folder; name another "
                "place",
            )
    except (OSError, ValueError) as problem:
        raise _refusal(f"{parameter} must be a folder that can be written: '{folder}'", problem) from None


def check_file(path: Path | str | None, parameter: str = "out") -> None:
    """Raise `InputError` unless a file can be created or replaced at this path; creates nothing."""
    if path is None:
        return
    path = Path(path)
    told = f"{parameter} must be a file that can be written: '{path}'"
    try:
        require(not path.is_dir(), f"{told} is a folder; name a file")
        _check_place(path.parent, told)
    except (OSError, ValueError) as problem:
        raise _refusal(told, problem) from None


def _check_place(folder: Path, told: str) -> None:
    """Create a nameless file in the folder, or in the nearest folder above it that exists."""
    place = folder
    while not _taken(place):
        place = place.parent
    require(place.is_dir(), f"{told} cannot be made, since '{place}' is not a folder; name another place")
    with tempfile.TemporaryFile(dir=place):
        pass


def _taken(path: Path) -> bool:
    """Whether there is anything at this path, be it a link to nowhere."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _refusal(told: str, problem: Exception) -> Exception:
    if isinstance(problem, InputError):
        return problem
    reason = getattr(problem, "strerror", None) or str(problem)
    return InputError(f"{told} cannot be written ({reason}); name another place")
