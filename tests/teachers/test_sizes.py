"""Parameters of fitted models, counted by hand."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import softlabel as sl
from softlabel.teachers.sizes import fitted_parameters

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 0] > 1)


@pytest.mark.parametrize(
    ("model", "count"),
    [
        (LogisticRegression(), 3 * 5),
        (make_pipeline(StandardScaler(), LogisticRegression()), 3 * 5),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), 3 * 5),
        (MLPClassifier((6,), max_iter=1), 6 * 5 + 3 * 7),
        (DecisionTreeClassifier(max_depth=1), 1 + 2 * 3),
        (RandomForestClassifier(4, max_depth=1, random_state=0), 4 * 7),
        (HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=3), 2 * 3 * 5),
        (sl.TwoLayerClassifier(4, epochs=1), 4 * 5 + 3 * 5),
        (GaussianNB(), None),
    ],
)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_counts(model, count):
    assert fitted_parameters(model.fit(X, Y)) == count


def test_strange_objects_have_no_count():
    class Strange:
        estimators_ = 3
        steps = None

    assert fitted_parameters(Strange()) is None
    assert fitted_parameters(object()) is None
