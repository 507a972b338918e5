"""Number of parameters of a fitted model."""

from typing import Any

import numpy as np


def fitted_parameters(model: Any) -> int | None:
    """Number of parameters of a fitted classifier; None if its type is unknown.

    Linear models and neural networks: coefficients and intercepts. Trees and forests: a threshold for every split and
    a value for every class of every leaf. Boosted trees of scikit-learn: a threshold for every split and a value for
    every leaf. A pipeline or a search counts as its final classifier.
    """
    try:
        return _count(model)
    except (AttributeError, TypeError, ValueError, IndexError):  # its attributes are not what their names suggest
        return None


def _count(model: Any) -> int | None:
    if hasattr(model, "best_estimator_"):
        return _count(model.best_estimator_)
    if hasattr(model, "steps"):
        return _count(model.steps[-1][1])
    if hasattr(model, "model_") and hasattr(model.model_, "network"):  # TwoLayerClassifier
        return int(model.model_.network.parameters)
    if hasattr(model, "student_"):  # DistilledClassifier
        return _count(model.student_)
    if hasattr(model, "coefs_"):
        return sum(int(np.size(part)) for part in (*model.coefs_, *model.intercepts_))
    if hasattr(model, "coef_"):
        return int(np.size(model.coef_) + np.size(model.intercept_))
    if hasattr(model, "_predictors"):  # histogram gradient boosting
        return sum(2 * tree.get_n_leaf_nodes() - 1 for stage in model._predictors for tree in stage)
    if hasattr(model, "tree_"):
        leaves = int(model.tree_.n_leaves)
        return int(model.tree_.node_count) - leaves + leaves * int(np.prod(model.tree_.value.shape[1:]))
    if hasattr(model, "estimators_"):
        counts = [_count(part) for part in np.ravel(np.array(model.estimators_, dtype=object)).tolist()]
        return None if any(count is None for count in counts) else sum(count or 0 for count in counts)
    return None
