"""Tables as people have them, and how softlabel treats each of them from the first check to the exported student."""

from benchmarks.tables.catalogue import LARGE, SMALL, TABLES, Table

__all__ = ["LARGE", "SMALL", "TABLES", "Table"]
