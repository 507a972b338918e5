"""Whether results can be written somewhere, asked before the work that they come from."""

import tempfile
from collections.abc import Iterable
from pathlib import Path

from softlabel.errors import InputError, require


def check_directory(
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
        require(not folder.is_file(), f"{parameter} must be a folder: '{folder}' is a file; choose another one")
        _check_location(folder, f"{parameter} must be a folder that can be written: '{folder}'")
        for name in folders:
            below = folder / name
            require(
                below.is_dir() or not _taken(below),
                f"{parameter} must be a folder with room for '{name}', but '{below}' is a file; choose another one",
            )
        for name in files:
            require(
                not (folder / name).is_dir(),
                f"{parameter} must be a folder with room for '{name}', but '{folder / name}' is a folder; "
                "choose another one",
            )
    except (OSError, ValueError) as problem:
        raise _refusal(f"{parameter} must be a folder that can be written: '{folder}'", problem) from None


def check_file(path: Path | str | None, parameter: str = "out") -> None:
    """Raise `InputError` unless a file can be created or replaced at this path; creates nothing."""
    if path is None:
        return
    path = Path(path)
    requirement = f"{parameter} must be a file that can be written: '{path}'"
    try:
        require(not path.is_dir(), f"{requirement} is a folder; name a file")
        _check_location(path.parent, requirement)
    except (OSError, ValueError) as problem:
        raise _refusal(requirement, problem) from None


def _check_location(folder: Path, requirement: str) -> None:
    """Create a nameless file in the folder, or in the nearest folder above it that exists."""
    nearest = folder
    while not _taken(nearest):
        nearest = nearest.parent
    require(nearest.is_dir(), f"{requirement} cannot be made, since '{nearest}' is not a folder; choose another one")
    with tempfile.TemporaryFile(dir=nearest):
        pass


def _taken(path: Path) -> bool:
    """Whether there is anything at this path, be it a link to nowhere."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _refusal(requirement: str, problem: Exception) -> Exception:
    if isinstance(problem, InputError):
        return problem
    reason = getattr(problem, "strerror", None) or str(problem)
    return InputError(f"{requirement} cannot be written ({reason}); choose another one")
