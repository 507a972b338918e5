"""Functions that a NumPy predictor copies to encode raw columns, and which of them an encoder needs.

They use NumPy, the standard library and the constants of this file alone, and work on entries of any kind: text,
numbers, dates, and None or NaN for missing values.
"""

import datetime
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from softlabel.data.encoding.encoder import CategoryStep, DateStep, NumberStep, Step, TableEncoder, TextStep
from softlabel.data.encoding.written import GROUPED, NUMBER_STYLES, SPACES, UNITS
from softlabel.data.table_files import MISSING_WORDS

MISSING = MISSING_WORDS
AROUND = UNITS + SPACES  # signs around a number
# how a number is written, the signs to remove, and the sign that becomes the decimal point
STYLES = {
    style: (GROUPED.get(style, r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?").strip("^$"), *signs)
    for style, signs in NUMBER_STYLES.items()
}


def is_missing(entry):
    return str(entry).strip().lower() in MISSING  # None and NaN are such words, too


def as_number(entry, style):
    if is_missing(entry):
        return np.nan
    if isinstance(entry, str):
        written, removed, comma = STYLES[style or "plain"]
        text = entry.strip() if style in (None, "plain") else entry.strip().strip(AROUND)
        if not re.fullmatch(written, text, re.ASCII):
            raise ValueError(f"not a number: {entry!r}")
        for sign in removed:
            text = text.replace(sign, "")
        entry = text.replace(comma, ".", 1) if comma else text
    if isinstance(entry, np.timedelta64):
        entry = entry / np.timedelta64(1, "s")
    elif isinstance(entry, datetime.timedelta):
        entry = entry.total_seconds()
    elif isinstance(entry, datetime.time):  # milliseconds since midnight
        entry = 1e3 * (3600 * entry.hour + 60 * entry.minute + entry.second) + entry.microsecond / 1e3
    if np.isinf(float(entry)):
        raise ValueError(f"not a finite number: {entry!r}")
    return float(entry)


def as_days(entry, style):
    if is_missing(entry):
        return np.nan
    if isinstance(entry, str):
        entry = datetime.datetime.strptime(entry.strip(), style or "%Y-%m-%d")
    if isinstance(entry, (int, float, np.number)):
        return float(entry)
    if getattr(entry, "tzinfo", None) is not None:
        return entry.timestamp() / 86_400
    return np.datetime64(entry, "us").astype(np.int64) / 86_400e6


def as_text(entry):
    if is_missing(entry):
        return None
    if isinstance(entry, (bool, np.bool_)):
        return str(entry).lower()
    if isinstance(entry, (float, np.floating)) and entry % 1 == 0:
        entry = int(entry)
    return str(entry).strip()


def encode_number(step, entries):
    values = np.array([as_number(entry, step["style"]) for entry in entries], dtype=np.float64)
    missing = np.isnan(values)
    return np.stack([np.where(missing, step["fill"], values), *([missing] if step["gaps"] else [])], axis=1)


def encode_date(step, entries):
    values = np.array([as_days(entry, step["style"]) for entry in entries], dtype=np.float64)
    missing = np.isnan(values)
    days = np.where(missing, step["fill"], values)
    turns = [days / 365.2425, np.floor(days) / 7]
    angles = [2 * np.pi * (turn - np.floor(turn)) for turn in turns]
    waves = [np.round(wave(angle), 6) for angle in angles for wave in (np.sin, np.cos)]
    return np.stack([days, *waves, *([missing] if step["gaps"] else [])], axis=1)


def encode_category(step, entries):
    count = len(step["categories"])
    other = count if step["other"] else -1
    missing = count + step["other"] if step["gaps"] else other
    codes = {category: code for code, category in enumerate(step["categories"])} | {None: missing}
    row = np.array([codes.get(as_text(entry), other) for entry in entries], dtype=np.int64)
    features = count + step["other"] + step["gaps"]
    return row[:, None] == np.arange(1 if features == 2 else 0, features)


def encode_text(step, entries):
    words = [set((as_text(entry) or "").split()) for entry in entries]
    return np.array([[word in entry for word in step["words"]] for entry in words]).reshape(-1, len(step["words"]))


def encode(X):
    if isinstance(X, (list, tuple)):
        X = {step["column"]: [row[step["column"]] for row in X] for step in STEPS}
    parts = [globals()["encode_" + step["kind"]](step, list(X[step["column"]])) for step in STEPS]
    return np.concatenate(parts, axis=1, dtype=np.float32, casting="unsafe")


STEPS: list[dict[str, Any]] = []  # of the student, in a predictor
_NEEDED: dict[type[Step], tuple[list[Callable[..., Any]], list[str], list[str]]] = {
    NumberStep: ([as_number, encode_number], ["AROUND", "STYLES"], ["datetime", "re"]),
    DateStep: ([as_days, encode_date], [], ["datetime"]),
    CategoryStep: ([as_text, encode_category], [], []),
    TextStep: ([as_text, encode_text], [], []),
}


def encoder_code(encoder: TableEncoder) -> tuple[list[str], list[str], list[str]]:
    """Modules to import, lines with constants, and lines with functions, the last of which is `encode(X)`."""
    needs = [_NEEDED[type(step)] for step in encoder.steps]
    functions = dict.fromkeys([is_missing, *(function for functions, _, _ in needs for function in functions), encode])
    constants = dict.fromkeys(["MISSING", *(name for _, names, _ in needs for name in names)])
    modules = sorted({"json", *(name for _, _, names in needs for name in names)})
    written = [f"{name} = {_written(globals()[name])}" for name in constants]
    lines = [line for function in functions for line in ["", "", *inspect.getsource(function).splitlines()]]
    return modules, [*written, 'STEPS = json.loads(str(W["encoder"]))["steps"]'], lines


def _written(value: Any) -> str:
    """A constant as code, one line for each entry of a dictionary."""
    if not isinstance(value, dict):
        return ascii(value)
    return "{\n" + "".join(f"    {key!a}: {entry!a},\n" for key, entry in value.items()) + "}"
