"""Scikit-learn classifiers as students: any that takes sample weights.

Soft labels are weighted copies of rows (`copies`) at a temperature that is chosen: trees and boosted trees then have a
smaller log loss than as regressors on the teacher's logits on all three tables of
`benchmarks/soft_labels_for_trees.py`, forests on one. At temperature 1 regressors are better on the smallest table.
"""

from abc import abstractmethod
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from softlabel.data.problem import Problem
from softlabel.errors import SoftlabelError, require
from softlabel.studies.students.calibration import expected_temperature, fit_temperature
from softlabel.studies.students.families.copies import weighted_copies
from softlabel.studies.students.families.family import REFUSED, FamilyStudent, StudentFamily
from softlabel.studies.students.families.files import onnx_probabilities, write_classifier
from softlabel.studies.students.families.scikit_onnx import SMALLEST, classifier_onnx
from softlabel.studies.students.families.tree_onnx import boosted_nodes, center_thresholds, tree_nodes
from softlabel.studies.students.recipe import Arm, Recipe, StudentCell
from softlabel.studies.students.taught_problem import TaughtProblem

TOLERANCE = 1e-4  # largest allowed difference between a probability of the student and of its ONNX model


class ScikitFamily(StudentFamily):
    """Students that are scikit-learn classifiers, each trained alone.

    values      (first, other ones) of the family's own hyperparameter: soft arms choose among the first two, the hard
                arm among all of them
    """

    temperatures: ClassVar[tuple[float, ...]] = (0.5, 1.0, 2.0, 4.0)
    smoothings: ClassVar[tuple[float, ...]] = (0.05, 0.1, 0.2, 0.02)
    values: tuple[float, ...] = ()
    least = 1
    bundle = 64.0

    @abstractmethod
    def estimator(self, cell: StudentCell) -> Any:
        """The untrained classifier of a cell."""

    def recipe(self, rows: int, epochs: int | None, batch_size: int | None, search_radius: bool) -> Recipe:
        for name, value in (("epochs", epochs), ("batch_size", batch_size)):
            require(value is None, f"`{name}` does not apply to students of the family '{self.name}': leave it out")
        require(not search_radius, f"`search_radius` does not apply to students of the family '{self.name}'")
        return Recipe(
            epochs=1, batch_size=max(rows, 1), learning_rates=(), temperatures=self.temperatures,
            smoothings=self.smoothings, settings=self.values, tuning_seeds=2,
        )  # fmt: skip

    def choices(self, recipe: Recipe, arm: Arm) -> list[dict[str, Any]]:
        heats: list[dict[str, Any]] = [{"temperature": heat} for heat in recipe.temperatures]
        if arm == "smooth":
            heats = [{"smoothing": recipe.smoothings[k]} for k in range(len(heats))]
        first = recipe.settings[: len(recipe.settings) // len(recipe.temperatures)]
        if arm == "hard":
            return [{"setting": value} for value in recipe.settings]
        return [{"setting": value, **heat} for heat in heats for value in first]

    def method(self, recipe: Recipe) -> str:
        return "scikit-learn; soft labels are weighted copies of rows"

    def check(self, size: int, problem: Problem) -> None:
        self.check_size(size, least=self.least)
        require(
            len(self.ladder) > 1 or size == self.size,
            f"students of the family '{self.name}' have one size, {self.size}, got {size}: leave the size out",
        )

    def threads(self, recipe: Recipe, inputs: int, sizes: int) -> int:
        return 1

    def cost(self, cell: StudentCell) -> float:
        return 1.0

    def train(self, problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
        values: dict[bool, dict[int, np.ndarray]] = {False: {}, True: {}}
        return [self._student(problem, cell, values[cell.has_more_rows]) for cell in cells]

    def _student(self, problem: TaughtProblem, cell: StudentCell, values: dict[int, np.ndarray]) -> FamilyStudent:
        extended = cell.has_more_rows
        X = problem.extended if extended else problem.train.X
        model = self.estimator(cell)
        if cell.arm == "hard":
            model.fit(X, problem.train.y)
        else:
            labels = problem.labels(extended)["soft" if cell.learns_from_teacher else "hard"]
            targets = labels.targets(cell.temperature, cell.smoothing).T
            if targets.shape[1] == 1:
                targets = np.concatenate([1 - targets, targets], axis=1)
            rows, classes, weights = weighted_copies(targets, X.shape[1], cell.seed)
            model.fit(X[rows], classes, sample_weight=weights)
        _center(model, values, X)
        rows = problem.validation
        temperature = fit_temperature(model_logits(model, rows.X), rows.y, expected_temperature(cell))
        return FamilyStudent(
            cell, lambda inputs: model_logits(model, inputs) / temperature, self.count(model), temperature,
            partial(self._weights, model, rows.X[:1024], temperature),
        )  # fmt: skip

    def _weights(self, model: Any, inputs: np.ndarray, temperature: float) -> dict[str, np.ndarray]:
        """The ONNX classifier of scaled inputs, which must agree with the student; or why there is none."""
        try:
            content = self._checked_onnx(model, inputs, temperature)
        except SoftlabelError as problem:
            return {REFUSED: np.frombuffer(str(problem).encode(), dtype=np.uint8)}
        return {"onnx": np.frombuffer(content, dtype=np.uint8), "calibration": np.array(temperature)}

    def _checked_onnx(self, model: Any, inputs: np.ndarray, temperature: float) -> bytes:
        content = classifier_onnx(model, inputs.shape[1], temperature).SerializeToString()
        logits = model_logits(model, inputs) / temperature
        ours = np.exp(logits - logits.max(axis=1, keepdims=True))
        ours /= ours.sum(axis=1, keepdims=True)
        difference = float(np.abs(ours - onnx_probabilities(content, inputs)).max())
        if not difference <= TOLERANCE:
            raise SoftlabelError(
                f"a student of the family '{self.name}' is not exported: its ONNX model differs from it by "
                f"{difference:.2g} in a probability ({TOLERANCE:g} is allowed)"
            )
        return content

    def count(self, model: Any) -> int:
        """Parameters of a fitted classifier."""
        return parameter_count_of(model)

    def export(
        self, problem: TaughtProblem, cell: StudentCell, weights: dict[str, np.ndarray], folder: Path, name: str
    ) -> dict[str, Any]:
        softening = self.softening(cell, float(weights["calibration"]))
        line = f"{self.name}, {cell.width} {self.unit}"
        return write_classifier(problem, weights["onnx"].tobytes(), folder / f"{name}.onnx", softening, line)


def model_logits(model: Any, inputs: np.ndarray) -> np.ndarray:
    """Logits (n, K) of a fitted classifier before its calibration."""
    if hasattr(model, "_raw_predict"):  # boosted trees
        raw = model.decision_function(inputs)
        return np.stack([np.zeros(len(raw)), raw], axis=1) if raw.ndim == 1 else raw
    return np.log(np.maximum(model.predict_proba(inputs), SMALLEST))


def _center(model: Any, values: dict[int, np.ndarray], X: np.ndarray) -> None:
    """Move the thresholds of trees between the training values."""
    members = [model] if hasattr(model, "tree_") else getattr(model, "estimators_", ())
    for tree in members:
        if hasattr(tree, "tree_") and hasattr(tree, "classes_"):
            center_thresholds(np.where(tree.tree_.children_left < 0, -1, tree.tree_.feature), tree.tree_.threshold,
                              values, X)  # fmt: skip
    for rounds in getattr(model, "_predictors", ()):
        for predictor in rounds:
            nodes = predictor.nodes
            center_thresholds(np.where(nodes["is_leaf"], -1, nodes["feature_idx"]), nodes["num_threshold"], values, X)


def parameter_count_of(model: Any) -> int:
    """Numbers that predictions depend on: of trees splits and leaves, otherwise the fitted arrays."""
    if hasattr(model, "_predictors"):
        trees = boosted_nodes(model)
        return sum(2 * int((tree.feature >= 0).sum()) + tree.leaves for tree in trees)
    if hasattr(model, "tree_"):
        return tree_nodes(model).parameters
    if hasattr(model, "estimators_"):
        return sum(parameter_count_of(member) for member in np.ravel(model.estimators_))
    if hasattr(model, "coefs_"):
        return sum(part.size for part in (*model.coefs_, *model.intercepts_))
    arrays = [value for name, value in vars(model).items() if name.endswith("_") and isinstance(value, np.ndarray)]
    return int(sum(array.size for array in arrays if array.dtype.kind == "f"))


class TreeFamily(ScikitFamily):
    """One decision tree; its size is the largest number of leaves. A split sees four of five columns, by the seed."""

    name, unit, size, least = "tree", "leaves", 16, 2
    ladder = (2, 4, 8, 16, 32, 64, 128, 256)
    setting = "smallest share of rows in a leaf"
    values = (0.0, 0.005, 0.001, 0.002, 0.01, 0.02, 0.03, 0.05)

    def estimator(self, cell: StudentCell) -> Any:
        from sklearn.tree import DecisionTreeClassifier

        return DecisionTreeClassifier(
            max_leaf_nodes=cell.width, max_features=0.8, min_weight_fraction_leaf=cell.setting or 0.0,
            random_state=cell.seed,
        )  # fmt: skip


class ForestFamily(ScikitFamily):
    """A random forest on all training rows, depth at most 10; its size is the number of trees."""

    name, unit, size = "forest", "trees", 20
    ladder = (1, 2, 4, 8, 16, 32, 64, 128)
    setting = "smallest share of rows in a leaf"
    values = (0.0, 0.002, 0.0005, 0.001, 0.003, 0.005, 0.01, 0.02)

    def estimator(self, cell: StudentCell) -> Any:
        from sklearn.ensemble import RandomForestClassifier

        return RandomForestClassifier(
            cell.width, max_depth=10, min_weight_fraction_leaf=cell.setting or 0.0, bootstrap=False,
            random_state=cell.seed,
        )  # fmt: skip


class BoostedTreesFamily(ScikitFamily):
    """Gradient boosting on histograms; its size is the number of rounds (one tree each, or one for each class).

    A split sees half of the columns, by the seed.
    """

    name, unit, size = "boosted-trees", "boosting rounds", 20
    ladder = (1, 2, 4, 8, 16, 32, 64, 128)
    setting = "learning rate"
    values = (0.1, 0.3, 0.03, 0.05, 0.07, 0.15, 0.2, 0.25)

    def estimator(self, cell: StudentCell) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        settings: dict[str, Any] = {"max_leaf_nodes": 15, "max_features": 0.5, "early_stopping": False}
        return HistGradientBoostingClassifier(
            max_iter=cell.width, learning_rate=cell.setting or 0.1, random_state=cell.seed, **settings
        )


class LogisticFamily(ScikitFamily):
    """Multinomial logistic regression, which has one size and no randomness: all seeds give the same student."""

    name, unit, size = "logistic", "model", 1
    ladder = (1,)
    setting = "C"
    values = (1.0, 10.0, 0.01, 0.1, 0.3, 3.0, 30.0, 100.0)

    def estimator(self, cell: StudentCell) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=cell.setting or 1.0, max_iter=1000)

    def train(self, problem: TaughtProblem, recipe: Recipe, cells: Sequence[StudentCell]) -> list[FamilyStudent]:
        trained: dict[Any, FamilyStudent] = {}
        students = []
        for cell in cells:
            key = (cell.arm, cell.choice)
            if key not in trained:
                (trained[key],) = super().train(problem, recipe, [cell])
            one = trained[key]
            students.append(FamilyStudent(cell, one.function, one.parameters, one.calibration, one.weights, one.course))
        return students
