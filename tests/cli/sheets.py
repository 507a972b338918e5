"""Spreadsheets for the verbs that users bring their own data to."""

from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import expit


def write_sheet(path: Path, rows: int = 400, seed: int = 0, **columns) -> Path:
    """A CSV with an id, three measurements and a label that the first two decide, with some noise."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, 3))
    sick = rng.random(rows) < expit(3 * (x[:, 0] + x[:, 1]))
    table = {"patient": [f"p{k}" for k in range(rows)], "age": x[:, 0], "blood": x[:, 1], "height": x[:, 2]}
    pl.DataFrame(table | {"sick": np.where(sick, "yes", "no")} | columns).write_csv(path)
    return path


def write_labels(path: Path, data: Path, change=lambda p: p, **columns) -> Path:
    """The true probabilities of a sheet's rows by class, as a CSV with ids."""
    frame = pl.read_csv(data)
    p = expit(3 * (frame["age"].to_numpy() + frame["blood"].to_numpy()))
    p = change(p)
    pl.DataFrame({"patient": frame["patient"], "no": 1 - p, "yes": p} | columns).write_csv(path)
    return path
