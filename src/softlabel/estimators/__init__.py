"""Students as scikit-learn classifiers."""

from softlabel.estimators.distilled import DistilledClassifier
from softlabel.estimators.two_layer import ClassifierOptions, TwoLayerClassifier

__all__ = ["ClassifierOptions", "DistilledClassifier", "TwoLayerClassifier"]
