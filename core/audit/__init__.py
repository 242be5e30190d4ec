"""The audit log: who did what that security depends on, when and from where."""

from core.audit.context import Actor, Origin, acting, coming_from
from core.audit.log import AuditAction, Target, note

__all__ = ["Actor", "AuditAction", "Origin", "Target", "acting", "coming_from", "note"]
