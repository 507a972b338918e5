"""Roles of columns that a user decides: numbers, categories, groups and time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from softlabel.errors import require


@dataclass(frozen=True)
class ColumnRoles:
    """What some columns of a table are, where that should not be decided from their values.

    Parameters
    ----------
    numeric, categorical : sequence of str
        Columns that are numbers or categories whatever they look like.
    group : str, optional
        Column whose rows with the same entry stay in one part of the split, such as a patient; it is not an input.
    time : str, optional
        Column of dates or numbers: the latest rows are the test part, those before them the validation part; it is not
        an input.

    Examples
    --------
    >>> import softlabel as sl
    >>> sl.ColumnRoles(categorical=["zip code"], group="patient").group
    'patient'
    """

    numeric: Sequence[str] = ()
    categorical: Sequence[str] = ()
    group: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        for name in ("numeric", "categorical"):
            columns = getattr(self, name)
            require(not isinstance(columns, str), f"`{name}` must be a list of columns, got '{columns}'")
        require(
            self.group is None or self.time is None,
            f"`group` '{self.group}' and `time` '{self.time}' exclude each other: pass one of them",
        )

    @property
    def parting(self) -> list[str]:
        """The columns that decide the split."""
        return [name for name in (self.group, self.time) if name is not None]

    def check(self, names: Iterable[str], taken: Iterable[str], where: str) -> None:
        """Raise for a column that is not there, or that is the label, the id or dropped.

        taken   columns that are not inputs
        """
        names, taken = list(map(str, names)), set(taken)
        roles = [("numeric", name) for name in self.numeric] + [("categorical", name) for name in self.categorical]
        roles += [(role, name) for role, name in (("group", self.group), ("time", self.time)) if name is not None]
        for role, name in roles:
            require(name in names, f"{where} has no column '{name}' for `{role}`: there are {', '.join(names[:20])}")
            require(
                name not in taken,
                f"{where}: `{role}` '{name}' is the label, the id or a dropped column: choose another",
            )
        for role in ("numeric", "categorical"):
            both = [name for name in getattr(self, role) if name in self.parting]
            require(
                not both, f"{where}: column '{(both or [''])[0]}' is in `{role}`, and decides the split: leave one out"
            )
