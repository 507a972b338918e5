"""A classification problem: inputs, classes, and a split into training, validation and test rows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from softlabel.data.arrays import encode_classes, label_array, number_table
from softlabel.data.class_names import rule_sides
from softlabel.data.images import as_pixels, channels_first
from softlabel.data.joining import meets
from softlabel.data.part import Part
from softlabel.data.rules import binary_rule, class_names, class_pair
from softlabel.data.rules import leave_out as labels_left
from softlabel.data.scaling import Scaler
from softlabel.data.splits import split
from softlabel.errors import InputError, few, require, unknown
from softlabel.ranges import check_seed

MAX_CLASSES = 100
SHARES = (0.6, 0.2, 0.2)
PARTS = ("train", "validation", "test")
Names = str | Sequence[str | int]


@dataclass(frozen=True, eq=False, repr=False)
class Problem:
    """Inputs with their classes, and which rows are for training, validation and test.

    `softlabel.load` makes a problem from a data set's name, a file, a folder of images, arrays or a frame. Rows are
    split 60/20/20, stratified by class, with the seed. Where the data come with test rows, those are the test part and
    the other rows are split 5/6 and 1/6.

    Attributes
    ----------
    name : str
        Name of the data set or the file.
    X : float32 array of shape (n, d)
        Inputs as they were passed; images are flattened.
    y : int64 array of shape (n,)
        Class numbers, positions in `classes`.
    classes : tuple of str
        Names of the classes.
    parts : dict of arrays
        Row numbers of the parts 'train', 'validation' and 'test'.
    scaler : Scaler
        Scale of the inputs, learned from the training rows.
    columns : tuple of str or None
        Names of the input columns.
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

    def __post_init__(self) -> None:
        if not len(self.rows):
            object.__setattr__(self, "rows", np.arange(len(self.y)))
        if not self.file_rows:
            object.__setattr__(self, "file_rows", len(self.y))
        if not self.all_classes:
            object.__setattr__(self, "all_classes", self.classes)

    @classmethod
    def from_arrays(
        cls,
        X: Any,
        y: Any,
        *,
        name: str = "data",
        scale: str | None = None,
        seed: int = 0,
        shares: Sequence[float] = SHARES,
    ) -> "Problem":
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
    def unsplit(cls, X: Any, y: Any, name: str) -> "Problem":
        """A problem from arrays or frames whose rows are not split and not scaled yet."""
        shape, table = None, X
        if getattr(X, "ndim", 2) in (3, 4):
            images = np.asarray(X)
            require(images.dtype.kind in "buif", f"{name}: images must be numbers, got values of type {images.dtype}")
            require(images.size > 0, f"{name}: there are no images, X has shape {images.shape}")
            images = as_pixels(channels_first(images, f"{name}: images"), f"{name}: images")
            shape, table = images.shape[1:], images.reshape(len(images), -1)
        table = number_table(table, name)
        codes, classes = encode_classes(label_array(y, len(table)), f"{name}: label")
        columns = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        return cls(name, table, codes, classes, {}, Scaler("none"), columns, image_shape=shape, source=X)

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
        if test is None:
            rows = split(len(self), shares, seed, self.y)
        else:
            rest = np.setdiff1d(np.arange(len(self)), test)
            rows = (*(rest[part] for part in split(len(rest), (5 / 6, 1 / 6), seed, self.y[rest])), test)
        parts = dict(zip(PARTS, rows, strict=True))
        return replace(self, parts=parts, official_test=test is not None)._with_scale(scale)

    def _with_scale(self, scale: str) -> "Problem":
        """The same split with a scale learned from the training rows."""
        return replace(self, scaler=Scaler.fit(Part(self, "train", self.parts["train"]).X, scale))

    def _part(self, name: str) -> Part:
        """A part of the split, if students can be trained and compared: every class must be in every part."""
        for other, rows in self.parts.items():
            absent = np.setdiff1d(np.arange(len(self.classes)), self.y[rows])
            if len(absent):
                rare, count = self.classes[absent[0]], np.count_nonzero(self.y == absent[0])
                remedy = f", or leave it out with `leave_out` '{rare}'" if len(self.classes) > 2 else ""
                raise InputError(
                    f"'{self.name}': class '{rare}' has {count} row{'s' if count != 1 else ''}, too few for one in "
                    f"each part ({other} has none); collect more{remedy}"
                )
        part = Part(self, name, self.parts[name])
        varies = name != "train" or bool((part.X.min(axis=0) < part.X.max(axis=0)).any())
        require(varies, f"'{self.name}' has only constant input columns: nothing can be learned from them")
        return part

    def __len__(self) -> int:
        return len(self.y)

    def __str__(self) -> str:
        sizes = ", ".join(f"{len(rows):,} {part}" for part, rows in self.parts.items())
        classes = ", ".join(self.classes) if len(self.classes) <= 10 else f"{len(self.classes)} of them"
        return f"{self.name}: {self.X.shape[1]} inputs, classes {classes}; rows: {sizes}; {self.scaler}"

    def __repr__(self) -> str:
        return f"<Problem {self}>"

    @cached_property
    def train(self) -> Part:
        """The rows that students and teachers learn from."""
        return self._part("train")

    @cached_property
    def validation(self) -> Part:
        """The rows that settings are chosen with."""
        return self._part("validation")

    @cached_property
    def test(self) -> Part:
        """The rows that results are measured on."""
        return self._part("test")

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

    @property
    def has_images(self) -> bool:
        """Whether the inputs are images."""
        return self.image_shape is not None

    @property
    def images(self) -> np.ndarray:
        """All images with pixels in [0, 1], float32 (n, channels, height, width)."""
        return self.pixels(self.X)

    def as_images(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d) like those of this problem as images (n, channels, height, width), values unchanged."""
        if self.image_shape is None:
            raise InputError(
                f"'{self.name}' has no images: load a data set of images, an NPZ file with images and labels, a folder "
                "of class folders, or arrays (n, height, width), (n, channels, height, width) or "
                "(n, height, width, channels)"
            )
        if not self.channels_last:
            return X.reshape(len(X), *self.image_shape)
        channels, height, width = self.image_shape
        return X.reshape(len(X), height, width, channels).transpose(0, 3, 1, 2)

    def pixels(self, X: np.ndarray) -> np.ndarray:
        """Rows (n, d) like those of this problem as images (n, channels, height, width) with pixels in [0, 1]."""
        images = self.as_images(X)
        return images if self._pixel_range == 1 else images / np.float32(self._pixel_range)

    @cached_property
    def _pixel_range(self) -> int:
        """The value of a white pixel: 1, or 255 where all values are integers."""
        low, high = float(self.X.min()), float(self.X.max())
        integers = high > 1 and bool((np.round(self.X) == self.X).all())
        require(
            low >= 0 and high <= (255 if integers else 1),
            f"'{self.name}': pixels must be integers from 0 to 255 or fractions from 0 to 1, got {low:g} to {high:g}",
        )
        return 255 if integers else 1

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
            source=None if self.source is None else _take(self.source, kept),
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


def without_evaluation_rows(problem: Problem, rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Unlabeled rows (u, d) that are not validation or test rows of the problem, and how many were removed."""
    new = ~meets(rows, np.concatenate([problem.validation.X, problem.test.X]))
    require(bool(new.any()), "every unlabeled row is a validation or test row of the data: provide other rows")
    return rows[new], int((~new).sum())


def _take(source: Any, rows: np.ndarray) -> Any:
    """These rows of a user's array or frame."""
    if hasattr(source, "iloc"):
        return source.iloc[rows]
    return source[rows] if hasattr(source, "shape") else np.asarray(source)[rows]
