"""`softlabel.studies.predict`: models as objects, arrays as data, and what the result shows."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from softlabel.errors import InputError
from softlabel.export import load_model
from softlabel.networks.softening import Softening
from softlabel.studies.predict import predict
from tests.export.students import COLUMNS, NAMES, inputs, student


def test_models_as_objects_and_files(tmp_path):
    model, x = student(5), inputs(30, seed=4)
    model.save(tmp_path / "m.safetensors")
    path = tmp_path / "m.safetensors"
    for one in (model, load_model(path), path, str(path)):
        result = predict(one, x)
        np.testing.assert_array_equal(result.probabilities, model.probabilities(x))
    assert result.predicted == [NAMES[k] for k in model.predict(x)]
    assert sum(result.counts.values()) == len(result) == 30
    assert (result.accuracy, result.log_loss, result.calibration_error) == (None, None, None)


def test_columns_of_a_frame_are_matched_by_name():
    model, x = student(5), inputs(30, seed=4)
    frame = pl.DataFrame(x, schema=list(COLUMNS)).select(reversed(COLUMNS)).with_columns(pl.lit(1).alias("other"))
    np.testing.assert_allclose(predict(model, frame).probabilities, model.probabilities(x))
    with pytest.raises(InputError, match=f"`X` lacks columns of the model: {COLUMNS[0]}"):
        predict(model, frame.drop(COLUMNS[0]))
    with pytest.raises(InputError, match="leave them out where `X` is an array"):
        predict(model, x, label="kind")


@pytest.mark.parametrize("labeled", [True, False])
def test_what_a_notebook_shows(tmp_path, labeled):
    model, x = student(5), inputs(30, seed=4)
    names = [NAMES[k] for k in model.predict(x)]
    pl.DataFrame(x, schema=list(COLUMNS)).with_columns(pl.Series("kind", names)).write_csv(tmp_path / "t.csv")
    result = predict(model, tmp_path / "t.csv", label="kind" if labeled else None)
    assert result.accuracy == (1 if labeled else None)
    assert repr(result).startswith("<Predictions: 30 rows, most often predicted: ")
    assert result.plot().axes[0].get_ylabel() == ("accuracy" if labeled else "share of rows")
    assert result.chart.panels[0].x_label == "largest probability of a row"
    softened = replace(result, softening=Softening(8.0)).chart
    assert softened.panels[0].x_label == "largest softened probability of a row"
    assert "<table" in result._repr_html_()
