"""What other work on the cores costs a run: default settings against one thread, on an idle and on a busy machine.

Each round runs the same verdict with every setting, one after another, first without other work and then beside
processes that keep every CPU busy. "spinning" is how OpenMP waits by default, which the command line changes.

    python -m benchmarks.busy_machine [--busy N] [--rounds N]
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.measure import alternate, write
from softlabel.processors import WAITING, available_cpus

SETTINGS = {
    "one thread": {"OMP_NUM_THREADS": "1"},
    "default": {},
    "spinning": {"OMP_WAIT_POLICY": "ACTIVE"},
}
BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"  # it ends with this process
ASKED = ("verdict", "digits", "--width", "8", "--seeds", "5")


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes that compute all the time; they are ended one by one."""
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def ask(environment: dict[str, str]) -> None:
    """One run in a directory of its own, with these settings and none of the caller's."""
    others = {name: value for name, value in os.environ.items() if name not in (*WAITING, "OMP_NUM_THREADS")}
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "softlabel", *ASKED, "--json", "--out", str(Path(scratch) / "run")]
        subprocess.run(command, env=others | environment, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", type=int, default=available_cpus(), help="busy processes (default: one for each CPU)")
    parser.add_argument("--rounds", type=int, default=3)
    choice = parser.parse_args()
    rivals: dict[str, Callable[[], object]] = {name: partial(ask, chosen) for name, chosen in SETTINGS.items()}
    result: dict[str, object] = {"cpus": available_cpus(), "busy": choice.busy}
    for name, count in (("idle", 0), ("busy", choice.busy)):
        with busy(count):
            best = alternate(rivals, choice.rounds)
        print(f"softlabel {' '.join(ASKED)}, {available_cpus()} CPUs, {count} busy processes beside it")
        for rival in ("default", "spinning"):
            ratio = best[rival] / best["one thread"]
            result[f"{rival}_over_one_thread_{name}"] = ratio
            wanted = "   (required: ≤ 1.25)" if rival == "default" else ""
            print(f"  {rival} over one thread       {ratio:.2f}×{wanted}")
    write("busy_machine", result)


if __name__ == "__main__":
    main()
