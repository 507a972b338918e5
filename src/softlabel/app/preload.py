"""What the processes of the explorer need, imported once in the process that they are forked from."""
# ruff: noqa: F401

import sklearn.datasets

import softlabel.app.run_work
import softlabel.app.work.live
import softlabel.app.work.questions
import softlabel.data
import softlabel.networks
import softlabel.studies
from softlabel import dynamics, verdict
