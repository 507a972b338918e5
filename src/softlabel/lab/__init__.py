"""How many trainings are run: grids of cells, bundles, the ledger, artifacts, executors, statistics."""

from softlabel.lab.artifacts import ArtifactStore, Pieces
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, Stage, StageResults, identity
from softlabel.lab.driver import Progress, read_results, run_stages, run_study
from softlabel.lab.executors import EXECUTORS, check_counts, cores, make_executor
from softlabel.lab.ledger import DamagedLedgerError, Ledger, LedgerError
from softlabel.lab.run_dir import LEDGER, claim_run_dir, environment, open_run
from softlabel.lab.study import Facts, Result, Study

__all__ = [
    "EXECUTORS",
    "LEDGER",
    "ArtifactStore",
    "Bundle",
    "CellArrays",
    "CellResult",
    "DamagedLedgerError",
    "Facts",
    "Ledger",
    "LedgerError",
    "Pieces",
    "Progress",
    "Result",
    "Settings",
    "Stage",
    "StageResults",
    "Study",
    "check_counts",
    "claim_run_dir",
    "cores",
    "environment",
    "identity",
    "make_executor",
    "open_run",
    "read_results",
    "run_stages",
    "run_study",
]
