"""Students as scikit-learn classifiers."""

from softlabel.estimators.distilled import DistilledClassifier
from softlabel.estimators.two_layer import TwoLayerClassifier

__all__ = ["DistilledClassifier", "TwoLayerClassifier"]
