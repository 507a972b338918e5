"""The driver that fault tests start and kill: python -m tests.faults.driver FOLDER EXECUTOR PAUSE."""

import sys
from pathlib import Path

from softlabel.errors import SoftlabelError
from softlabel.lab import make_executor, run_study
from tests.lab.toys import toy


def main(folder: str, executor: str, pause: str) -> int:
    study = toy(cells=24, together=2, pause=float(pause))
    try:
        run_study(study, Path(folder), make_executor(executor, 2 if executor != "serial" else 1), threads=1)
    except SoftlabelError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
