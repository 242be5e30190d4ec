"""Writes to the audit log, in the transaction of the audited act."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import ip_address

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from core.audit.context import Actor, current_origin
from core.audit.models import LONGEST_ADDRESS, LONGEST_NAME, AuditEntry
from core.logging import redact


class AuditAction(StrEnum):
    """What is noted; ``noun.verb`` in the past tense."""

    LOGIN_SUCCEEDED = "login.succeeded"
    LOGIN_FAILED = "login.failed"
    TOKEN_REUSED = "token.reused"  # noqa: S105 - an act, not a secret
    IDENTITY_LINKED = "identity.linked"
    PASSWORD_CHANGED = "password.changed"  # noqa: S105 - an act, not a secret
    API_KEY_CREATED = "api_key.created"
    API_KEY_REVOKED = "api_key.revoked"
    USER_CREATED = "user.created"
    USER_CHANGED = "user.changed"
    USER_DELETED = "user.deleted"
    ROLE_CREATED = "role.created"
    ROLE_CHANGED = "role.changed"
    ROLE_DELETED = "role.deleted"
    CONFIG_CHANGED = "config.changed"
    CONFIG_RESET = "config.reset"
    MODEL_REGISTERED = "model.registered"
    MODEL_CHANGED = "model.changed"
    MODEL_REMOVED = "model.removed"
    MCP_CONNECTION_CREATED = "mcp_connection.created"
    MCP_CONNECTION_CHANGED = "mcp_connection.changed"
    MCP_CONNECTION_DELETED = "mcp_connection.deleted"
    RULE_CREATED = "rule.created"
    RULE_CHANGED = "rule.changed"
    RULE_DELETED = "rule.deleted"
    RULE_SHARED = "rule.shared"
    RULE_UNSHARED = "rule.unshared"
    EVENT_SOURCE_CREATED = "event_source.created"
    EVENT_SOURCE_ROTATED = "event_source.rotated"
    EVENT_SOURCE_DELETED = "event_source.deleted"
    MCP_CONNECTION_AUTHORIZED = "mcp_connection.authorized"
    MCP_CONNECTION_SIGNED_OUT = "mcp_connection.signed_out"
    TOOL_POLICIES_CHANGED = "tool_policies.changed"
    SIGNING_KEY_ROTATED = "signing_key.rotated"
    AUDIT_EXPORTED = "audit.exported"
    BACKUP_REQUESTED = "backup.requested"
    BACKUP_CHECK_REQUESTED = "backup.check_requested"
    BACKUP_REMOVAL_REQUESTED = "backup.removal_requested"
    BACKUP_CANCELLED = "backup.cancelled"
    KNOWLEDGE_BASE_SHARED = "knowledge_base.shared"
    KNOWLEDGE_BASE_UNSHARED = "knowledge_base.unshared"
    KNOWLEDGE_BASE_DELETED = "knowledge_base.deleted"
    KNOWLEDGE_SOURCE_CREATED = "knowledge_source.created"
    KNOWLEDGE_SOURCE_CHANGED = "knowledge_source.changed"
    KNOWLEDGE_SOURCE_DELETED = "knowledge_source.deleted"
    DOCUMENT_RESTRICTED = "document.restricted"
    DOCUMENT_OPENED = "document.opened"
    SKILL_SHARED = "skill.shared"
    SKILL_UNSHARED = "skill.unshared"
    SKILL_DELETED = "skill.deleted"
    SKILL_REVIEWED = "skill.reviewed"
    SKILLS_IMPORTED = "skills.imported"
    SKILL_TOOL_DENIED = "skill.tool_denied"


def _address(text: str) -> str:
    try:
        return str(ip_address(text))[:LONGEST_ADDRESS]
    except ValueError:
        return ""


@dataclass(frozen=True)
class AuditTarget:
    """The object of an act.

    Args:
        kind: ``user``, ``role``, ``api_key``, ``config``, ``knowledge_base``, ...
        name: name of an account or role; empty for what only its owner may see.
    """

    kind: str
    id: str
    name: str = ""


def audit(
    session: AsyncSession,
    action: AuditAction,
    target: AuditTarget | None = None,
    *,
    actor: Actor | None = None,
    details: Mapping[str, JsonValue] | None = None,
) -> None:
    """Add an audit entry, which is committed or rolled back with the act.

    Args:
        actor: who did it, if not the authenticated caller (at a login).
        details: small facts such as old and new values; what looks like a secret is redacted.
    """
    origin = current_origin()
    by, on = actor or origin.actor, target or AuditTarget("", "")
    session.add(
        AuditEntry(
            action=action.value,
            actor_id=by.user_id if by else None,
            actor_name=by.username[:LONGEST_NAME] if by else "",
            object_type=on.kind,
            object_id=on.id[:LONGEST_NAME],
            object_name=on.name[:LONGEST_NAME],
            address=_address(origin.address),
            request_id=origin.request_id,
            details=redact(details or {}),
        )
    )
