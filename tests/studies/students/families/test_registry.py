"""What a user may call a student, and what is refused."""

import pickle

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from softlabel.data import Problem, load
from softlabel.errors import InputError
from softlabel.studies.students.families import FAMILIES, check_travels, family_of
from softlabel.studies.students.family_settings import FamilySettings


def linear(seed):
    return torch.nn.Linear(5, 3)


def test_names_and_other_names():
    assert set(FAMILIES) == {"two-layer", "tree", "boosted-trees", "forest", "logistic", "vgg", "resnet"}
    assert family_of("vgg2+3") is FAMILIES["vgg"]
    assert family_of("resnet8") is FAMILIES["resnet"]
    assert family_of(FAMILIES["tree"]) is FAMILIES["tree"]


def test_default_sizes_are_of_the_unit_of_the_family():
    sizes = {name: (family.size, family.unit) for name, family in FAMILIES.items()}
    assert sizes == {
        "two-layer": (32, "neurons"), "tree": (16, "leaves"), "boosted-trees": (20, "boosting rounds"),
        "forest": (20, "trees"), "logistic": (1, "model"), "vgg": (16, "channels"), "resnet": (8, "channels"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("student", "message"),
    [
        ("tre", "unknown student 'tre': did you mean 'tree'"),
        (KNeighborsClassifier(), "takes no `sample_weight`"),
        (KMeans(), "must be a classifier"),
        (SGDClassifier(), "predicts no probabilities"),
        (torch.nn.Linear(5, 3), "function of a seed"),
        (torch.nn.Linear, "function of a seed"),
        (3, "function of a seed"),
        (lambda seed: "network", "returns a torch module, got str"),
    ],
)
def test_other_students_are_refused(student, message):
    with pytest.raises(InputError, match=message):
        family_of(student)


@pytest.mark.parametrize(
    ("estimator", "parameter", "tuned"),
    [
        (ExtraTreesClassifier(7), "n_estimators", ""),
        (DecisionTreeClassifier(), "max_leaf_nodes", ""),
        (HistGradientBoostingClassifier(), "max_iter", "learning_rate"),
        (LogisticRegression(C=2.0), None, "C"),  # its `max_iter` is no size
    ],
)
def test_an_estimator_has_the_size_that_its_parameter_is(estimator, parameter, tuned):
    family = family_of(estimator)
    assert (family.parameter, family.setting) == (parameter, tuned)
    assert (len(family.ladder) > 1) == (parameter is not None)
    rebuilt = family_of(family.name)  # as a run's settings name it
    assert (rebuilt.parameter, rebuilt.unit, rebuilt.ladder) == (family.parameter, family.unit, family.ladder)


def test_other_settings_are_another_family():
    one, same, other = (family_of(LogisticRegression(C=c)).name for c in (1.0, 1.0, 2.0))
    assert one == same != other
    first, second = (family_of(lambda seed, d=d: torch.nn.Linear(d, 3)).name for d in (4, 5))
    assert first != second


def test_local_functions_stay_in_their_process():
    check_travels(family_of(linear), "local")
    check_travels(family_of("tree"), "dask")
    local = family_of(lambda seed: torch.nn.Linear(5, 3))
    check_travels(local, "serial")
    with pytest.raises(InputError, match="`executor` 'local' cannot send"):
        check_travels(local, "local")


def test_settings_carry_a_family_that_a_program_defined():
    family = family_of(linear)
    settings = FamilySettings(student=family.name).with_family(family)
    received = pickle.loads(pickle.dumps(settings))
    assert received.family.module(1, 0).weight.shape == (3, 5)
    assert received.key == settings.key
    stored = FamilySettings.model_validate(settings.model_dump(mode="json"))
    with pytest.raises(InputError, match="rerun the original call"):
        stored.family.module(1, 0)
    assert FamilySettings(family="vgg").student == "vgg"  # as earlier versions wrote it


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda seed: torch.nn.Linear(3, 3), r"cannot take inputs of shape \(n, 5\)"),
        (
            lambda seed: torch.nn.Linear(5, 2),
            r"one logit for each of 3 classes.*it returns shape \(2, 2\)",
        ),
        (lambda seed: torch.nn.LSTM(5, 3), "it returns tuple"),
    ],
)
def test_a_module_that_does_not_fit_is_refused_before_anything_is_trained(module, message):
    rng = np.random.default_rng(0)
    problem = Problem.from_arrays(rng.normal(size=(60, 5)), np.arange(60) % 3)
    with pytest.raises(InputError, match=message):
        family_of(module).check(1, problem)
    family_of(lambda seed: torch.nn.Linear(5, 3)).check(1, problem)


def test_a_module_for_rows_of_pixels_is_told_how_to_take_images():
    with pytest.raises(InputError, match=r"cannot take inputs of shape \(n, 1, 8, 8\).*torch\.nn\.Flatten\(\)"):
        family_of(lambda seed: torch.nn.Linear(64, 10)).check(1, load("digits"))
