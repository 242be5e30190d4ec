"""The lists of tools that servers gave last: bounded for each owner, parsed once in a process."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import Text, cast, func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import tools as mcp_tools
from agents.mcp.limits import McpLimits
from agents.mcp.models import McpConnection, McpToolList
from agents.mcp.tools import McpTool

_PARSED_CHARACTERS = 2**24
# As text, so that nothing is made of it before it is known to be needed.
_STORED = cast(col(McpToolList.tools), Text)
_Key = tuple[str, datetime]


class ToolListCache:
    """Lists as they were parsed, those used longest ago forgotten first.

    A list never changes under its key: another one is of another moment.

    Args:
        characters: of the JSON of all lists that are held.
    """

    def __init__(self, characters: int = _PARSED_CHARACTERS) -> None:
        self._lists: OrderedDict[_Key, tuple[tuple[McpTool, ...], int]] = OrderedDict()
        self._room = characters

    def get(self, key: _Key) -> tuple[McpTool, ...] | None:
        """The tools of a list; None where it is not held."""
        held = self._lists.get(key)
        if held is None:
            return None
        self._lists.move_to_end(key)
        return held[0]

    def parse(self, key: _Key, stored: str) -> tuple[McpTool, ...]:
        """The tools of a stored list, which is held from now on."""
        tools = mcp_tools.from_text(stored)
        if key not in self._lists:
            self._lists[key] = tools, len(stored)
            self._room -= len(stored)
        while self._room < 0 and len(self._lists) > 1:
            _, (_, freed) = self._lists.popitem(last=False)
            self._room += freed
        return tools


async def read_lists(
    session: AsyncSession, parsed: ToolListCache, listed_at: Mapping[str, datetime]
) -> dict[str, tuple[McpTool, ...]]:
    """The tools of lists, by the ids of their connections.

    Args:
        parsed: those that this process has parsed already; it gets the others.
        listed_at: when their servers gave them, by the same ids.
    """
    found = {key: parsed.get((key, moment)) for key, moment in listed_at.items()}
    missing = [key for key, tools in found.items() if tools is None]
    if missing:
        query = select(McpToolList.connection_id, McpToolList.listed_at, _STORED)
        query = query.where(col(McpToolList.connection_id).in_(missing))
        for key, moment, stored in (await session.exec(query)).all():
            found[key] = parsed.parse((key, moment), stored)
    return {key: tools or () for key, tools in found.items()}


async def fit_quota(
    session: AsyncSession, row: McpConnection, tools: Sequence[McpTool], limits: McpLimits
) -> tuple[McpTool, ...]:
    """Those of a server's tools that its owner has room for beside the other servers'.

    Args:
        session: a writing one that has the owner's turn.
        tools: its server's, the first of which are kept.
    """
    query = (
        select(func.sum(McpConnection.tool_count), func.sum(func.length(_STORED)))
        .select_from(McpToolList)
        .join(McpConnection, col(McpConnection.id) == col(McpToolList.connection_id))
        .where(McpConnection.owner_id == row.owner_id, McpConnection.id != row.id)
    )
    count, characters = (await session.exec(query)).one()
    tools = tools[: max(0, limits.owner_tools - (count or 0))]
    room = limits.owner_characters - (characters or 0)
    kept: list[McpTool] = []
    for tool in tools:
        room -= len(json.dumps(mcp_tools.to_json([tool])))
        if room < 0:
            break
        kept.append(tool)
    return tuple(kept)
