"""`make bench`: every benchmark, one after another, each in a process of its own.

python -m benchmarks [NAME …]
"""

import subprocess
import sys

NAMES = (
    "busy_machine",
    "cross_test",
    "deep",
    "deep_accuracy",
    "dynamics",
    "engine",
    "explorer_paint",
    "explorer_redraw",
    "growth",
    "kernel",
    "kernel_regime",
    "lab",
    "large_table",
    "mapped",
    "margin",
    "mini_batch",
    "plan_ladder",
    "plan_promise",
    "verdicts",
)


def main() -> int:
    names = sys.argv[1:] or NAMES
    worst = 0
    for name in names:
        print(f"\n── {name} ──", flush=True)
        worst = max(worst, subprocess.call([sys.executable, "-m", f"benchmarks.{name}"]))
    return worst


if __name__ == "__main__":
    sys.exit(main())
