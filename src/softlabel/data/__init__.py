"""Examples: named data sets with checksums, users' tables and images, and the problems made of them."""

from softlabel.data.cache import cache_folder, fetch, verify
from softlabel.data.catalogue import CATALOGUE, NamedSet
from softlabel.data.dataset import Dataset
from softlabel.data.loader import load
from softlabel.data.noise import add_noise
from softlabel.data.problem import Part, Problem
from softlabel.data.roles import ColumnRoles
from softlabel.data.rules import binary_rule, class_pair
from softlabel.data.scaling import SCALES, Scaler
from softlabel.data.splits import split
from softlabel.data.table_files import MISSING_WORDS
from softlabel.data.tables import load_table

__all__ = [
    "CATALOGUE",
    "MISSING_WORDS",
    "SCALES",
    "ColumnRoles",
    "Dataset",
    "NamedSet",
    "Part",
    "Problem",
    "Scaler",
    "add_noise",
    "binary_rule",
    "cache_folder",
    "class_pair",
    "fetch",
    "load",
    "load_table",
    "split",
    "verify",
]
