"""Students that are copies of a user's own scikit-learn classifier."""

import hashlib
import re
from typing import Any

from softlabel.errors import InputError, require
from softlabel.studies.students.families.scikit import ScikitFamily
from softlabel.studies.students.recipe import Arm, Recipe, StudentCell

SIZES = ("n_estimators", "max_iter", "max_leaf_nodes", "hidden_layer_sizes")
UNITS = {"n_estimators": "trees", "max_iter": "boosting rounds", "max_leaf_nodes": "leaves",
         "hidden_layer_sizes": "neurons"}  # fmt: skip
PENALTIES = ("learning_rate", "C", "alpha", "l2_regularization", "min_weight_fraction_leaf", "var_smoothing")
FACTORS = (1.0, 0.3, 3.0, 10.0)


class EstimatorFamily(ScikitFamily):
    """Clones of an estimator with `random_state` set to the seed, and its size parameter (if it has one) to the size.

    The hard arm chooses among multiples of the estimator's own learning rate or penalty, the soft arm among as many
    temperatures. An estimator without such a parameter is used as it is: each arm has one setting.
    """

    def __init__(self, estimator: Any, title: str) -> None:
        self.original, self.name = estimator, title
        parameters = {} if estimator is None else estimator.get_params(deep=False)
        named = re.fullmatch(r"sklearn:\w+\((\w+)\)-.*", title)
        self.parameter = named[1] if named else _size_parameter(parameters)
        self.unit = UNITS.get(self.parameter or "", "model")
        own = parameters.get(self.parameter) if self.parameter else 1
        self.size = _count(own) or (16 if self.parameter else 1)
        self.ladder = (2, 4, 8, 16, 32, 64, 128) if self.parameter else (1,)
        self.least = 2 if self.parameter == "max_leaf_nodes" else 1
        self.setting = next((name for name in PENALTIES if _number(parameters.get(name))), "")
        self.values = tuple(factor * float(parameters[self.setting]) for factor in FACTORS) if self.setting else ()

    @classmethod
    def from_estimator(cls, estimator: Any) -> "EstimatorFamily":
        """The family of an estimator, which must take sample weights and predict probabilities."""
        from sklearn.base import is_classifier
        from sklearn.utils.validation import has_fit_parameter

        name = type(estimator).__name__
        require(is_classifier(estimator), f"`student` must be a classifier, got {name}")
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InputError(
                f"`student` {name} takes no `sample_weight`, so it cannot learn soft labels: use a classifier whose "
                "`fit` takes it"
            )
        require(hasattr(estimator, "predict_proba"), f"`student` {name} predicts no probabilities: use another one")
        digest = hashlib.sha256(repr(sorted(estimator.get_params().items())).encode()).hexdigest()[:8]
        size = _size_parameter(estimator.get_params(deep=False))
        return cls(estimator, f"sklearn:{name}{f'({size})' if size else ''}-{digest}")

    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        recipe = super().recipe(rows, epochs, batch_size, search_radius)
        return recipe if self.values else recipe.model_copy(update={"temperatures": (1.0,), "smoothings": (0.1,)})

    def choices(self, recipe: Recipe, arm: Arm) -> list[dict[str, Any]]:
        if recipe.settings:
            return super().choices(recipe, arm)
        return [{"smoothing": recipe.smoothings[0]} if arm == "smooth" else {}]

    def estimator(self, cell: StudentCell) -> Any:
        from sklearn.base import clone

        if self.original is None:
            raise InputError(
                f"the students '{self.name}' of this run are copies of an object of the program that started it: rerun "
                "the original call"
            )
        changed: dict[str, Any] = {}
        if self.parameter is not None:
            changed[self.parameter] = (cell.width,) if self.parameter == "hidden_layer_sizes" else cell.width
        if "random_state" in self.original.get_params(deep=False):
            changed["random_state"] = cell.seed
        if self.setting and cell.setting is not None:
            changed[self.setting] = cell.setting
        copy: Any = clone(self.original)
        return copy.set_params(**changed)


def _size_parameter(parameters: dict[str, Any]) -> str | None:
    """The parameter that is a size: `max_iter` is one of boosting alone, for others it limits the optimization."""
    boosting = {"max_iter", "max_bins"} <= set(parameters)
    return next((name for name in SIZES if name in parameters and (name != "max_iter" or boosting)), None)


def _count(value: Any) -> int | None:
    if isinstance(value, tuple | list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 1 else None


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value > 0
