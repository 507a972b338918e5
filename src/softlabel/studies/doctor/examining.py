"""`doctor`: from paths to findings."""

from pathlib import Path

from softlabel.errors import require
from softlabel.numerics.local_files import local_path
from softlabel.studies.doctor.findings import Examination, Finding
from softlabel.studies.doctor.labels import examine_labels
from softlabel.studies.doctor.runs import examine_run
from softlabel.studies.doctor.sheets import read_files
from softlabel.studies.doctor.splits import examine_sheets


def doctor(*paths: Path | str, label: str | None = None, id_column: str | None = None) -> Examination:
    """Name known mistakes in run folders, data files and files of a teacher's labels.

    paths       run folders; data files (with the label column, the first has the training rows), and files of a
                teacher's labels for one of them (without it, or NPY)
    label       the label column of the data files
    id_column   names the rows of data and labels, so that they are matched by it
    """
    require(len(paths) > 0, "give a run folder, or files")
    given = [local_path(path) for path in paths]
    twice = next((path for place, path in enumerate(given) if path in given[:place]), None)
    require(twice is None, f"'{twice}' is given twice: name each file once")
    files = [path for path in given if not path.is_dir()]
    require(
        id_column is None or id_column != label,
        f"column '{label}' cannot be both the label and the id: mend --label or --id",
    )
    examined: list[str] = []
    findings: list[Finding] = []
    for folder in given:
        if folder.is_dir():
            said, found = examine_run(folder)
            examined.append(said)
            findings += found
    if files:
        sheets, taught = read_files(files, label, id_column)
        for place, sheet in enumerate(sheets):
            role = "training rows" if place == 0 else "a further split"
            examined.append(
                f"data '{sheet.path}' ({role}): {len(sheet):,} rows, {len(sheet.columns)} inputs, "
                f"{len(set(sheet.names.tolist()))} classes"
            )
        examined += [f"labels '{path}'" for path in taught]
        findings += examine_sheets(sheets)
        for path in taught:
            findings += examine_labels(path, sheets, id_column)
    return Examination.of(examined, findings)
