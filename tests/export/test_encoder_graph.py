"""The ONNX nodes of an encoder against the encoder itself."""

import numpy as np
import onnx
import onnxruntime
import polars as pl
import pytest
from onnx import TensorProto, helper

from softlabel.data.encoding import TableEncoder, plan_columns
from softlabel.export.encoder_graph import encoded, encoder_feeds, encoder_inputs, encoder_nodes


def run(encoder, feeds):
    nodes = encoder_nodes(encoder)
    name = encoded(nodes, encoder)
    out = helper.make_tensor_value_info(name, TensorProto.FLOAT, ["batch", len(encoder.features)])
    graph = helper.make_graph(nodes.nodes, "encoder", encoder_inputs(encoder), [out], nodes.constants)
    imports = [helper.make_opsetid("", nodes.opset), helper.make_opsetid("ai.onnx.ml", 2)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return onnxruntime.InferenceSession(model.SerializeToString()).run([name], feeds)[0]


@pytest.mark.parametrize("columns", [["n"], ["c"], ["d"], ["t"], ["n", "c", "d", "t", "b"]])
def test_the_graph_encodes_like_the_encoder(columns):
    rng = np.random.default_rng(0)
    rows = 120
    frame = pl.DataFrame(
        {
            "n": [None if k % 7 == 0 else float(v) for k, v in enumerate(rng.normal(size=rows))],
            "c": rng.choice(["a", "b c", "ü", "", "NA", "rare"], rows, p=[0.4, 0.3, 0.1, 0.1, 0.09, 0.01]),
            "d": [f"20{k % 24:02d}-0{1 + k % 9}-1{k % 9}" for k in range(rows)],
            "t": [f"{'good' if k % 2 else 'bad'} thing of kind {k}" for k in range(rows - 1)] + [None],
            "b": rng.choice(["yes", "no"], rows),
        }
    ).select(columns)
    encoder = TableEncoder.fit(plan_columns(frame), frame)
    feeds = encoder_feeds(encoder, frame, "the table")
    strings = {name for name, values in feeds.items() if values.dtype == object}
    assert strings == set(columns) - {"n", "d"}
    by_hand = {name: np.array(frame[name].fill_null("").to_list(), dtype=object)[:, None] for name in strings}
    if "n" in columns:
        by_hand["n"] = frame["n"].fill_null(float("nan")).to_numpy().astype(np.float32)[:, None]
    if "d" in columns:
        by_hand["d"] = frame["d"].str.to_date().to_physical().cast(pl.Float64).to_numpy()[:, None]
    assert np.abs(run(encoder, by_hand) - encoder.transform(frame)).max() < 1e-5
    assert np.abs(run(encoder, feeds) - encoder.transform(frame)).max() < 1e-5
