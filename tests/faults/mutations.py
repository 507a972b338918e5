"""Valid files made bad: bytes changed at random, and structures changed where their readers look."""

import io
import json
import sqlite3
import struct
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import polars as pl

ODD_NUMBERS = (-1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**63 - 1, -(2**63))
ODD_TEXTS = (
    "", " ", "NaN", "[/a]", "\x1b[31m", "$\\frac{$", "{}", "[]", "null", "=1+1", "../../x", "é" * 40, "a" * 5000,
)  # fmt: skip


def change_bytes(data: bytes, dice: Random) -> bytes:
    """One to three random edits of the bytes themselves."""
    for _ in range(dice.choice((1, 1, 2, 3))):
        data = _edit(bytearray(data), dice)
    return data


def _edit(data: bytearray, dice: Random) -> bytes:
    if not data:
        return bytes(dice.randbytes(3))
    at = dice.randrange(len(data))
    length = min(len(data) - at, dice.choice((1, 2, 4, 8, 64, 1024)))
    kind = dice.randrange(8)
    if kind == 0:
        data[at] ^= 1 << dice.randrange(8)
    elif kind == 1:
        data[at : at + length] = dice.randbytes(length)
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        del data[at : at + length]
    elif kind == 4:
        data[at:at] = dice.randbytes(length)
    elif kind == 5:
        data[at : at + length] = bytes([dice.choice((0, 0xFF, 0x7F))]) * length
    elif kind == 6:
        data[at:at] = data[at : at + length]
    else:
        early = dice.randrange(min(64, len(data)))  # where headers are
        data[early] = dice.randrange(256)
    return bytes(data)


def change_onnx(data: bytes, dice: Random) -> bytes:
    """Change a part of the model's graph or of its metadata."""
    model = onnx.load_from_string(data)
    graph = model.graph
    values = [*graph.input, *graph.output]
    kind = dice.randrange(12)
    if kind == 0 and values:
        dim = dice.choice(values).type.tensor_type.shape.dim
        if dim:
            dice.choice(list(dim)).dim_value = dice.choice((0, 1, 10**9, *ODD_NUMBERS))
    elif kind == 1 and values:
        dice.choice(values).type.tensor_type.elem_type = dice.randrange(0, 24)
    elif kind == 2 and values:
        dice.choice(values).name = dice.choice(ODD_TEXTS)
    elif kind == 3:
        del graph.input[:]
    elif kind == 4:
        del graph.output[:]
    elif kind == 5 and graph.node:
        graph.node.pop(dice.randrange(len(graph.node)))
    elif kind == 6 and graph.node:
        dice.choice(list(graph.node)).op_type = dice.choice(("Loop", "Scan", "If", "Nothing", "ArgMax", "Softmax", ""))
    elif kind == 7 and graph.initializer:
        tensor = dice.choice(list(graph.initializer))
        numbers = onnx.numpy_helper.to_array(tensor)
        if numbers.dtype.kind == "f":
            changed = np.full_like(numbers, dice.choice((np.nan, np.inf, -np.inf, 1e38)))
            tensor.CopyFrom(onnx.numpy_helper.from_array(changed, tensor.name))
    elif kind == 8 and graph.initializer:
        tensor = dice.choice(list(graph.initializer))
        if tensor.dims:
            tensor.dims[0] = dice.choice(ODD_NUMBERS)
    elif kind == 9 and model.opset_import:
        model.opset_import[0].version = dice.choice((0, -5, 10**6, 2**63 - 1))
    elif kind == 10 and model.metadata_props:
        dice.choice(list(model.metadata_props)).value = dice.choice(ODD_TEXTS)
    else:
        model.ir_version = dice.choice((0, -1, 2**31, 99))
    return model.SerializeToString()


def change_safetensors(data: bytes, dice: Random) -> bytes:
    """Change the header: a tensor's type, shape or place, or a word of the metadata."""
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    tensors = [name for name in header if name != "__metadata__"]
    metadata = header.get("__metadata__", {})
    kind = dice.randrange(7)
    if kind == 0:
        header[dice.choice(tensors)]["dtype"] = dice.choice(("I64", "BOOL", "U8", "F16", "X99", ""))
    elif kind == 1:
        header[dice.choice(tensors)]["shape"] = dice.choice(([], [0], [-1], [10**12, 10**12], [1], "x"))
    elif kind == 2:
        header[dice.choice(tensors)]["data_offsets"] = dice.choice(([0, 0], [0, 2**62], [5, 3], [-1, 4]))
    elif kind == 3:
        header.pop(dice.choice(tensors))
    elif kind == 4 and metadata:
        metadata[dice.choice(list(metadata))] = dice.choice(ODD_TEXTS)
    elif kind == 5 and metadata:
        metadata.pop(dice.choice(list(metadata)))
    else:
        old = dice.choice(tensors)
        header[dice.choice(ODD_TEXTS)] = header.pop(old)
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + size :]


def change_npz(data: bytes, dice: Random) -> bytes:
    """Write the archive again with one member that is not what it was."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = dice.choice(list(members))
    array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    kind = dice.randrange(9)
    if kind == 0:
        members[name] = b"no array at all"
    elif kind == 1:
        members[name] = _npy(array.astype("U8") if array.dtype.kind != "U" else np.zeros(len(array)))
    elif kind == 2:
        members[name] = _npy(array[: len(array) // 2])
    elif kind == 3:
        members[name] = _npy(np.where(np.arange(array.size).reshape(array.shape) % 7 == 0, np.nan, 1.0))
    elif kind == 4:
        members[name] = _npy(array.astype(complex) if array.dtype.kind in "fiu" else np.zeros((2, 2, 2, 2, 2)))
    elif kind == 5:
        larger = f"'shape': (9{10 ** dice.randrange(3, 17)}".encode()
        members[name] = members[name].replace(b"'shape': (", larger, 1)
    elif kind == 6:
        members[dice.choice(("../evil.npy", "/x.npy", ".npy", "y", "images.npy.npy"))] = members.pop(name)
    elif kind == 7:
        members[name] = _npy(np.zeros((0, *array.shape[1:])))
    else:
        members[name] = members[name].replace(b"<f", b"|O", 1).replace(b"|u1", b"|O1", 1)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", dice.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return out.getvalue()


def _npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array, allow_pickle=False)
    return out.getvalue()


def change_parquet(data: bytes, dice: Random) -> bytes:
    """Give a column a type or content that a table of numbers does not have."""
    frame = pl.read_parquet(io.BytesIO(data))
    name, rows = dice.choice(frame.columns), frame.height
    columns: list[Any] = [
        pl.Series(name, [[1.0, 2.0]] * rows),
        pl.Series(name, [{"a": 1}] * rows),
        pl.Series(name, [b"\x00\xff"] * rows),
        pl.Series(name, [None] * rows),
        pl.Series(name, [None] * rows, dtype=pl.Float64),
        pl.Series(name, [2**100] * rows, dtype=pl.Int128),
        pl.Series(name, [float("inf")] * rows),
        pl.Series(name, ["2020-01-01"] * rows).str.to_date(),
        pl.Series(name, [1] * rows).cast(pl.Duration("ms")),
        pl.Series(name, [1] * rows).cast(pl.Decimal(38, 4)),
        pl.Series(name, [dice.choice(ODD_TEXTS)] * rows),
        pl.Series(name, ["a", "b"] * (rows // 2) + ["a"] * (rows % 2), dtype=pl.Categorical),
        pl.Series(name, [True] * rows),
    ]
    kind = dice.randrange(len(columns) + 3)
    if kind < len(columns):
        frame = frame.with_columns(columns[kind].alias(name))
    elif kind == len(columns):
        frame = frame.drop(name)
    elif kind == len(columns) + 1:
        frame = frame.head(dice.choice((0, 1, 2)))
    else:
        frame = frame.rename({name: dice.choice(ODD_TEXTS)})
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def change_table(data: bytes, dice: Random) -> bytes:
    """Change cells, lines or the header of a CSV file."""
    lines = data.decode().splitlines()
    at = dice.randrange(len(lines))
    cells = lines[at].split(",")
    place = dice.randrange(len(cells))
    kind = dice.randrange(9)
    if kind == 0:
        cells[place] = dice.choice((*ODD_TEXTS, "1e999", "-inf", "nan", "1,5", '"', "1.2.3", "0x1f", "1e-400", "٣"))
        lines[at] = ",".join(cells)
    elif kind == 1:
        lines[at] = ",".join(cells[:place])
    elif kind == 2:
        lines[at] = ",".join([*cells, "7", "8"])
    elif kind == 3:
        names = lines[0].split(",")
        names[dice.randrange(len(names))] = dice.choice((*ODD_TEXTS, names[0], names[-1]))
        lines[0] = ",".join(names)
    elif kind == 4:
        lines = lines[: dice.choice((0, 1, 2, 3))]
    elif kind == 5:
        lines = [lines[0], *(",".join([*line.split(",")[:-1], "same"]) for line in lines[1:])]
    elif kind == 6:
        lines = [line.replace(",", dice.choice((";", "\t", "|", " "))) for line in lines]
    elif kind == 7:
        lines[at] = '"' + lines[at]
    else:
        names = lines[0].split(",")
        lines = [",".join(names[:-1]), *(line.rsplit(",", 1)[0] for line in lines[1:])]
    text = "\n".join(lines) + "\n"
    return text.encode(dice.choice(("utf-8", "utf-8", "utf-16", "latin-1")), errors="replace")


def change_ledger(path: Path, dice: Random) -> None:
    """Change a ledger in place: rows, columns, tables, views."""
    with sqlite3.connect(path) as db:
        table = dice.choice(("meta", "bundles", "outcomes", "arrays"))
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        shapes = ("[-1]", "[1099511627776, 4096]", "|O")
        odd: Any = dice.choice((*ODD_TEXTS, *ODD_NUMBERS[:6], *shapes, None, b"\x00\xff", 1.5))
        statements = [
            (f"UPDATE OR IGNORE {table} SET {dice.choice(columns)} = ?", (odd,)),
            (f"UPDATE OR REPLACE {table} SET {dice.choice(columns)} = ?", (odd,)),
            (f"DELETE FROM {table}", ()),
            (f"DROP TABLE {table}", ()),
            (f"ALTER TABLE {table} RENAME TO other", ()),
            (f"ALTER TABLE {table} ADD COLUMN more TEXT", ()),
            (f"PRAGMA user_version = {dice.choice((0, 2**31 - 1, 77))}", ()),
            (f"PRAGMA application_id = {dice.choice((0, 7))}", ()),
            ("UPDATE arrays SET data = zeroblob(length(data))", ()),
            ("UPDATE outcomes SET metrics = replace(metrics, '0', '1')", ()),
        ]
        kind = dice.randrange(len(statements) + 1)
        try:
            if kind < len(statements):
                db.execute(*statements[kind])
            else:
                db.execute(f"DROP TABLE {table}")
                db.execute(
                    f"CREATE VIEW {table} AS WITH RECURSIVE c(name) AS (SELECT 'study' UNION ALL SELECT name FROM c) "
                    f"SELECT {', '.join(f'name AS {column}' for column in columns)} FROM c"
                )
        except sqlite3.Error:  # a constraint forbids it: another change then
            db.execute("DELETE FROM meta")
