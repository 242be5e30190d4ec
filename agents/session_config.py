"""Validation of a session's configuration."""

from collections.abc import Mapping

from pydantic import JsonValue
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import connections
from agents.skills import selection as skill_selection
from agents.strategies import require_known
from core.auth.principal import Principal
from core.errors.requests import InvalidRequest
from core.json_access import as_list, as_text
from kb_service.knowledge_bases import service as knowledge_bases


async def check_config(session: AsyncSession, principal: Principal, config: Mapping[str, JsonValue]) -> None:
    """Refuse a configuration that no run of the session could use.

    What the owner may not see is refused as missing. Later changes are reported by the run that
    finds them.

    Raises:
        UnknownAgentType: no such strategy.
        KnowledgeBaseNotFound, McpConnectionNotFound: an id names nothing for the caller.
        PermissionDenied: it names skills, and the caller may use none.
        InvalidRequest: a skill can't be used.
    """
    if (agent_type := config.get("agent_type")) is not None:
        require_known(as_text(agent_type))
    ids = [as_text(kb_id) for kb_id in as_list(config.get("knowledge_base_ids"))]
    await knowledge_bases.get_searchable(session, principal, ids)
    connection_ids = [as_text(connection_id) for connection_id in as_list(config.get("mcp_connection_ids"))]
    await connections.list_rows(session, principal.user_id, connection_ids)
    fault = await skill_selection.find_config_fault(session, principal, config.get("skill_ids"))
    if fault is not None:
        raise InvalidRequest("config.skill_ids", fault)
