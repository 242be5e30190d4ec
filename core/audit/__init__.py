"""The audit log: who did what that security depends on, when and from where."""

from core.audit.log import AuditAction, Target, note
from core.audit.origin import Actor, Origin, acting, coming_from

__all__ = ["Actor", "AuditAction", "Origin", "Target", "acting", "coming_from", "note"]
