"""`doctor`: from paths to findings."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from softlabel.data.roles import ColumnRoles
from softlabel.errors import InputError, require
from softlabel.numerics.local_files import local_path
from softlabel.studies.doctor.findings import Examination, Finding
from softlabel.studies.doctor.labels import examine_labels
from softlabel.studies.doctor.runs import examine_run
from softlabel.studies.doctor.sheets import FileColumns, read_files
from softlabel.studies.doctor.splits import examine_sheets
from softlabel.studies.doctor.treatment import column_treatment


def doctor(
    *paths: Path | str,
    label: str | None = None,
    id_column: str | None = None,
    drop: Sequence[str] = (),
    roles: ColumnRoles | None = None,
) -> Examination:
    """Find known mistakes in run directories, data files and files of a teacher's labels.

    Parameters
    ----------
    *paths : str or path
        Run directories, data files and files of a teacher's labels, in any combination. A file with the label column
        is a data file; the first one contains the training rows. Any other file contains a teacher's labels.
    label : str, optional
        Label column of the data files.
    id_column : str, optional
        Column of ids by which the rows of data and labels are matched.
    drop : sequence of str
        Columns to leave out.
    roles : ColumnRoles, optional
        Columns that are numbers or categories whatever they look like, and the column that keeps groups of rows
        together or that orders them by time.

    Returns
    -------
    Examination
        The findings, the worst first, and what `softlabel.load` does to every column.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from softlabel.studies.doctor import doctor
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "data.csv"
    >>> _ = path.write_text("x,copy,y\\n" + "".join(f"{k * k % 7},{k % 2},{k % 2}\\n" for k in range(20)))
    >>> [finding.name for finding in doctor(path, label="y").mistakes][0]
    'label among the inputs'
    """
    require(len(paths) > 0, "paths must name a run directory or files")
    targets = [local_path(path) for path in paths]
    twice = next((path for k, path in enumerate(targets) if path in targets[:k]), None)
    require(twice is None, f"'{twice}' is named twice: name each file once")
    files = [path for path in targets if not path.is_dir()]
    require(
        id_column is None or id_column != label,
        f"column '{label}' cannot be both `label` and `id_column`: change one of them",
    )
    require(not isinstance(drop, str), f"`drop` must be a list of columns, got '{drop}'")
    chosen = FileColumns(label, id_column, tuple(drop), roles or ColumnRoles())
    examined: list[str] = []
    columns: list[dict[str, Any]] = []
    findings: list[Finding] = []
    for run_dir in targets:
        if run_dir.is_dir():
            description, of_run = examine_run(run_dir)
            examined.append(description)
            findings += of_run
    if files:
        sheets, label_files = read_files(files, chosen)
        for k, sheet in enumerate(sheets):
            role = "training rows" if k == 0 else "another split"
            examined.append(
                f"data '{sheet.path}' ({role}): {len(sheet):,} rows, {len(sheet.columns)} inputs, "
                f"{len(set(sheet.names[~sheet.unlabeled].tolist()))} classes"
            )
        examined += [f"labels '{path}'" for path in label_files]
        findings += examine_sheets(sheets, chosen)
        with suppress(InputError):  # a refusal is among the findings
            columns = column_treatment(sheets[0], chosen)
        for path in label_files:
            findings += examine_labels(path, sheets, id_column)
    return Examination.from_findings(examined, findings, columns)
