"""Every table from `doctor` to a student that runs where there is onnxruntime alone, with the default budgets.

    python -m pip install --no-deps --target PACKAGES -r benchmarks/tables/requirements.txt
    python -m benchmarks.tables --packages PACKAGES

What is done is kept in the folder `--work`, and not done again. A table that is refused is an entry with its message.
"""

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import write
from benchmarks.tables import TABLES, Table, use_onnx
from benchmarks.tables.goals import goal
from benchmarks.tables.page import write_page
from benchmarks.tables.sources import write_table


class RefusedError(RuntimeError):
    """A command ended with another code than 0."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, help="folder of packages with tables; default: this environment")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--rows", type=int, help="at most this many rows of a table")
    parser.add_argument("--verdict", default="", help="more options of `softlabel verdict`, in one argument")
    parser.add_argument("--plan", default="", help="more options of `softlabel plan`, in one argument")
    parser.add_argument("--once", default="", help="options with which `verdict` tests on one part; compared with it")
    parser.add_argument("--work", type=Path, default=Path("runs/tables"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/tables"))
    arguments = parser.parse_args()
    os.environ |= {"OMP_NUM_THREADS": "1"}
    arguments.work.mkdir(parents=True, exist_ok=True)
    alone = fresh_environment(arguments.work / "onnxruntime-alone")
    entries = []
    for name in arguments.tables.split(","):
        began = time.perf_counter()
        entries.append(entry := examined(TABLES[name], arguments, alone))
        state = entry.get("refused", entry.get("verdict", {}).get("verdict"))
        print(f"{name}: {state} ({time.perf_counter() - began:.0f} s)", flush=True)
    settings = {name: getattr(arguments, name) for name in ("rows", "verdict", "plan", "once")}
    write("tables", {"settings": settings, "tables": entries})
    write_page(arguments.out, entries, settings)


def fresh_environment(folder: Path) -> Path:
    """The Python of an environment with onnxruntime and what it requires, made once."""
    python = folder / "bin" / "python"
    if not (folder / "ready").is_file():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "onnxruntime", "numpy"], check=True)
        (folder / "ready").touch()
    return python


def examined(table: Table, arguments: argparse.Namespace, alone: Path) -> dict[str, Any]:
    """All steps with one table; what was not refused is kept."""
    folder = arguments.work / table.name
    folder.mkdir(exist_ok=True)
    data = write_table(table, arguments.work / "csv", arguments.rows, arguments.packages)
    words = [data, "--label", table.label, *table.options]
    entry: dict[str, Any] = {"table": table.name, "package": table.package or "made by a script",
                             "trouble": list(table.trouble), "options": list(table.options)}  # fmt: skip
    try:
        findings = softlabel(folder / "doctor.json", "doctor", data, "--label", table.label)["findings"]
        entry["findings"] = [finding["name"] for finding in findings]
        place = ["--out", folder / "verdict"]
        entry["verdict"] = of_verdict(
            softlabel(folder / "verdict.json", "verdict", *words, *place, *shlex.split(arguments.verdict))
        )
        if arguments.once:
            options = [*shlex.split(arguments.verdict), *shlex.split(arguments.once)]
            place = ["--out", folder / "once"]
            entry["once"] = of_verdict(softlabel(folder / "once.json", "verdict", *words, *place, *options))
        entry["goal"] = goal(table, data)
        place = ["--accuracy", f"{entry['goal']:.4f}", "--out", folder / "plan"]
        plan = softlabel(folder / "plan.json", "plan", *words, *place, *shlex.split(arguments.plan))
        entry["widths"] = {arm: one["width"] for arm, one in plan["arms"].items()}
        models = [Path(file) for file in plan["exported"] if file.endswith(".onnx")]
        entry["students"] = [used(table, model, data, folder, alone) for model in models]
    except RefusedError as refusal:
        entry["refused"] = str(refusal)
    return entry


def softlabel(done: Path, *words: object) -> dict[str, Any]:
    """The JSON document of a command, run once."""
    if not done.is_file():
        command = [sys.executable, "-m", "softlabel", *map(str, words), "--json"]
        began = time.perf_counter()
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise RefusedError(f"{words[0]}, exit code {ran.returncode}: {ran.stderr.strip().splitlines()[-1]}")
        document = json.loads(ran.stdout) | {"seconds of the command": time.perf_counter() - began}
        unfinished = done.with_suffix(".part")
        unfinished.write_text(json.dumps(document))
        unfinished.replace(done)
    return json.loads(done.read_text())


def of_verdict(document: dict[str, Any]) -> dict[str, Any]:
    """What of a verdict is reported."""
    arms = {arm: {key: one.get(key) for key in ("mean", "log_loss", "calibration_error")}
            for arm, one in document["arms"].items()}  # fmt: skip
    kept = {key: document[key] for key in ("verdict", "gap", "runs")}
    tested = {"rows": document["test_rows"]["rows"], "folds": (document["cross_test"] or {}).get("folds")}
    return kept | tested | {"arms": arms, "seconds": document["seconds of the command"]}


def used(table: Table, model: Path, data: Path, folder: Path, alone: Path) -> dict[str, Any]:
    """The largest difference between `predict` and the model in onnxruntime alone, over all rows and classes."""
    out, answers = folder / f"{model.stem}.csv", folder / f"{model.stem}.json"
    softlabel(folder / f"{model.stem}-predict.json", "predict", model, data, "--out", out)
    words = [model, data, answers, "--delimiter", table.delimiter, "--decimal", table.decimal, "--dates", table.dates]
    ran = subprocess.run(
        [alone, "-I", use_onnx.__file__, *map(str, words)], capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        raise RefusedError(f"onnxruntime: {ran.stderr.strip().splitlines()[-1]}")
    with out.open(newline="", encoding="utf-8") as file:
        predicted = np.array([line[2:] for line in csv.reader(file)][1:], dtype=np.float64)
    answer = json.loads(answers.read_text())
    difference = float(np.abs(np.array(answer["probabilities"]) - predicted).max())
    return {"model": model.stem, "rows": len(predicted), "difference": difference, "bytes": model.stat().st_size,
            "inputs": len(answer["inputs"])}  # fmt: skip


if __name__ == "__main__":
    main()
