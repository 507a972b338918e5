"""An accuracy that a small student of a table should reach, from its training rows alone."""

from collections import Counter
from pathlib import Path

from benchmarks.tables.catalogue import Table


def goal(table: Table, path: Path, way: float = 0.8) -> float:
    """`way` of the way from the most frequent class to boosted trees."""
    frequent, boosted = references(table, path)
    return frequent + way * max(boosted - frequent, 0.005)


def references(table: Table, path: Path) -> tuple[float, float]:
    """Accuracy of the most frequent class, and of boosted trees in cross-validation on the rows of a file."""
    import pandas as pd
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import cross_val_score

    frame = pd.read_csv(path, sep=table.delimiter, decimal=table.decimal, skipinitialspace=True)
    frame = frame[frame[table.label].notna()].drop(columns=[name for name in dropped(table) if name in frame])
    labels = frame.pop(table.label)
    if "--task" in table.options:
        labels = labels > float(table.options[table.options.index("--task") + 1].partition(">")[2])
    labels = labels.astype(str)
    inputs = pd.DataFrame({
        name: column if column.dtype.kind in "ifb" else column.astype("category").cat.codes
        for name, column in frame.items()
    })  # fmt: skip
    frequent = max(Counter(labels).values()) / len(labels)
    model = HistGradientBoostingClassifier(random_state=0)
    return frequent, float(cross_val_score(model, inputs, labels, cv=3).mean())


def dropped(table: Table) -> list[str]:
    """Columns that are no inputs by the table's options."""
    pairs = zip(table.options[::2], table.options[1::2], strict=True)
    return [value for option, value in pairs if option in ("--drop", "--group", "--time")]
