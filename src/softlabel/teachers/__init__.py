"""Where soft labels come from."""

from softlabel.teachers.kernel_limit import KernelLimitTeacher

__all__ = ["KernelLimitTeacher"]
