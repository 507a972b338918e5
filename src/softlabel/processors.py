"""The CPUs that this process may really use, and settings that keep thread pools from competing for them.

Nothing heavy is imported here: OpenMP reads its settings when the first library that uses it is loaded.
"""

import os
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

PROCESS = Path("/proc/self")
WAITING = ("OMP_WAIT_POLICY", "KMP_BLOCKTIME", "KMP_LIBRARY", "GOMP_SPINCOUNT")  # any of them is the user's choice


def available_cpus() -> int:
    """CPUs that this process may use: its affinity, and the quota of its container.

    A quota of 2.5 CPUs counts as 2: threads beyond a quota are stopped until the next period begins.
    """
    allowed, quota = allowed_cpus(), cpu_quota()
    return allowed if quota is None else max(1, min(allowed, int(quota)))


def allowed_cpus() -> int:
    """CPUs of the affinity of this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_quota(process: Path = PROCESS) -> float | None:
    """The smallest CPU quota of the control groups (versions 1 and 2) of this process; None if there is none."""
    quotas = []
    for group in _control_groups(process):
        pair = _words(group / "cpu.max") or [
            *_words(group / "cpu.cfs_quota_us"),
            *_words(group / "cpu.cfs_period_us"),
        ]
        if len(pair) == 2 and all(word.isdecimal() for word in pair) and int(pair[1]) > 0:  # else "max", or −1
            quotas.append(int(pair[0]) / int(pair[1]))
    return min(quotas, default=None)


def _control_groups(process: Path) -> Iterator[Path]:
    """Directories of the control groups of this process that limit its CPU time, and of those around them."""
    paths: dict[str, str] = {}  # controller → path of the group; "" is version 2
    for line in _lines(process / "cgroup"):
        _, controllers, path = line.split(":", 2)
        paths |= dict.fromkeys(controllers.split(","), path)
    for line in _lines(process / "mountinfo"):
        mount, _, system = line.partition(" - ")
        kind, options = system.split()[0], system.split()[-1].split(",")
        controller = {"cgroup2": "", "cgroup": "cpu"}.get(kind)
        if controller not in paths or (kind == "cgroup" and "cpu" not in options):
            continue
        root, point = mount.split()[3:5]
        path = PurePosixPath(paths[controller])
        inside = path.relative_to(root) if path.is_relative_to(root) else PurePosixPath()
        yield from (Path(point, *inside.parts[:depth]) for depth in range(len(inside.parts) + 1))


def _lines(path: Path) -> list[str]:
    """Lines of a file of the system; none where it cannot be read."""
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


def _words(path: Path) -> list[str]:
    return [word for line in _lines(path) for word in line.split()]


def calm_threads(environment: MutableMapping[str, str] | None = None) -> dict[str, str]:
    """Settings for libraries that are loaded from now on; what the user has set stays. Returns what was added.

    Threads that wait for each other sleep instead of spinning: on a busy machine spinning threads keep the CPU from
    those that they wait for. Where a container has a CPU quota, no pool has more threads than that.
    """
    environment = os.environ if environment is None else environment
    added = {}
    if not any(name in environment for name in WAITING):
        added["OMP_WAIT_POLICY"] = "PASSIVE"
    if "OMP_NUM_THREADS" not in environment and available_cpus() < allowed_cpus():
        added["OMP_NUM_THREADS"] = str(available_cpus())
    environment.update(added)
    return added


@contextmanager
def calm_children() -> Iterator[None]:
    """Processes that are started in this context have the settings of `calm_threads`."""
    added = calm_threads()
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
