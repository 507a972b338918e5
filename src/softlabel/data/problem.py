"""A classification problem: inputs, classes, and a split into training, validation and test rows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from softlabel.data.arrays import encode_classes, label_array, number_table
from softlabel.data.class_names import rule_sides, spelling_notes
from softlabel.data.dividing import PARTS, divided, fold_parts
from softlabel.data.encoding import ColumnPlan, TableEncoder
from softlabel.data.images import as_pixels, channels_first
from softlabel.data.memory_inputs import inputs_in_memory
from softlabel.data.part import Part, usable_part
from softlabel.data.pixels import HasPixels
from softlabel.data.roles import ColumnRoles
from softlabel.data.rules import binary_rule, class_names, class_pair
from softlabel.data.rules import leave_out as labels_left
from softlabel.data.scaling import Scaler
from softlabel.data.tables import contradiction_notes
from softlabel.data.user_frames import take_rows
from softlabel.errors import few, require, unknown
from softlabel.ranges import check_seed

if TYPE_CHECKING:
    import polars

MAX_CLASSES = 100
SHARES = (0.6, 0.2, 0.2)
Names = str | Sequence[str | int]


@dataclass(frozen=True, eq=False, repr=False)
class Problem(HasPixels):
    """Inputs with their classes, and which rows are for training, validation and test.

    `softlabel.load` makes a problem from a data set's name, a file, a folder of images, arrays or a frame. Rows are
    split 60/20/20, stratified by class, with the seed. Where the data come with test rows, those are the test part and
    the other rows are split 5/6 and 1/6.

    Attributes
    ----------
    name : str
        Name of the data set or the file.
    X : float32 array of shape (n, d)
        Inputs as they were passed, or as the encoder makes them; images are flattened.
    y : int64 array of shape (n,)
        Class numbers, positions in `classes`.
    classes : tuple of str
        Names of the classes.
    parts : dict of arrays
        Row numbers of the parts 'train', 'validation' and 'test'.
    scaler : Scaler
        Scale of the inputs, learned from the training rows.
    columns : tuple of str or None
        Names of the columns of `X`.
    table : polars.DataFrame or None
        The columns as they were passed, where text, categories, dates or missing values need an encoder.
    encoder : TableEncoder or None
        Makes numbers of the columns of `table`; learned from the training rows.
    plans : tuple of ColumnPlan
        What each column of a table is.
    groups, times : array of shape (n,) or None
        Entries of the columns that decide the split, see `ColumnRoles`.
    image_shape : tuple of int or None
        (channels, height, width) of images.
    channels_last : bool
        Whether the rows of `X` are images flattened as (height, width, channels); `images` always are channels first.
    rows : int64 array of shape (n,)
        Row of the file (or data set) that each row of `X` comes from. Rows of a test file are counted on from
        `file_rows`.
    file_rows, test_file_rows : int
        Number of rows in the file and in the test file.
    official_test : bool
        Whether the test part came with the data.
    ids : array of shape (n,) or None
        Entries of the id column.
    source : object
        The user's own array or frame, for teachers that need the columns as they were.
    all_classes : tuple of str
        Names of the classes before some were chosen; numbers in rules refer to them.
    default_task, default_pair : str or None
        Rule or pair of classes that `binary` uses by default.
    notes, warnings : tuple of str
        How the data were treated, and what limits the results.

    Examples
    --------
    >>> from softlabel.data import load
    >>> problem = load("digits", classes="3,8")
    >>> problem.train.X.shape, problem.test.y.shape
    ((214, 64), (71,))
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: tuple[str, ...]
    parts: dict[str, np.ndarray]
    scaler: Scaler
    columns: tuple[str, ...] | None = None
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    file_rows: int = 0
    test_file_rows: int = 0
    ids: np.ndarray | None = None
    image_shape: tuple[int, ...] | None = None
    source: Any = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    channels_last: bool = False
    official_test: bool = False
    all_classes: tuple[str, ...] = ()
    default_task: str | None = None
    default_pair: str | None = None
    table: "polars.DataFrame | None" = None
    encoder: TableEncoder | None = None
    plans: tuple[ColumnPlan, ...] = ()
    groups: np.ndarray | None = None
    times: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not len(self.rows):
            object.__setattr__(self, "rows", np.arange(len(self.y)))
        if not self.file_rows:
            object.__setattr__(self, "file_rows", len(self.y))
        if not self.all_classes:
            object.__setattr__(self, "all_classes", self.classes)

    @classmethod
    def from_arrays(
        cls, X: Any, y: Any, *, name: str = "data", scale: str | None = None, seed: int = 0,
        shares: Sequence[float] = SHARES,
    ) -> "Problem":  # fmt: skip
        """Make a problem from arrays or frames.

        Parameters
        ----------
        X : array or frame
            A table (n, d), or images: (n, height, width), (n, channels, height, width) or
            (n, height, width, channels), integers up to 255 or fractions from 0 to 1. A layout that cannot be
            recognized is refused.
        y : array of shape (n,)
            Labels, numbers or names.
        name : str
            Name of the problem in messages.
        scale : {'none', 'max', 'unit', 'standard'}, optional
            Scale of the inputs. Default: 'standard', and 'none' for images.
        seed : int
            Random seed of the split.
        shares : sequence of three floats
            Shares of the training, validation and test rows.

        Returns
        -------
        Problem

        Examples
        --------
        >>> import numpy as np
        >>> import softlabel as sl
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> problem = sl.Problem.from_arrays(X, X[:, 0] > 0)
        >>> len(problem.train), len(problem.validation), len(problem.test)
        (60, 20, 20)
        """
        problem = cls.unsplit(X, y, name)
        return problem.with_split(scale or problem.default_scale, seed, shares)

    @classmethod
    def unsplit(cls, X: Any, y: Any, name: str, roles: ColumnRoles | None = None) -> "Problem":
        """A problem from arrays or frames whose rows are not split and not scaled yet."""
        if getattr(X, "ndim", 2) in (3, 4):
            images = np.asarray(X)
            require(images.dtype.kind in "buif", f"{name}: images must be numbers, got values of type {images.dtype}")
            require(images.size > 0, f"{name}: there are no images, X has shape {images.shape}")
            images = as_pixels(channels_first(images, f"{name}: images"), f"{name}: images")
            table = number_table(images.reshape(len(images), -1), name)
            codes, classes = encode_classes(label_array(y, len(table)), f"{name}: label")
            return cls(name, table, codes, classes, {}, Scaler("none"), image_shape=images.shape[1:], source=X)
        table, fields = inputs_in_memory(X, name, roles or ColumnRoles())
        codes, classes = encode_classes(label_array(y, len(table)), f"{name}: label")
        return cls(name, table, codes, classes, {}, Scaler("none"), source=X, **fields)

    @property
    def default_scale(self) -> str:
        """'none' for images, 'standard' for tables."""
        return "standard" if self.image_shape is None else "none"

    def with_split(
        self, scale: str, seed: int = 0, shares: Sequence[float] = SHARES, test: np.ndarray | None = None
    ) -> "Problem":
        """The same data with a new split (stratified by class), or with `test` as the row numbers of the test part."""
        check_seed(seed)
        require(
            len(self.classes) <= MAX_CLASSES,
            f"'{self.name}' has {len(self.classes):,} classes in {len(self):,} rows, and at most {MAX_CLASSES} are "
            "supported: choose another label, or group its values into fewer classes first",
        )
        rest = np.arange(len(self))
        if test is None:
            rows = divided(self, rest, shares, seed)
        else:
            rest = np.setdiff1d(rest, test)
            rows = (*divided(self, rest, (5 / 6, 1 / 6), seed), test)
        parts = dict(zip(PARTS, rows, strict=True))
        problem = replace(self, parts=parts, official_test=test is not None)._with_scale(scale)
        clashes = () if problem.table is None else contradiction_notes(problem.X, self.y)
        return replace(problem, notes=(*self.notes, *clashes, *spelling_notes(self.classes)))

    def folds(self, count: int, seed: int = 0) -> tuple["Problem", ...]:
        """The problem `count` times, each row being a test row in exactly one of them.

        The rows that are not in a fold's test part are split 3/4 and 1/4 into training and validation rows; encoder and
        scale are learned from the fold's training rows. Classes are spread over the folds evenly, and groups stay
        together.

        Parameters
        ----------
        count : int
            Number of folds, at least 2.
        seed : int
            Random seed of the folds.

        Returns
        -------
        tuple of Problem

        Examples
        --------
        >>> from softlabel.data import load
        >>> [len(fold.test) for fold in load("digits").folds(5)]
        [359, 360, 359, 360, 359]
        """
        return tuple(replace(self, parts=p)._with_scale(self.scaler.how) for p in fold_parts(self, count, seed))

    def _with_scale(self, scale: str) -> "Problem":
        """The same split with an encoder and a scale learned from the training rows."""
        problem = self
        if self.table is not None:
            encoder = TableEncoder.fit(self.plans, self.table[self.parts["train"]], f"'{self.name}'")
            X = encoder.transform(self.table, f"'{self.name}'")
            problem = replace(self, X=X, encoder=encoder, columns=encoder.features)
        return replace(problem, scaler=Scaler.fit(Part(problem, "train", problem.parts["train"]).X, scale))

    @property
    def treatment(self) -> list[dict[str, Any]]:
        """What was done to every column of a table, as JSON values; empty for images and arrays without names."""
        if self.encoder is not None:
            return self.encoder.describe()
        used = set(self.columns or ())
        return [
            {"column": plan.name, "kind": "number", "done": "number", "features": 1}
            if plan.name in used
            else {"column": plan.name, "kind": "dropped", "done": plan.reason, "features": 0}
            for plan in self.plans
        ]

    def __len__(self) -> int:
        return len(self.y)

    def __str__(self) -> str:
        return self.described("rows: " + ", ".join(f"{len(rows):,} {part}" for part, rows in self.parts.items()))

    def described(self, rows: str) -> str:
        """The problem in a line; `rows` says how its rows are used."""
        classes = ", ".join(self.classes) if len(self.classes) <= 10 else f"{len(self.classes)} of them"
        return f"{self.name}: {self.X.shape[1]} inputs, classes {classes}; {rows}; {self.scaler}"

    def __repr__(self) -> str:
        return f"<Problem {self}>"

    @cached_property
    def train(self) -> Part:
        """The rows that students and teachers learn from."""
        return usable_part(self, "train")

    @cached_property
    def validation(self) -> Part:
        """The rows that settings are chosen with."""
        return usable_part(self, "validation")

    @cached_property
    def test(self) -> Part:
        """The rows that results are measured on."""
        return usable_part(self, "test")

    @cached_property
    def full_train(self) -> Part:
        """All rows but the test rows that came with the data; all rows where none did. Certificates are about these."""
        rows = np.arange(len(self))
        return Part(self, "full_train", np.setdiff1d(rows, self.parts["test"]) if self.official_test else rows)

    def part(self, name: str) -> Part:
        """The part called 'train', 'validation', 'test' or 'full_train'."""
        if name not in (*PARTS, "full_train"):
            raise unknown("part", name, (*PARTS, "full_train"))
        return getattr(self, name)

    def with_classes(
        self, task: str | None = None, classes: Names | None = None, leave_out: Names | None = None
    ) -> "Problem":
        """The rows of some classes, or all rows with the two classes of a rule; without a scale, parts keep their rows.

        task        rule that makes two classes, e.g. 'label>4'
        classes     two classes to keep, e.g. 'cat,dog', in this order
        leave_out   classes to leave out; the others are numbered anew
        """
        for name, other in (("task", task), ("leave_out", leave_out)):
            require(
                classes is None or other is None,
                f"`{name}` '{other}' and `classes` '{classes}' exclude each other: pass one of them",
            )
        names, codes, kept = self.classes, self.y, np.arange(len(self))
        if classes is not None:
            pair = class_pair(classes, names)
            kept = np.flatnonzero(np.isin(codes, pair))
            codes, names = (codes[kept] != pair[0]).astype(np.int64), tuple(class_names(classes))
        elif leave_out is not None:
            kept = np.flatnonzero(np.isin(codes, labels_left(leave_out, names)))
            codes = codes[kept]
        if task is not None:
            position = np.array([self.all_classes.index(name) for name in names])
            codes = (binary_rule(task, position[codes], self.all_classes) > 0).astype(np.int64)
            names = rule_sides(task)
        present, codes = np.unique(codes, return_inverse=True)
        return replace(
            self if len(kept) == len(self) else self._subset(kept),
            y=codes.astype(np.int64),
            classes=tuple(names[code] for code in present.tolist()),
            all_classes=self.all_classes if task is None and classes is None else names,
            default_pair=self.default_pair if leave_out is None else None,
        )

    def _subset(self, kept: np.ndarray) -> "Problem":
        """The rows `kept`, in increasing order."""
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            rows=self.rows[kept],
            parts={part: np.searchsorted(kept, rows[np.isin(rows, kept)]) for part, rows in self.parts.items()},
            ids=None if self.ids is None else self.ids[kept],
            source=None if self.source is None else take_rows(self.source, kept),
            table=None if self.table is None else self.table[kept],
            groups=None if self.groups is None else self.groups[kept],
            times=None if self.times is None else self.times[kept],
        )

    def binary(self, rule: str | None = None, classes: Names | None = None) -> "Problem":
        """Make a problem of two classes with the same split.

        Parameters
        ----------
        rule : str, optional
            Rule such as 'label>4', 'label==cat' or 'label in 0,2,4'. Rows for which it holds are the second class.
        classes : str or sequence, optional
            Two classes to keep, such as 'cat,dog'; rows of other classes are left out.
            Default without rule and classes: the problem itself if it has two classes, otherwise the default of the
            named data set.

        Returns
        -------
        Problem
            Every row is in the same part as before.

        Raises
        ------
        InputError
            If there are more than two classes and no default.

        Examples
        --------
        >>> from softlabel.data import load
        >>> load("digits").binary("label>4").classes
        ('not label>4', 'label>4')
        """
        if rule is None and classes is None:
            if len(self.classes) == 2:
                return self
            rule, classes = self.default_task, self.default_pair
            require(
                rule is not None or classes is not None,
                f"'{self.name}' has {len(self.classes)} classes ({few(self.classes, 10)}): make it a problem of two "
                f"with a rule (`task`, e.g. 'label>1') or two of them (`classes`, e.g. "
                f"'{self.classes[0]},{self.classes[1]}')",
            )
        return self.with_classes(rule, classes)._with_scale(self.scaler.how)

    @cached_property
    def fingerprint(self) -> str:
        """Identity of the inputs, labels, parts and scale."""
        digest = hashlib.sha256(repr((self.classes, self.X.shape, self.scaler.how)).encode())
        for array in (self.X, self.y, *self.parts.values()):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:20]
