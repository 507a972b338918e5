"""The separation margin γ of a data set: kernel version, certified interval, exact zeros, a student's own start."""

from softlabel.theory.margin.certified import Margin, Progress, margin, start_margin
from softlabel.theory.margin.fresh import Field
from softlabel.theory.margin.kernel_margin import KernelMargin, kernel_margin
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

__all__ = [
    "Field",
    "KernelMargin",
    "Margin",
    "Progress",
    "ZeroMargin",
    "find_zero_margin",
    "kernel_margin",
    "margin",
    "start_margin",
]
