"""Writes the models in `files/`, with the probabilities that their own libraries predict for a few rows.

Run it in an environment with lightgbm, xgboost, catboost, onnxmltools, skl2onnx and scikit-learn:
`python tests/teachers/make_onnx_files.py`. The tests read the files alone. The tables are scikit-learn's breast cancer
(two classes) and wine (three classes), five columns of each, with missing values in every seventh row.
"""

import json
from pathlib import Path

import numpy as np
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from onnxmltools import convert_lightgbm, convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_breast_cancer, load_wine
from xgboost import XGBClassifier

FILES = Path(__file__).parent / "files"
TABLES = {"breast-cancer": load_breast_cancer, "wine": load_wine}
COLUMNS, SHOWN = 5, 24


def rows_of(name):
    """Inputs with gaps (n, 5) float32 and class numbers."""
    X, y = TABLES[name](return_X_y=True)
    X = X[:, :COLUMNS].astype(np.float32)
    X[::7, 1] = np.nan
    return X, y


def write(model, name, table, X, content=None):
    """A model and what it predicts for some rows of its table."""
    if content is not None:
        (FILES / f"{name}.onnx").write_bytes(content)
    shown = np.linspace(0, len(X) - 1, SHOWN).astype(int)
    expected = {
        "table": table, "rows": shown.tolist(), "classes": [str(c) for c in model.classes_],
        "probabilities": np.round(model.predict_proba(X[shown]).astype(float), 7).tolist(),
    }  # fmt: skip
    (FILES / f"{name}.json").write_text(json.dumps(expected) + "\n")


def main():
    FILES.mkdir(exist_ok=True)
    kinds = [("X", FloatTensorType([None, COLUMNS]))]
    for table in TABLES:
        X, y = rows_of(table)
        few = {"n_estimators": 6, "max_depth": 2}
        lightgbm = LGBMClassifier(**few, min_child_samples=5, verbose=-1, random_state=0).fit(X, y)
        for zipmap in (True, False):
            content = convert_lightgbm(lightgbm, initial_types=kinds, zipmap=zipmap, target_opset=15)
            name = f"lightgbm-{table}" + ("" if zipmap else "-plain")
            write(lightgbm, name, table, X, content.SerializeToString())
        xgboost = XGBClassifier(**few, random_state=0).fit(X, y)
        content = convert_xgboost(xgboost, initial_types=kinds, target_opset=15)
        write(xgboost, f"xgboost-{table}", table, X, content.SerializeToString())
        catboost = CatBoostClassifier(iterations=6, depth=2, verbose=False, random_seed=0, allow_writing_files=False)
        catboost.fit(X, y)
        catboost.save_model(str(FILES / f"catboost-{table}.onnx"), format="onnx")
        write(catboost, f"catboost-{table}", table, X)
    X, y = rows_of("wine")
    named = np.array(["barolo", "grignolino", "barbera"])[y]
    lightgbm = LGBMClassifier(n_estimators=6, max_depth=2, min_child_samples=5, verbose=-1, random_state=0)
    lightgbm.fit(X, named)
    content = convert_lightgbm(lightgbm, initial_types=kinds, zipmap=True, target_opset=15)
    write(lightgbm, "lightgbm-names", "wine", X, content.SerializeToString())
    catboost = CatBoostClassifier(iterations=6, depth=2, verbose=False, random_seed=0, allow_writing_files=False)
    catboost.fit(X, named)
    catboost.save_model(str(FILES / "catboost-names.onnx"), format="onnx")
    write(catboost, "catboost-names", "wine", X)


if __name__ == "__main__":
    main()
