"""How far a run is, from its ledger alone: for whoever watches a run that another process works on."""

from softlabel.lab.cells import StageResults
from softlabel.lab.driver import Progress, collect
from softlabel.lab.ledger import Ledger
from softlabel.lab.study import Study


def ledger_progress(study: Study, ledger: Ledger, before: float = 0.0) -> Progress:
    """The progress of a study, at the first stage that is not finished; its times are sums over bundles.

    before      seconds that the run took for its teacher
    """
    results = StageResults()
    recorded = ledger.by_key()
    spent, seconds, cells = 0.0, 0.0, 0
    name, count = "", 0
    for stage in study.stages:
        bundles = stage.bundles(study.settings, results)
        if not bundles:
            continue
        name, count = stage.name, len(bundles)
        rows = [recorded.get(bundle.key) for bundle in bundles]
        done = [bundle for bundle, row in zip(bundles, rows, strict=True) if row and row["status"] == "done"]
        failed = sum(1 for row in rows if row and row["status"] == "failed")
        stage_seconds = sum(row["seconds"] for row in rows if row)
        spent, seconds = spent + sum(map(study.cost, done)), seconds + stage_seconds
        cells += sum(len(bundle.cells) for bundle in done)
        if len(done) < count:
            later = _later(study, name, results)
            left = sum(map(study.cost, bundles)) - sum(map(study.cost, done)) + later
            return Progress(
                name, len(done), count, failed, cells, stage_seconds, None, later > 0,
                before + seconds, spent / (spent + left) if spent + left > 0 else 0.0,
            )  # fmt: skip
        collect(stage, bundles, ledger, results, {})
    return Progress(name, count, count, 0, cells, 0.0, 0.0, False, before + seconds, 1.0)


def _later(study: Study, stage: str, results: StageResults) -> float:
    """The rough cost of the stages after this one."""
    names = [one.name for one in study.stages]
    expected = study.expected_costs(results)
    return sum(expected.get(name, 0.0) for name in names[names.index(stage) + 1 :])
