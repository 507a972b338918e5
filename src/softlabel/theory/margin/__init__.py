"""The separation margin γ of a data set: a certified interval, the kernel version, exact zeros, initializations."""

from softlabel.theory.margin.certified import margin
from softlabel.theory.margin.initial import init_margin
from softlabel.theory.margin.kernel_margin import KernelMargin, kernel_margin
from softlabel.theory.margin.result import Margin, MarginProgress
from softlabel.theory.margin.teacher import TeacherField
from softlabel.theory.margin.zero import ZeroMargin, find_zero_margin

__all__ = [
    "KernelMargin",
    "Margin",
    "MarginProgress",
    "TeacherField",
    "ZeroMargin",
    "find_zero_margin",
    "init_margin",
    "kernel_margin",
    "margin",
]
