"""What a run was computed with: Python, system, processor and packages."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("softlabel", "torch", "numpy", "scipy", "scikit-learn", "polars")
SAME = ("python", "system", "processor", "packages")  # needed for results that are equal bit for bit


def environment() -> dict[str, Any]:
    """Python, system, processor and packages of a run."""
    packages = {}
    for name in PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "packages": packages,
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()


def changed_since(before: Any) -> list[str]:
    """Parts of the environment that differ from a recorded one, and may change the last bits of results."""
    now = environment()
    return [name for name in SAME if isinstance(before, dict) and before.get(name) != now[name]]
