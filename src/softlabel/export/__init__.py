"""Students as files: ONNX, safetensors and NumPy."""

from softlabel.export.deep import export_onnx, load_student, save_student
from softlabel.export.loading import LoadedModel, load_model
from softlabel.export.preprocessed import preprocessed_onnx
from softlabel.export.student import Exported, export_student

__all__ = [
    "Exported",
    "LoadedModel",
    "export_onnx",
    "export_student",
    "load_model",
    "load_student",
    "preprocessed_onnx",
    "save_student",
]
