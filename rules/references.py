"""What a rule refers to: the sources, connections and permissions that its owner must have."""

from collections.abc import Mapping

from pydantic import JsonValue
from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.connections import require_use
from agents.mcp.models import McpConnection
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.errors.auth import EventSourceNotFound, McpConnectionNotFound, PermissionDenied
from core.errors.requests import InvalidRequest
from core.json_access import as_object
from rules.language.action_types import RuleAction
from rules.language.definition import RuleDefinition
from rules.models import EventSource

ACTION_PERMISSIONS: Mapping[str, tuple[Permission, ...]] = {
    "mcp_call": (Permission.AGENT_RUN, Permission.MCP_VIEW),
    "agent_run": (Permission.AGENT_RUN,),
    "search": (Permission.KB_VIEW,),
    "ingest": (Permission.KB_WRITE,),
    "webhook": (),
    "notify": (),
    "set_state": (),
}
"""What the owner of a rule, and the API key that it is written with, must be allowed for a type of action."""


async def require_references(session: AsyncSession, principal: Principal, definition: RuleDefinition) -> None:
    """Check that a rule's owner has what the rule names, as far as that is known before an event comes.

    Raises:
        PermissionDenied: the caller may not do what an action does.
        EventSourceNotFound: the trigger's source is neither an MCP connection nor an event source of the caller's.
        McpConnectionNotFound: an action's connection is not the caller's.
        InvalidRequest: a call names no connection, and no event can come from one.
    """
    _require_permissions(principal, definition)
    trigger = definition.trigger_config
    source_id = "" if trigger.source_id is None else str(trigger.source_id)
    if source_id:
        await require_source(session, principal.user_id, source_id, field="trigger_config.source_id")
    # Events of any source may come from a connection.
    may_be_connection = trigger.schedule is None and (
        not source_id or await _is_owned(session, McpConnection, principal.user_id, source_id)
    )
    for position, action in enumerate(definition.actions):
        if action.type != "mcp_call":
            continue
        field, connection_id = f"actions.{position}.connection_id", connection_of(action)
        if connection_id and not await _is_owned(session, McpConnection, principal.user_id, connection_id):
            raise McpConnectionNotFound(field=field)
        if not connection_id and not may_be_connection:
            raise InvalidRequest(
                field,
                "Name the MCP connection: what triggers this rule is none",
                "请填写 MCP 连接：触发此规则的来源不是 MCP 连接",
            )
        if connection_id or source_id:
            require_use(principal, connection_id or source_id)


def connection_of(action: RuleAction) -> str:
    """The MCP connection that an action names; empty for the event's source, or none."""
    return str(getattr(action, "connection_id", None) or "")


def params_of(action: RuleAction) -> dict[str, JsonValue]:
    """An action's parameters as they are written."""
    return as_object(action.model_dump(mode="json", exclude_none=True).get("params"))


async def require_source(session: AsyncSession, owner_id: str, source_id: str, *, field: str) -> None:
    """Check that an id, given in ``field``, is an owner's event source or MCP connection."""
    for table in (EventSource, McpConnection):
        if await _is_owned(session, table, owner_id, source_id):
            return
    raise EventSourceNotFound(field=field)


def _require_permissions(principal: Principal, definition: RuleDefinition) -> None:
    for position, action in enumerate(definition.actions):
        for permission in ACTION_PERMISSIONS[action.type]:
            if permission not in principal.permissions:
                raise PermissionDenied(permission=permission.value, field=f"actions.{position}.type")


async def _is_owned(
    session: AsyncSession, table: type[EventSource] | type[McpConnection], owner_id: str, row_id: str
) -> bool:
    query = select(table.id).where(table.id == row_id, table.owner_id == owner_id)
    return (await session.exec(query)).first() is not None
