"""How many trainings are run: grids of cells, bundles, the ledger, executors, statistics."""

from softlabel.lab.cells import Bundle, Given, Outcome, Results, Settings, Stage, Study, identity
from softlabel.lab.driver import Progress, read_results, run_stages, run_study
from softlabel.lab.executors import EXECUTORS, check_counts, cores, make_executor
from softlabel.lab.folder import LEDGER, claim_folder, environment, open_run
from softlabel.lab.ledger import DamagedLedgerError, Ledger, LedgerError

__all__ = [
    "EXECUTORS",
    "LEDGER",
    "Bundle",
    "DamagedLedgerError",
    "Given",
    "Ledger",
    "LedgerError",
    "Outcome",
    "Progress",
    "Results",
    "Settings",
    "Stage",
    "Study",
    "check_counts",
    "claim_folder",
    "cores",
    "environment",
    "identity",
    "make_executor",
    "open_run",
    "read_results",
    "run_stages",
    "run_study",
]
