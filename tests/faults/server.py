"""The watched process: python -m tests.faults.server PLACE.

It reads commands, a JSON list of words on each line, and answers each with a JSON object on one line.
"""

import json
import os
import resource
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = {
    "os.mkdir": 0, "os.remove": 0, "os.rename": 1, "os.rmdir": 0, "os.truncate": 0, "os.link": 1, "os.symlink": 1,
    "os.chmod": 0, "shutil.rmtree": 0,
}  # fmt: skip
SOCKETS = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto")
LOADED = ("pickle.find_class", "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
CACHES = ("home/.cache/softlabel", "home/.cache/matplotlib")  # matplotlib keeps a list of the fonts there are
LOOPBACK = ("127.", "::1", "localhost")


class Watch:
    """Notes what Python itself is asked to do; native code is watched by its traces."""

    def __init__(self, place: Path) -> None:
        self.allowed = (*(f"{place}/{name}" for name in ("out", "temporary", *CACHES)), "/dev/", "/proc/self/")
        self.on = False
        self.reset()

    def reset(self) -> None:
        self.touched: list[str] = []
        self.sockets: list[str] = []
        self.loaded: list[str] = []

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = (flags or 0) & WRITING if mode is None else any(sign in mode for sign in "wax+")
            if writes and not (isinstance(path, str) and os.path.isdir(path)):  # noqa: PTH112
                self._touch(path)  # a nameless file in a folder leaves nothing behind
        elif event in CHANGES:
            self._touch(arguments[CHANGES[event]])
        elif event in SOCKETS:
            text = repr(arguments[1] if event in ("socket.connect", "socket.bind", "socket.sendto") else arguments[0])
            if not any(name in text for name in LOOPBACK):
                self.sockets.append(f"{event} {text}")
        elif event in LOADED and "trial_reader.py" not in repr(arguments):  # where damaged Parquet files may do harm
            self.loaded.append(f"{event} {arguments!r}"[:200])

    def _touch(self, path: Any) -> None:
        if isinstance(path, int):  # a file that is open already
            return
        name = os.path.abspath(os.fsdecode(path))  # noqa: PTH100
        if not name.startswith(self.allowed) and "__pycache__" not in name:
            self.touched.append(name)


def snapshot(place: Path) -> dict[str, tuple[int, int]]:
    """Size and time of every file below the place, but for what may change."""
    states = {}
    for directory, directories, names in os.walk(place):
        if Path(directory) == place:
            directories[:] = [name for name in directories if not name.startswith("out") and name != "temporary"]
        caches = [place / cache for cache in CACHES]
        directories[:] = [name for name in directories if Path(directory, name) not in caches]
        for name in names:
            state = os.lstat(Path(directory, name))
            states[str(Path(directory, name))] = (state.st_size, state.st_mtime_ns)
    return states


def main(directory: str) -> None:
    place = Path(directory)
    answers = os.fdopen(os.dup(1), "wb")
    from softlabel.cli.main import run

    preload()
    watch = Watch(place)
    sys.addaudithook(watch.hook)
    answers.write(b"ready\n")
    answers.flush()
    for line in sys.stdin.buffer:
        argv = json.loads(line)
        before = snapshot(place)
        for number, name in ((1, "stdout"), (2, "stderr")):
            file = os.open(place / "temporary" / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, number)
            os.close(file)
        watch.reset()
        reset_peak()
        watch.on = True
        code = run(argv)
        watch.on = False
        sys.stdout.flush()
        sys.stderr.flush()
        after = snapshot(place)
        changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        done = {"code": code, "megabytes": peak(), "touched": sorted({*watch.touched, *changed}),
                "sockets": watch.sockets, "loaded": watch.loaded}  # fmt: skip
        answers.write(json.dumps(done).encode() + b"\n")
        answers.flush()


def preload() -> None:
    """Import what verbs import when they run, so that their own imports are not counted."""
    import distributed  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import polars  # noqa: F401
    import sklearn.ensemble  # noqa: F401
    import torch

    import softlabel.studies
    import softlabel.teachers.onnx_session  # noqa: F401

    torch.set_num_threads(1)


def reset_peak() -> None:
    """Begin a new peak of resident memory, where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak() -> float:
    """Largest resident memory in megabytes."""
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(sys.argv[1])
