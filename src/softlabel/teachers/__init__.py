"""Where soft labels come from: teachers of every form, how their predictions are read, and their audit."""

from softlabel.teachers.kernel_limit import KernelLimitTeacher

__all__ = ["KernelLimitTeacher"]
