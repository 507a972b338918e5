"""The separation margin γ of a data set: kernel version, certified interval, exact zeros, a student's own start."""

from softlabel.theory.margin.certified import Margin, Progress, margin, start_margin
from softlabel.theory.margin.kernel_margin import KernelMargin, kernel_margin
from softlabel.theory.margin.teacher import TeacherField
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

__all__ = [
    "KernelMargin",
    "Margin",
    "Progress",
    "TeacherField",
    "ZeroMargin",
    "find_zero_margin",
    "kernel_margin",
    "margin",
    "start_margin",
]
