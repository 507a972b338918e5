"""Where examples come from: named data sets with checksums, users' tables, and the tasks made of them."""

from softlabel.data.cache import cache_folder, fetch, verify
from softlabel.data.catalogue import CATALOGUE, NamedSet
from softlabel.data.dataset import Dataset
from softlabel.data.loading import load
from softlabel.data.noise import add_noise
from softlabel.data.rules import binary_rule, class_pair
from softlabel.data.scaling import SCALES, Scaler, scale
from softlabel.data.splits import split
from softlabel.data.tables import load_table
from softlabel.data.tasks import Part, Task, load_task

__all__ = [
    "CATALOGUE",
    "SCALES",
    "Dataset",
    "NamedSet",
    "Part",
    "Scaler",
    "Task",
    "add_noise",
    "binary_rule",
    "cache_folder",
    "class_pair",
    "fetch",
    "load",
    "load_table",
    "load_task",
    "scale",
    "split",
    "verify",
]
