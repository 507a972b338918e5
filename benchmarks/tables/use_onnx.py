"""Use an exported student where onnxruntime and NumPy are all there is: this file imports nothing of softlabel.

    python use_onnx.py MODEL.onnx ROWS.csv OUT.json [--delimiter ;] [--decimal ,] [--dates %d.%m.%Y] [--forbid NAMES]

The inputs of the model are the columns of the table, by name. Strings are passed as they are written; numbers are
float32 with NaN where there is none; dates are days since 1970-01-01.
"""

import argparse
import csv
import json
import sys
from datetime import datetime
from pathlib import Path

MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}


class Forbidden:
    """Refuses to import some packages, as if they were not installed."""

    def __init__(self, names):
        self.names = set(names)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named '{name}' (forbidden here)", name=name)


def number(text, decimal):
    """The number that an entry means; NaN if it is missing."""
    text = text.strip().strip("%€$ ")
    if text.lower() in MISSING:
        return float("nan")
    if text.lower() in ("true", "false"):
        return float(text.lower() == "true")
    return float(text.replace(".", "").replace(",", ".") if decimal == "," else text)


def days(text, style):
    """Days from 1970-01-01 to a date; NaN if it is missing."""
    text = text.strip()
    if text.lower() in MISSING:
        return float("nan")
    return (datetime.strptime(text, style) - datetime(1970, 1, 1)).total_seconds() / 86_400


def feeds(session, rows, decimal, dates):
    """The inputs of the model from rows as a file has them: one table of numbers, or one input per column."""
    import numpy as np

    inputs = session.get_inputs()
    names = json.loads(session.get_modelmeta().custom_metadata_map.get("columns", "null"))
    if len(inputs) == 1 and names is not None and names != [inputs[0].name]:
        table = [[number(row[name], decimal) for name in names] for row in rows]
        return {inputs[0].name: np.array(table, dtype=np.float32)}
    made = {}
    for one in inputs:
        entries = [row[one.name] for row in rows]
        if one.type == "tensor(string)":
            column = np.array([entry.strip() for entry in entries], dtype=object)
        elif one.type == "tensor(double)":
            column = np.array([days(entry, dates) for entry in entries], dtype=np.float64)
        else:
            column = np.array([number(entry, decimal) for entry in entries], dtype=np.float32)
        made[one.name] = column[:, None]
    return made


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("rows")
    parser.add_argument("out")
    parser.add_argument("--delimiter", default=",")
    parser.add_argument("--decimal", default=".")
    parser.add_argument("--dates", default="%Y-%m-%d")
    parser.add_argument("--forbid", default="")
    arguments = parser.parse_args()
    sys.meta_path.insert(0, Forbidden(filter(None, arguments.forbid.split(","))))
    import numpy as np
    import onnxruntime

    session = onnxruntime.InferenceSession(arguments.model, providers=["CPUExecutionProvider"])
    with Path(arguments.rows).open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file, delimiter=arguments.delimiter))
    names = [one.name for one in session.get_outputs()]
    outputs = session.run(names, feeds(session, rows, arguments.decimal, arguments.dates))
    probabilities = next(value for name, value in zip(names, outputs, strict=True) if name.endswith("probabilities"))
    answer = {
        "inputs": {one.name: one.type for one in session.get_inputs()},
        "classes": json.loads(session.get_modelmeta().custom_metadata_map["classes"]),
        "probabilities": [[float(p) for p in row] for row in np.asarray(probabilities)],
        "imported": sorted({name.partition(".")[0] for name in sys.modules}),
    }
    Path(arguments.out).write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
