"""Conditions under which hard and soft labels are compared, and how students are trained."""

from typing import ClassVar, Literal, Self

from pydantic import Field, PositiveFloat, model_validator

from softlabel.lab import Settings
from softlabel.networks.initialization import check_init
from softlabel.studies.conditions.problem import check_condition_data
from softlabel.studies.paper_settings import PaperSettings


class ConditionTeacher(Settings):
    """The teacher of a condition, trained on hard labels.

    width       neurons of each hidden layer; None: infinitely many, kernel regression with K_1
    depth       hidden layers
    members     networks whose logits are averaged
    """

    width: int | None = Field(default=512, ge=1)
    depth: int = Field(default=1, ge=1)
    members: int = Field(default=1, ge=1)

    @model_validator(mode="after")
    def _limit(self) -> Self:
        if self.width is None and (self.depth, self.members) != (1, 1):
            raise ValueError("a teacher of infinite `width` has `depth` 1 and `members` 1")
        return self


class Condition(Settings):
    """One situation in which students learn from hard and from soft labels.

    name            how tables and figures call it
    position        number along the axis of the study; None: the conditions have no order
    data            a named data set, or "breast-cancer" or "wine" of scikit-learn
    task            rule that makes two classes; None: all classes that are left
    leave_out       classes that are left out
    rows            training and validation rows, drawn anew for every seed; None: all
    label_noise     share of the training and validation labels that are replaced by another class
    width           neurons of the students
    init, radius    initialization, and radius of the projection; None: no projection
    teacher         the teacher
    settings_of     condition whose chosen settings are used; None: they are chosen for this condition
    """

    name: str
    position: float | None = None
    data: str = "mnist"
    task: str | None = "label>4"
    leave_out: tuple[str, ...] = ()
    rows: int | None = Field(default=None, ge=20)
    label_noise: float = Field(default=0.0, ge=0, lt=1)
    width: int = Field(default=8, ge=1)
    init: str = "symmetric"
    radius: PositiveFloat | None = None
    teacher: ConditionTeacher = ConditionTeacher()
    settings_of: str | None = None

    @property
    def rows_only(self) -> "Condition":
        """What concerns its rows alone: conditions may share teachers and margins."""
        return Condition(name="", data=self.data, task=self.task, leave_out=self.leave_out, rows=self.rows,
                         label_noise=self.label_noise)  # fmt: skip

    @property
    def inputs(self) -> tuple[object, ...]:
        """What the training rows depend on: conditions that agree in it can be trained together."""
        return (self.data, self.task, self.leave_out, self.rows, self.label_noise)

    @property
    def test_rows(self) -> tuple[object, ...]:
        """What the test rows depend on."""
        return (self.data, self.task, self.leave_out)


class ConditionRecipe(Settings):
    """How students are trained, and the settings from which each arm chooses on validation data.

    Both arms choose from the same number of settings. Soft labels are softened relative to their teacher: a label scale
    of s divides the teacher's logits by the temperature at which their root mean square is s.
    """

    optimizer: Literal["gradient", "adam"] = "gradient"
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    train_output: bool = False
    biases: bool = False
    iterations: int = Field(ge=1)
    batch_size: int = Field(default=128, ge=1)
    checks: int = Field(default=20, ge=1)
    label_scales: tuple[PositiveFloat, ...] = Field(min_length=1)
    soft_learning_rates: tuple[PositiveFloat, ...] = Field(min_length=1)
    hard_learning_rates: tuple[PositiveFloat, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _equal_choices(self) -> Self:
        soft, hard = len(self.label_scales) * len(self.soft_learning_rates), len(self.hard_learning_rates)
        if soft != hard:
            raise ValueError(
                f"the soft arm has {soft} settings (`label_scales` × `soft_learning_rates`), the hard arm {hard} "
                "(`hard_learning_rates`); both must have the same number"
            )
        for name in ("label_scales", "soft_learning_rates", "hard_learning_rates"):
            if len(set(values := getattr(self, name))) < len(values):
                raise ValueError(f"`{name}` must be different numbers, got {list(values)}")
        return self


class MarginsOfRows(Settings):
    """Which separation margins of training rows are certified.

    most_rows       conditions with at most this many rows
    runs            seeds, the first of the test
    work_limit      floating-point operations of each
    """

    most_rows: int = Field(ge=20)
    runs: int = Field(default=3, ge=1)
    work_limit: PositiveFloat = 1e13


class ConditionsSettings(PaperSettings):
    """Settings of a study of conditions.

    Parameters
    ----------
    data : str
        The data set of most conditions, for citations.
    conditions : tuple of Condition
        The conditions.
    recipe : ConditionRecipe
        How students are trained.
    tuning_seeds : int
        Number of seeds with which settings are chosen.
    teacher_epochs : int
        Maximum number of epochs of the teachers.
    margins : MarginsOfRows or None
        Separation margins that are certified beside the training; conditions with two classes only.
    runs, seed : int
        Number of seeds of the test, and the first of them.
    confidence : float
        Confidence of the intervals.
    equivalence : float
        A gap within ± this number of percentage points does not matter.
    """

    one_data_set: ClassVar[bool] = False

    data: str = "mnist"
    conditions: tuple[Condition, ...] = Field(min_length=1)
    recipe: ConditionRecipe
    tuning_seeds: int = Field(default=3, ge=1)
    teacher_epochs: int = Field(default=12, ge=1)
    margins: MarginsOfRows | None = None
    equivalence: float = Field(default=0.5, ge=0)

    @model_validator(mode="after")
    def _conditions(self) -> Self:
        names = [condition.name for condition in self.conditions]
        if len(set(names)) < len(names):
            raise ValueError(f"conditions must have different names, got {names}")
        for condition in self.conditions:
            check_init(condition.init, condition.width)
            if self.margins is not None and condition.task is None:
                raise ValueError(f"`margins` needs two classes: set a `task` for condition '{condition.name}'")
            source = condition.settings_of
            if source is not None and (source not in names or self.condition(source).settings_of is not None):
                raise ValueError(
                    f"condition '{condition.name}': `settings_of` must name a condition that chooses its own settings, "
                    f"got '{source}'"
                )
        return self

    def condition(self, name: str) -> Condition:
        """The condition of this name."""
        return next(condition for condition in self.conditions if condition.name == name)

    def check_data(self) -> None:
        """Raise unless the data of every condition are available, with enough rows of every class."""
        for condition in {each.inputs: each for each in self.conditions}.values():
            check_condition_data(condition)
