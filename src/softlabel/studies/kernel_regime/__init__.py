"""Rahbar, Figures 1 to 6: students with privileged knowledge, their teachers, kernel embeddings and overlaps."""

from softlabel.studies.kernel_regime.result import KernelRegimeResult
from softlabel.studies.kernel_regime.settings import PRESETS, KernelRegimeSettings
from softlabel.studies.kernel_regime.study import KernelRegimeStudy

__all__ = ["PRESETS", "KernelRegimeResult", "KernelRegimeSettings", "KernelRegimeStudy"]
