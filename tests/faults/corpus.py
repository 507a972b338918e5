"""Small valid files of every kind that softlabel reads, made once for the tests that spoil them."""

from pathlib import Path

import numpy as np
import polars as pl
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression

from softlabel.cli.main import run
from softlabel.data.scaling import Scaler
from softlabel.export import export_student
from softlabel.networks.student_model import StudentModel
from tests.cli.sheets import write_labels, write_sheet
from tests.export.students import network

COLUMNS = ("age", "blood", "height")
TINY = "--width 2 --epochs 1 --seeds 2".split()


def make_corpus(place: Path) -> Path:
    """Write all of them into `place`: tables, arrays, images, models, soft labels, and a finished run."""
    place.mkdir(parents=True)
    data = write_sheet(place / "data.csv", rows=120)
    frame = pl.read_csv(data).drop("patient")
    frame.write_csv(place / "table.csv")
    frame.write_parquet(place / "table.parquet")
    x = frame.select(COLUMNS).to_numpy().astype(np.float32)
    y = (frame["sick"] == "yes").to_numpy().astype(np.int64)
    np.save(place / "x.npy", x)
    np.savez(place / "xy.npz", X=x, y=y)
    write_labels(place / "labels.csv", data)
    pictures = np.random.default_rng(0).integers(0, 256, (60, 1, 8, 8)).astype(np.uint8)
    kinds = np.arange(60) % 2
    pictures[kinds == 1, :, :4] //= 4
    np.savez(place / "images.npz", images=pictures, labels=kinds)
    np.save(place / "logits.npy", np.where(np.eye(2)[kinds] > 0, 2.0, -2.0).astype(np.float32))
    export_student(StudentModel(network(), Scaler.fit(x, "standard"), ("no", "yes"), COLUMNS), place, "student", x)
    (place / "teacher.onnx").write_bytes(
        to_onnx(LogisticRegression().fit(x, y), x[:1], options={"zipmap": False}).SerializeToString()
    )
    words = ["verdict", str(data), "--label", "sick", "--id", "patient", "--teacher", str(place / "labels.csv")]
    assert run([*words, *TINY, "--out", str(place / "run")]) == 0
    return place
