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
    """Reject a configuration that no run of the session could use.

    Anything the owner may not see counts as missing. Later changes are reported by the runs.
    """
    if (agent_type := config.get("agent_type")) is not None:
        require_known(as_text(agent_type))
    ids = [as_text(kb_id) for kb_id in as_list(config.get("knowledge_base_ids"))]
    await knowledge_bases.get_searchable(session, principal, ids)
    connection_ids = [as_text(connection_id) for connection_id in as_list(config.get("mcp_connection_ids"))]
    await connections.list_rows(session, principal.user_id, connection_ids)
    fault = await skill_selection.find_config_fault(session, principal, config.get("skill_ids"))
    if fault is not None:
        raise InvalidRequest("config.skill_ids", *fault)
