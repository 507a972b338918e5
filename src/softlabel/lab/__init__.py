"""How many trainings are run: grids of cells, bundles, the ledger, executors, statistics."""

from softlabel.lab.cells import Bundle, Given, Outcome, Results, Settings, Stage, Study, identity
from softlabel.lab.driver import Progress, read_results, run_study
from softlabel.lab.executors import EXECUTORS, cores, make_executor
from softlabel.lab.folder import LEDGER, claim_folder, environment
from softlabel.lab.ledger import Ledger

__all__ = [
    "EXECUTORS",
    "LEDGER",
    "Bundle",
    "Given",
    "Ledger",
    "Outcome",
    "Progress",
    "Results",
    "Settings",
    "Stage",
    "Study",
    "claim_folder",
    "cores",
    "environment",
    "identity",
    "make_executor",
    "read_results",
    "run_study",
]
