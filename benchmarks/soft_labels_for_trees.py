"""How trees learn soft labels: weighted copies of rows, or regressors on the teacher's logits.

    copies      each row once for every class k with weight p_k, for a classifier (temperature 1, 2 or 4, chosen)
    logits      regressors on the teacher's logits, one output (or one model) for each class

Both have the same size and the same seeds, and one temperature is fitted on validation rows for both. Accuracy and log
loss are those of validation rows, since a method is chosen by them. The students of `verdict` and `plan` use the better
one. Run `python -m benchmarks.soft_labels_for_trees [--seeds N]`.
"""

import argparse
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.measure import write
from softlabel.data.problem import Problem
from softlabel.lab.scores import example_scores
from softlabel.studies.students.calibration import fit_temperature
from softlabel.studies.students.families.copies import weighted_copies
from softlabel.studies.students.families.scikit import model_logits
from softlabel.studies.students.taught_problem import TaughtProblem
from softlabel.teachers.sources import query_teacher

TABLES = {"digits": load_digits, "breast cancer": load_breast_cancer, "wine": load_wine}
TEMPERATURES = (1.0, 2.0, 4.0)
METHODS = ("copies", "copies at 1", "logits")
LEARNERS = ("tree", "boosted-trees", "forest")
LARGEST = 12.0  # logits of a sure teacher are cut here, so that they do not outweigh all others


def classifier(learner: str, seed: int) -> Any:
    """A small classifier."""
    if learner == "tree":
        return DecisionTreeClassifier(max_leaf_nodes=16, max_features=0.8, random_state=seed)
    if learner == "forest":
        return RandomForestClassifier(20, max_depth=10, bootstrap=False, random_state=seed)
    return HistGradientBoostingClassifier(
        max_iter=20, max_leaf_nodes=15, max_features=0.5, early_stopping=False, random_state=seed
    )


def regressors(learner: str, seed: int, outputs: int) -> list[Any]:
    """Regressors of the same size: one for all outputs, or one for each."""
    if learner == "tree":
        return [DecisionTreeRegressor(max_leaf_nodes=16, max_features=0.8, random_state=seed)]
    if learner == "forest":
        return [RandomForestRegressor(20, max_depth=10, bootstrap=False, max_features="sqrt", random_state=seed)]
    return [
        HistGradientBoostingRegressor(
            max_iter=20, max_leaf_nodes=15, max_features=0.5, early_stopping=False, random_state=seed
        )
        for _ in range(outputs)
    ]


def by_copies(problem: TaughtProblem, learner: str, seed: int, temperature: float) -> np.ndarray:
    """Validation logits of a classifier that learned from weighted copies."""
    targets = softmax(problem.train.logits / temperature, axis=1)
    rows, classes, weights = weighted_copies(targets, problem.train.X.shape[1], seed)
    model = classifier(learner, seed).fit(problem.train.X[rows], classes, sample_weight=weights)
    return model_logits(model, problem.validation.X)


def by_logits(problem: TaughtProblem, learner: str, seed: int) -> np.ndarray:
    """Validation logits of regressors on the teacher's logits."""
    logits = problem.train.logits - problem.train.logits.mean(axis=1, keepdims=True)
    logits = np.clip(logits, -LARGEST, LARGEST)
    if logits.shape[1] == 2:
        logits = logits[:, 1:] - logits[:, :1]
    models = regressors(learner, seed, logits.shape[1])
    if len(models) == 1:
        predicted = models[0].fit(problem.train.X, logits.squeeze()).predict(problem.validation.X)
        predicted = predicted.reshape(len(predicted), -1)
    else:
        predicted = np.stack(
            [model.fit(problem.train.X, logits[:, k]).predict(problem.validation.X) for k, model in enumerate(models)],
            axis=1,
        )
    return np.concatenate([np.zeros_like(predicted), predicted], axis=1) if predicted.shape[1] == 1 else predicted


def scores(logits: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss after calibration."""
    probabilities = softmax(logits / fit_temperature(logits, truth), axis=1)
    accuracy, negative = (example_scores(metric, probabilities, truth).mean() for metric in ("accuracy", "log loss"))
    return float(accuracy), float(-negative)


def compared(table: str, learner: str, problem: TaughtProblem, seeds: int) -> dict[str, Any]:
    """Means over seeds of both methods; copies at the temperature with the best mean log loss."""
    truth = problem.validation.y
    copies = {
        heat: np.mean([scores(by_copies(problem, learner, seed, heat), truth) for seed in range(seeds)], axis=0)
        for heat in TEMPERATURES
    }
    heat = min(copies, key=lambda each: copies[each][1])
    logits = np.mean([scores(by_logits(problem, learner, seed), truth) for seed in range(seeds)], axis=0)
    return {
        "table": table, "learner": learner, "seeds": seeds, "temperature": heat,
        "copies": named(copies[heat]), "copies at 1": named(copies[1.0]), "logits": named(logits),
    }  # fmt: skip


def named(pair: np.ndarray) -> dict[str, float]:
    """Accuracy and log loss by name."""
    return {"accuracy": float(pair[0]), "log_loss": float(pair[1])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    words = parser.parse_args()
    rows = []
    print(f"{'':<30}{'copies':>16}{'copies, T = 1':>18}{'logits':>16}   accuracy, log loss on validation rows")
    for table, load in TABLES.items():
        X, y = load(return_X_y=True)
        problem = Problem.from_arrays(X.astype(np.float32), y, scale="standard")
        with_teacher = TaughtProblem.from_predictions(problem, query_teacher(problem, "auto"))
        for learner in LEARNERS:
            row = compared(table, learner, with_teacher, words.seeds)
            rows.append(row)
            pairs = [f"{row[name]['accuracy']:.4f} {row[name]['log_loss']:.4f}" for name in METHODS]
            print(f"{table:<15}{learner:<15}{pairs[0]:>16}{pairs[1]:>18}{pairs[2]:>16}", flush=True)
    write("soft_labels_for_trees", {"rows": rows})


if __name__ == "__main__":
    main()
