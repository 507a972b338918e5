"""What the processes of the explorer need, imported once in the process that they are forked from."""
# ruff: noqa: F401

import sklearn.datasets

import softlabel.app.work.kernel
import softlabel.app.work.live
import softlabel.app.work.margin
import softlabel.app.work.questions
import softlabel.app.work.runs
import softlabel.data
import softlabel.networks
import softlabel.studies
from softlabel import dynamics, plan, verdict
