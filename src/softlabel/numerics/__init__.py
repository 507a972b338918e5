"""Array layouts, matrix products, an optimizer, and file input and output that all other packages share."""

from softlabel.numerics.descent import minimize_nonnegative
from softlabel.numerics.inputs import Inputs, prepare_inputs
from softlabel.numerics.metric_descent import minimize_in_metric
from softlabel.numerics.products import Products, has_bfloat16
from softlabel.numerics.tensor_files import load_tensors, save_tensors
from softlabel.numerics.threads import threads_for

__all__ = [
    "Inputs",
    "Products",
    "has_bfloat16",
    "load_tensors",
    "minimize_in_metric",
    "minimize_nonnegative",
    "prepare_inputs",
    "save_tensors",
    "threads_for",
]
