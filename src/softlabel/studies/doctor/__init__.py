"""Known mistakes in runs and files, each with its evidence and remedy."""

from softlabel.studies.doctor.examining import doctor
from softlabel.studies.doctor.findings import Examination, Finding
from softlabel.studies.doctor.records import write_records

__all__ = ["Examination", "Finding", "doctor", "write_records"]
