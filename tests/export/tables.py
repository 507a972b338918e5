"""Tables with columns of every kind, and students with encoders learned from them."""

import datetime as dt

import numpy as np
import polars as pl
import torch

from softlabel.data.encoding import TableEncoder, plan_columns
from softlabel.data.scaling import Scaler
from softlabel.networks.student_model import StudentModel
from softlabel.networks.two_layer import TwoLayer

DAY = dt.date(2021, 1, 1)


def mixed_frame(n: int = 120, seed: int = 0) -> pl.DataFrame:
    """Numbers with gaps, integers, truth values, categories, money, dates of two kinds and text."""
    rng = np.random.default_rng(seed)
    days = [DAY + dt.timedelta(days=int(k)) for k in rng.integers(0, 1500, n)]
    amounts = [f"{rng.integers(1, 9)}.{rng.integers(100, 999)},5 €" for _ in range(n)]
    text = [f"{rng.choice(['good', 'bad', 'new'])} offer of the kind {k}" for k in range(n)]
    return pl.DataFrame(
        {
            "size": [None if rng.random() < 0.1 else float(v) for v in rng.normal(size=n)],
            "rooms": rng.integers(0, 9, n),
            "sold": rng.random(n) > 0.5,
            "label": rng.choice(["a", "b c", "ü", "", "NA", "rare"], n, p=[0.4, 0.3, 0.1, 0.1, 0.09, 0.01]),
            "price": [None if rng.random() < 0.1 else amount for amount in amounts],
            "built": [day.strftime("%d.%m.%Y") for day in days],
            "seen": [None if k % 9 == 0 else day for k, day in enumerate(reversed(days))],
            "note": [None if k % 11 == 0 else entry for k, entry in enumerate(text)],
            "code": rng.choice(["01", "02", "A1"], n),
        }
    )


def encoder_of(frame: pl.DataFrame) -> TableEncoder:
    return TableEncoder.fit(plan_columns(frame), frame)


def encoded_student(
    frame: pl.DataFrame, classes: int = 3, scale: str = "standard", dtype: torch.dtype = torch.float32, seed: int = 0
) -> StudentModel:
    """A student of width 6 with weights drawn by a seed."""
    encoder = encoder_of(frame)
    inputs, outputs = encoder.transform(frame), 1 if classes == 2 else classes
    rng = np.random.default_rng(seed)
    shapes = [(6, inputs.shape[1]), (outputs, 6), (6,), (outputs,)]
    network = TwoLayer(*(torch.tensor(rng.standard_normal(shape), dtype=dtype) for shape in shapes))
    return StudentModel(network, Scaler.fit(inputs, scale), ("x", "y", "z")[:classes], encoder=encoder)
