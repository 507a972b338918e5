"""softlabel: soft labels or hard ones, how small a student, and what can be proved.

The public names are loaded on first use, so that `import softlabel` and `softlabel --help` stay quick.
"""

import os
from importlib import import_module
from typing import Any

# onnxruntime reads this when it is imported. Without it, it looks up its maker's host and writes a device id and a
# queue of events into the user's cache. It is set here, so that it is set before anything else of softlabel runs, and
# worker processes inherit it.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"

__version__ = "0.1.0"

_HOMES = {
    "DistilledClassifier": "softlabel.estimators",
    "FeatureMatch": "softlabel.networks.deep",
    "Images": "softlabel.networks.deep",
    "KernelLimitTeacher": "softlabel.teachers",
    "Labels": "softlabel.networks",
    "Objective": "softlabel.networks.deep",
    "Problem": "softlabel.data.problem",
    "Student": "softlabel.networks",
    "StudentModel": "softlabel.networks.student_model",
    "Training": "softlabel.networks.deep",
    "TwoLayer": "softlabel.networks",
    "TwoLayerClassifier": "softlabel.estimators",
    "Validation": "softlabel.networks",
    "ask_teacher": "softlabel.teachers.asking",
    "audit_teacher": "softlabel.teachers.audit",
    "bounds": "softlabel.theory.bounds:module",
    "build_network": "softlabel.networks.deep",
    "distill": "softlabel.studies.distilling",
    "doctor": "softlabel.studies.doctor",
    "export_student": "softlabel.export",
    "hard_labels": "softlabel.networks",
    "kernel_dynamics": "softlabel.theory.dynamics",
    "kernel_matrix": "softlabel.theory.kernel",
    "load": "softlabel.data",
    "load_images": "softlabel.data.image_sets",
    "load_model": "softlabel.export",
    "load_problem": "softlabel.data.problem",
    "load_task": "softlabel.data",
    "margin": "softlabel.theory.margin",
    "plan": "softlabel.studies.plan",
    "reproduce": "softlabel.studies.running",
    "soft_labels": "softlabel.networks",
    "start_margin": "softlabel.theory.margin",
    "teacher_logits": "softlabel.networks",
    "train_network": "softlabel.networks.deep",
    "train_students": "softlabel.networks",
    "verdict": "softlabel.studies.verdict",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'softlabel' has no attribute '{name}'")
    home, _, kind = _HOMES[name].partition(":")
    value = import_module(home)
    if kind != "module":
        value = getattr(value, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
