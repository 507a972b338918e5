"""An audit: a student trained as the theorems prescribe, with every step checked."""

from softlabel.studies.audit.audit import AuditOptions, audit
from softlabel.studies.audit.result import Audit

__all__ = ["Audit", "AuditOptions", "audit"]
