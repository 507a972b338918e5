"""Students of `softlabel plan` against AutoGluon's `distill` and small models of scikit-learn and LightGBM.

    python -m pip install --no-deps --target PACKAGES -r benchmarks/tables/requirements.txt
    python -m venv RIVALS && RIVALS/bin/python -m pip install -r benchmarks/rival_requirements.txt
    python -m benchmarks.distillers --packages PACKAGES --rivals RIVALS/bin/python

One run, the same rows: every table is split by a seed into rows that all methods may use as they like, and test rows
that none sees before it is measured. `plan` gets an accuracy to reach: 80% of the way from the most frequent class to
boosted trees, in cross-validation on the training rows; where it says that no student of a family reaches it, 60%, and
40%. A row of the result is one deployed model, from raw rows in memory to probabilities, on one thread. What is done is
kept in the folder `--work`, and not done again.
"""

import argparse
import csv
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.distillers_page import write_page
from benchmarks.rival_students import latency
from benchmarks.tables import TABLES, Table
from benchmarks.tables.goals import references
from benchmarks.tables.sources import read_rows, write_table
from benchmarks.tables.use_onnx import feeds

NAMES = ("titanic", "chile", "phone-churn", "diamonds", "census-income")
FAMILIES = ("two-layer", "tree", "boosted-trees")
WAYS = (0.8, 0.6, 0.4)
TRAIN_SHARE = 0.6
REFUSED = "the share of the most frequent class"  # how `plan` refuses an accuracy that needs no student
UNUSED = ("rownames", "")  # numbers of rows: nobody gets them
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rivals", type=Path, required=True, help="python of the environment with AutoGluon")
    parser.add_argument("--packages", type=Path, help="folder of packages with tables; default: this environment")
    parser.add_argument(
        "--tables", default=",".join(NAMES), help="names; name:N for N splits, name:N:R of at most R rows"
    )
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--rows", type=int, default=2000, help="at most this many rows of a table")
    parser.add_argument("--time-limit", type=float, default=120, help="seconds for AutoGluon's fit, and its distill")
    parser.add_argument("--plan", default="", help="more options of `softlabel plan`, in one argument")
    parser.add_argument(
        "--remark", default="", help="circumstances of the run that its readers must know, for the page"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/distillers"))
    parser.add_argument("--out", type=Path, default=Path("docs/results/distillers"))
    arguments = parser.parse_args()
    os.environ |= ONE_THREAD
    entries: list[dict[str, Any]] = []
    for word in arguments.tables.split(","):
        name, splits, rows = (*word.split(":"), "", "")[:3]
        chosen = argparse.Namespace(**vars(arguments) | {"rows": int(rows or arguments.rows)})
        for seed in range(int(splits or arguments.seeds)):
            began = time.perf_counter()
            entries += compared(TABLES[name], seed, chosen)
            print(f"{name}, seed {seed}: {time.perf_counter() - began:.0f} s", flush=True)
    write_page(arguments.out, entries, vars(arguments))


def compared(table: Table, seed: int, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """All methods on one split of one table."""
    folder = arguments.work / f"{table.name}-{seed}-{arguments.rows}"
    train, test = split(table, seed, arguments, folder)
    entries: list[dict[str, Any]] = []
    for family in arguments.families.split(","):
        done = folder / f"{family}.json"
        if not done.is_file():
            write(done, planned(table, family, seed, arguments, folder))
        entries += json.loads(done.read_text())
    done = folder / "rivals.json"
    if not done.is_file():
        unfinished = done.with_suffix(".part")
        command = [arguments.rivals, Path(__file__).with_name("rival_students.py"), train, test, unfinished, "--label",
                   table.label, "--seed", seed, "--time-limit", arguments.time_limit]  # fmt: skip
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        unfinished.replace(done)
    entries += json.loads(done.read_text())
    return [{"table": table.name, "seed": seed, **entry} for entry in entries]


def split(table: Table, seed: int, arguments: argparse.Namespace, folder: Path) -> tuple[Path, Path]:
    """Files of training and test rows; rows without a label are left out."""
    train, test = folder / "train.csv", folder / "test.csv"
    if not test.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        path = write_table(table, arguments.work / "tables", arguments.rows, arguments.packages)
        rows = [{name: entry.strip() for name, entry in row.items() if name not in UNUSED}
                for row in read_rows(table, path)]  # fmt: skip
        rows = [row for row in rows if row[table.label]]
        random.Random(seed).shuffle(rows)
        count = int(TRAIN_SHARE * len(rows))
        for file, part in ((train, rows[:count]), (test, rows[count:])):
            with file.open("w", newline="", encoding="utf-8") as opened:
                writer = csv.DictWriter(opened, fieldnames=list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(part)
    return train, test


def planned(table: Table, family: str, seed: int, arguments: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """The students that `plan` exports, measured on the test rows; an entry without accuracy if there is none."""
    frequent, boosted = references(table, folder / "train.csv")
    began, goal = time.perf_counter(), 1.0
    for way in WAYS:
        goal = frequent + way * (boosted - frequent)
        words = ["plan", folder / "train.csv", "--label", table.label, "--student", family, "--accuracy", f"{goal:.4f}",
                 "--seed", seed, "--out", folder / f"{family}-{way:g}", "--json", *arguments.plan.split()]  # fmt: skip
        command = [sys.executable, "-m", "softlabel", *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if REFUSED in done.stderr:
            continue  # boosted trees are hardly better than the most frequent class: there is nothing to reach
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr}")
        document = json.loads(done.stdout)
        if document["students"]:
            more = {"goal": goal, "way": way, "seconds": time.perf_counter() - began, "kind": "softlabel student"}
            own = {arm: (one.get("accuracy") or {}).get("mean", goal) for arm, one in document["arms"].items()}
            return [
                measured(table, family, student, folder / "test.csv") | more | {"own_score": own[student["arm"]]}
                for student in document["students"]
            ]
    return [{"name": f"softlabel: {family}", "kind": "softlabel student", "accuracy": None, "goal": goal,
             "seconds": time.perf_counter() - began}]  # fmt: skip


def measured(table: Table, family: str, student: dict[str, Any], test: Path) -> dict[str, Any]:
    """Accuracy, log loss, latency and size of an exported ONNX file on raw test rows."""
    import onnxruntime

    path = next(Path(file) for file in student["files"] if file.endswith(".onnx"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    rows = read_rows(table, test)
    output = next(one.name for one in session.get_outputs() if one.name.endswith("probabilities"))
    classes = json.loads(session.get_modelmeta().custom_metadata_map["classes"])

    def prepared(chosen: list[dict[str, str]]) -> dict[str, np.ndarray]:
        return feeds(session, chosen, table.decimal, table.dates)

    def probabilities(prepared_rows: dict[str, np.ndarray]) -> np.ndarray:
        return np.asarray(session.run([output], prepared_rows)[0], dtype=np.float64)

    everything, one = prepared(rows), prepared(rows[:1])
    thousand = prepared([rows[k % len(rows)] for k in range(1000)])
    predicted = probabilities(everything)
    truth = np.array([classes.index(row[table.label]) for row in rows])
    own = np.maximum(predicted[np.arange(len(truth)), truth], np.finfo(np.float64).eps)
    return {
        "name": f"softlabel: {family}, {student['arm']} labels",
        "accuracy": float((predicted.argmax(1) == truth).mean()),
        "log_loss": float(-np.log(own).mean()),
        "bytes": path.stat().st_size,
        "milliseconds": latency(lambda: probabilities(one)),
        "milliseconds_thousand": latency(lambda: probabilities(thousand)),
    }


def write(path: Path, value: object) -> None:
    """Write JSON so that a file that exists is complete."""
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(value, indent=1) + "\n")
    unfinished.replace(path)


if __name__ == "__main__":
    main()
