"""Is `doctor` right about trainings? Settings are drawn at random, and every remedy is tried.

    python -m benchmarks.doctor_remedies

Four data sets with two classes; settings (learning rate, epochs, width, optimizer, activation, batch size) are drawn
from ranges far beyond what is sensible. Each training is compared with those that the remedies ask for: a third and a
tenth of the learning rate, three, ten and a hundred times it, three times as long, four times as wide. A finding is
right if its remedy lowers the training error by 2 points (median of five seeds; the worst seed if seeds disagree).
Doctor missed a mistake if it names none and some remedy lowers the median by 5 points.
"""

import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.measure import write
from softlabel.data import load
from softlabel.data.scaling import Scaler
from softlabel.errors import DivergedError
from softlabel.networks import Student, TrainingOptions, hard_labels, train_students
from softlabel.networks.pgd import count_steps
from softlabel.studies.doctor import doctor
from softlabel.studies.doctor.records import write_records

SETTINGS, SEEDS, ROWS, RECORDS = 40, 5, 1500, 12
GAIN, MISSED = 0.02, 0.05
REMEDIES = {
    "learning rate too large": ("a third of the learning rate", "a tenth of the learning rate"),
    "dead neurons": ("a third of the learning rate", "a tenth of the learning rate"),
    "seeds disagree": ("a third of the learning rate", "a tenth of the learning rate", "four times as wide"),
    "learning rate too small or training too short": (
        "three times the learning rate",
        "ten times the learning rate",
        "a hundred times the learning rate",
        "three times as long",
    ),
    "width too small": ("four times as wide",),
    "training too short or width too small": ("three times as long", "four times as wide"),
}


def main() -> None:
    right: Counter[str] = Counter()
    named: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    sound = silent = 0
    rows: list[dict[str, Any]] = []
    for data, (x, y) in data_sets().items():
        rng = np.random.default_rng(1)  # thresholds were looked at with 0
        for _ in range(SETTINGS):
            row = examine(x, y, draw(rng)) | {"data": data}
            rows.append(row)
            gains = row["gains"]
            for name in row["mistakes"]:
                lowered = row["gains of the worst"] if name == "seeds disagree" else gains
                named[name] += 1
                right[name] += max(lowered[remedy] for remedy in REMEDIES[name]) >= GAIN
            best = max(gains, key=lambda remedy: gains[remedy])
            if not row["mistakes"]:
                silent += 1
                sound += gains[best] < MISSED
                missed[best] += gains[best] >= MISSED
        print(f"{data}: {SETTINGS} settings", flush=True)
    for name in named:
        print(f"{name}: named {named[name]} times, its remedy helps in {right[name]}")
    print(
        f"nothing named: {silent} of {len(rows)}; no remedy helps by 5 points in {sound}; else helped: {dict(missed)}"
    )
    write("doctor_remedies", {"named": named, "right": right, "silent": silent, "sound": sound, "missed": missed,
                              "settings": rows})  # fmt: skip


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Inputs of norm at most 1 and sides −1, +1."""
    sets = {}
    for name in ("digits", "mnist", "fashion-mnist"):
        rows = load(name).binary().full_train
        sets[name] = rows.in_unit_ball[:ROWS], rows.signs[:ROWS]
    table, labels = load_breast_cancer(return_X_y=True)
    table = Scaler.fit(table.astype(np.float32), "standard").apply(table.astype(np.float32))
    sets["breast-cancer"] = table / np.linalg.norm(table, axis=1).max(), np.where(labels > 0, 1, -1).astype(np.float32)
    return sets


def draw(rng: np.random.Generator) -> dict[str, Any]:
    """Settings, sensible and not."""
    adam = rng.random() < 0.3
    low, high = (-4.0, 0.5) if adam else (-1.5, 3.0)
    return {
        "optimizer": "adam" if adam else "gradient",
        "learning_rate": float(10 ** rng.uniform(low, high)),
        "epochs": round(10 ** rng.uniform(0, 1.5)),
        "width": int(2 ** rng.integers(1, 7)),
        "activation": str(rng.choice(["relu", "relu", "tanh"])),
        "batch_size": int(rng.choice([16, 64, 256])),
    }


def examine(x: np.ndarray, y: np.ndarray, drawn: dict[str, Any]) -> dict[str, Any]:
    """Mistakes that doctor names, and by how much each remedy lowers the training error."""
    students = [
        Student(
            width=drawn["width"],
            seed=seed,
            learning_rate=drawn["learning_rate"],
            activation=drawn["activation"],
            radius=None,
        )
        for seed in range(SEEDS)
    ]
    changed = {
        "a third of the learning rate": {"learning_rate": drawn["learning_rate"] / 3},
        "a tenth of the learning rate": {"learning_rate": drawn["learning_rate"] / 10},
        "three times the learning rate": {"learning_rate": drawn["learning_rate"] * 3},
        "ten times the learning rate": {"learning_rate": drawn["learning_rate"] * 10},
        "a hundred times the learning rate": {"learning_rate": drawn["learning_rate"] * 100},
        "four times as wide": {"width": drawn["width"] * 4},
    }
    labels = {"hard": hard_labels(y)}
    with tempfile.TemporaryDirectory() as run_dir:
        try:
            done = _train(x, labels, students, drawn, drawn["epochs"])
            write_records(Path(run_dir), students, labels, run=done, evaluation_errors=[0.0] * SEEDS)
        except DivergedError as problem:
            done = None
            write_records(Path(run_dir), students, labels, run=None, failed=str(problem))
        examination = doctor(run_dir)
    base = _errors(done, x, y)
    remedied = {
        name: _train_or_diverge(x, labels, [replace(one, **change) for one in students], drawn)
        for name, change in changed.items()
    }
    remedied["three times as long"] = _train_or_diverge(x, labels, students, drawn, 3 * drawn["epochs"])
    errors = {name: _errors(run, x, y) for name, run in remedied.items()}
    mistakes = sorted({finding.name for finding in examination.mistakes})
    return drawn | {"mistakes": mistakes, "hints": sorted({f.name for f in examination.findings} - set(mistakes)),
                    "error": float(np.median(base)),
                    "gains": {name: float(np.median(base) - np.median(remedy)) for name, remedy in errors.items()},
                    "gains of the worst": {name: float(max(base) - max(remedy)) for name, remedy in errors.items()},
                    }  # fmt: skip


def _train(x: np.ndarray, labels: dict, students: list[Student], drawn: dict[str, Any], epochs: int) -> Any:
    options = TrainingOptions(record_every=max(1, count_steps(len(x), epochs, drawn["batch_size"]) // RECORDS))
    return train_students(
        x,
        students,
        labels,
        epochs=epochs,
        batch_size=drawn["batch_size"],
        optimizer=drawn["optimizer"],
        options=options,
    )


def _train_or_diverge(x, labels, students, drawn, epochs: int | None = None) -> Any:
    """None if the training diverges."""
    try:
        return _train(x, labels, students, drawn, epochs or drawn["epochs"])
    except DivergedError:
        return None


def _errors(done: Any, x: np.ndarray, y: np.ndarray) -> list[float]:
    """Training error of each seed; one half if the training failed."""
    return [0.5] * SEEDS if done is None else [float((one.network.logits(x) * y <= 0).mean()) for one in done]


if __name__ == "__main__":
    main()
