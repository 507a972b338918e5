"""Every family keeps the contract that ships with the package, and the contract notices families that do not."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier

from softlabel.studies.students.families import FAMILIES, FamilyStudent
from softlabel.studies.students.families.scikit import TreeFamily
from softlabel.testing import check_student_family

EPOCHS = {"two-layer": 4, "vgg": 2, "resnet": 2}


def small_network(seed):
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


def network_of_size(seed, size):
    return torch.nn.Sequential(torch.nn.Linear(5, size), torch.nn.Tanh(), torch.nn.Linear(size, 3))


@pytest.mark.parametrize("name", FAMILIES)
def test_registered_families_keep_the_contract(name):
    check_student_family(lambda: name, epochs=EPOCHS.get(name))


@pytest.mark.parametrize(
    "estimator",
    [GaussianNB(), ExtraTreesClassifier(8), MLPClassifier((8,), max_iter=20), GradientBoostingClassifier()],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_estimators_of_users_keep_the_contract(estimator):
    check_student_family(lambda: estimator)


def lazy_network(seed):
    return torch.nn.Sequential(torch.nn.LazyLinear(8), torch.nn.ReLU(), torch.nn.Linear(8, 3))


@pytest.mark.parametrize("factory", [small_network, network_of_size, lazy_network])
def test_torch_modules_keep_the_contract(factory):
    check_student_family(lambda: factory, epochs=3)


class UnequalBudgets(TreeFamily):
    def choices(self, recipe, arm):
        return super().choices(recipe, arm)[: 1 if arm == "hard" else None]


class RandomFamily(TreeFamily):
    def estimator(self, cell):
        return super().estimator(cell).set_params(random_state=np.random.default_rng().integers(1 << 30))


class AnySize(TreeFamily):
    def check(self, size, problem):
        pass


class LyingParameters(TreeFamily):
    def count(self, model):
        return 1000 - super().count(model)


class CompanyMatters(TreeFamily):
    def train(self, problem, recipe, cells):
        moved = [cell.model_copy(update={"seed": cell.seed + len(cells)}) for cell in cells]
        students = super().train(problem, recipe, moved)
        return [
            FamilyStudent(cell, one.function, one.parameters, one.calibration, one.weights)
            for cell, one in zip(cells, students, strict=True)
        ]


class NotCalibrated(TreeFamily):
    def train(self, problem, recipe, cells):
        return [
            FamilyStudent(one.cell, lambda X, f=one.function: 30 * f(X), one.parameters, 1 / 30, one.weights)
            for one in super().train(problem, recipe, cells)
        ]


class OtherFiles(TreeFamily):
    def export(self, problem, cell, weights, folder, name):
        (other,) = self.train(problem, self.recipe(10, None, None, False), [cell.model_copy(update={"width": 9})])
        return super().export(problem, cell, other.weights(), Path(folder), name)


@pytest.mark.parametrize(
    ("family", "message"),
    [
        (UnequalBudgets, "equally many"),
        (RandomFamily, "same seed"),
        (AnySize, "must be refused"),
        (LyingParameters, "at least as many parameters"),
        (CompanyMatters, "company"),
        (NotCalibrated, "calibration"),
        (OtherFiles, "differs from the student"),
    ],
)
def test_the_contract_notices(family, message):
    with pytest.raises(AssertionError, match=message):
        check_student_family(family)
