"""AutoGluon's distilled students, and small models of scikit-learn and LightGBM, on one split of one table.

    PYTHON benchmarks/rival_students.py TRAIN.csv TEST.csv OUT.json --label COLUMN --seed 0 --time-limit 60

PYTHON is of an environment with benchmarks/rival_requirements.txt; `benchmarks.distillers` calls this file, which
imports nothing of softlabel. All rivals get the rows as the file has them, in memory as a data frame, and are timed
from there to probabilities.
"""

import argparse
import json
import logging
import pickle
import random
import shutil
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

PATIENCE = 0.5  # seconds of repetitions for one latency


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("train", type=Path)
    parser.add_argument("test", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--label", required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--time-limit", type=float, default=60, help="seconds of fit, and again of distill")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    random.seed(arguments.seed)
    np.random.seed(arguments.seed)  # noqa: NPY002 (of AutoGluon's augmentation)
    train, test = (pd.read_csv(path) for path in (arguments.train, arguments.test))
    for frame in (train, test):
        frame[arguments.label] = frame[arguments.label].astype(str)
    rivals = [
        *small_models(train, test, arguments.label, arguments.seed),
        *autogluon_students(train, test, arguments.label, arguments.time_limit),
    ]
    arguments.out.write_text(json.dumps(rivals, indent=1))


def measured(name, probabilities_of, classes, test, label, size, **more):
    """Accuracy, log loss and latency of a model, and its size in bytes."""
    inputs = test.drop(columns=label)
    probabilities = np.asarray(probabilities_of(inputs), dtype=np.float64)
    position = {one: k for k, one in enumerate(classes)}
    truth = np.array([position[one] for one in test[label]])
    own = np.maximum(probabilities[np.arange(len(truth)), truth], np.finfo(np.float64).eps)
    thousand = inputs.iloc[np.arange(1000) % len(inputs)].reset_index(drop=True)
    return {
        "name": name,
        "accuracy": float((probabilities.argmax(1) == truth).mean()),
        "log_loss": float(-np.log(own).mean()),
        "bytes": size,
        "milliseconds": latency(lambda: probabilities_of(inputs.iloc[:1])),
        "milliseconds_thousand": latency(lambda: probabilities_of(thousand)),
        **more,
    }


def latency(run):
    """Best time of repeated calls, in milliseconds."""
    run()
    best, until = float("inf"), time.perf_counter() + PATIENCE
    while time.perf_counter() < until or best == float("inf"):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return 1000 * best


def small_models(train, test, label, seed):
    """Models on hard labels with sizes that their users would call small."""
    from lightgbm import LGBMClassifier
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    models = {
        "scikit-learn: logistic regression": LogisticRegression(max_iter=1000),
        "scikit-learn: tree, 31 leaves": DecisionTreeClassifier(max_leaf_nodes=31, random_state=seed),
        "scikit-learn: boosted trees, 30 × 8 leaves": HistGradientBoostingClassifier(
            max_iter=30, max_leaf_nodes=8, learning_rate=0.2, early_stopping=False, random_state=seed
        ),
        "LightGBM: 30 × 8 leaves": LGBMClassifier(
            n_estimators=30, num_leaves=8, learning_rate=0.2, random_state=seed, n_jobs=1, verbose=-1
        ),
    }
    for name, model in models.items():
        encoder = make_column_transformer(
            (
                make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler()),
                make_column_selector(dtype_include="number"),
            ),
            (
                OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=30, sparse_output=False),
                make_column_selector(dtype_exclude="number"),
            ),
        )
        began = time.perf_counter()
        pipeline = make_pipeline(encoder, model).fit(train.drop(columns=label), train[label])
        seconds = time.perf_counter() - began
        classes = list(pipeline.classes_)
        size = len(pickle.dumps(pipeline))
        yield measured(name, pipeline.predict_proba, classes, test, label, size, seconds=seconds, kind="small model")


def autogluon_students(train, test, label, time_limit):
    """The teacher of AutoGluon, and every student that `distill` makes of it with its default augmentation."""
    from autogluon.tabular import TabularPredictor

    logging.getLogger("autogluon").setLevel(logging.ERROR)
    folder = Path(tempfile.mkdtemp(prefix="autogluon-"))
    families = ("GBM", "CAT", "RF", "XT", "NN_TORCH")
    try:
        began = time.perf_counter()
        predictor = TabularPredictor(label, path=str(folder / "all"), eval_metric="accuracy", verbosity=0).fit(
            train, time_limit=time_limit, num_cpus=1, num_gpus=0, dynamic_stacking=False,
            calibrate_decision_threshold=False,
            hyperparameters={family: {} for family in families},
        )  # fmt: skip
        fitted = time.perf_counter()
        best = predictor.model_best
        names = predictor.distill(time_limit=time_limit, verbosity=0)
        seconds = time.perf_counter() - fitted
        scores = predictor.leaderboard().set_index("model")["score_val"]
        for kind, name, took in [("teacher", best, fitted - began), *(("student", name, seconds) for name in names)]:
            place = folder / f"{kind}-{name}"
            clone = predictor.clone_for_deployment(str(place), model=name, return_clone=True)
            size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
            clone.persist()
            yield measured(
                f"AutoGluon: {name}", lambda rows, clone=clone: clone.predict_proba(rows), list(clone.class_labels),
                test, label, size, seconds=took, kind=f"AutoGluon {kind}",
                own_score=float(scores[name]),
            )  # fmt: skip
            clone.unpersist()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
