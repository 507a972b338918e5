"""How many trainings are run: grids of cells, bundles, the ledger, artifacts, executors, statistics."""

from softlabel.lab.artifacts import ArtifactStore, Pieces
from softlabel.lab.cells import Bundle, CellArrays, CellResult, Settings, Stage, StageResults, identity
from softlabel.lab.driver import Progress, read_results, run_stages
from softlabel.lab.executors import check_counts, cores, make_executor
from softlabel.lab.ledger import Ledger
from softlabel.lab.ledger_progress import ledger_progress
from softlabel.lab.run_dir import LEDGER, claim_run_dir, is_driven, open_run
from softlabel.lab.study import Facts, Result, Study

__all__ = [
    "LEDGER",
    "ArtifactStore",
    "Bundle",
    "CellArrays",
    "CellResult",
    "Facts",
    "Ledger",
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
    "identity",
    "is_driven",
    "ledger_progress",
    "make_executor",
    "open_run",
    "read_results",
    "run_stages",
]
