"""MCP connections in the database and their cached tool lists; every query names the owner."""

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import Text, cast, func
from sqlalchemy import delete as delete_rows
from sqlalchemy import update as update_rows
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import tools as mcp_tools
from agents.mcp.config import McpLimits
from agents.mcp.errors import OF_AUTHORIZATION, McpFault
from agents.mcp.models import McpConnection, McpStatus, McpToolList
from agents.mcp.oauth.authorizations import delete_authorization
from agents.mcp.tools import McpTool, ToolListing
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.locks import lock_owner
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import McpConnectionNotFound, PermissionDenied
from core.errors.conflicts import Conflict, McpConnectionsFull, McpNameTaken

_PARSED_CHARACTERS = 2**24
# As text, so that nothing is made of it before it is known to be needed.
_STORED = cast(col(McpToolList.tools), Text)
_Key = tuple[str, datetime]

SORT_FIELDS = ("created_at", "updated_at", "name")
MOST_CONNECTIONS = 100


class ToolListCache:
    """LRU cache of parsed tool lists, bounded by characters of JSON; keys include the time of listing."""

    def __init__(self, characters: int = _PARSED_CHARACTERS) -> None:
        self._lists: OrderedDict[_Key, tuple[tuple[McpTool, ...], int]] = OrderedDict()
        self._room = characters

    def get(self, key: _Key) -> tuple[McpTool, ...] | None:
        entry = self._lists.get(key)
        if entry is None:
            return None
        self._lists.move_to_end(key)
        return entry[0]

    def parse(self, key: _Key, stored: str) -> tuple[McpTool, ...]:
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
    """Tool lists by connection id; ``parsed`` gets those it lacks."""
    tools_by_id = {key: parsed.get((key, moment)) for key, moment in listed_at.items()}
    missing = [key for key, tools in tools_by_id.items() if tools is None]
    if missing:
        query = select(McpToolList.connection_id, McpToolList.listed_at, _STORED)
        query = query.where(col(McpToolList.connection_id).in_(missing))
        for key, moment, stored in (await session.exec(query)).all():
            tools_by_id[key] = parsed.parse((key, moment), stored)
    return {key: tools or () for key, tools in tools_by_id.items()}


async def fit_quota(session: AsyncSession, row: McpConnection, listing: ToolListing, limits: McpLimits) -> ToolListing:
    """The listing with the first tools of a server that fit the owner's quota over all servers; needs the owner's lock."""
    query = (
        select(func.sum(McpConnection.tool_count), func.sum(func.length(_STORED)))
        .select_from(McpToolList)
        .join(McpConnection, col(McpConnection.id) == col(McpToolList.connection_id))
        .where(McpConnection.owner_id == row.owner_id, McpConnection.id != row.id)
    )
    count, characters = (await session.exec(query)).one()
    room = limits.owner_characters - (characters or 0)
    fitting = 0
    for tool in listing.tools[: max(0, limits.owner_tools - (count or 0))]:
        room -= len(json.dumps(mcp_tools.to_json([tool])))
        if room < 0:
            break
        fitting += 1
    return listing.cut(fitting, "your connections have too many tools already", "您的连接中的工具已过多")


@dataclass(frozen=True)
class ConnectionFields:
    """Validated fields of a connection, with the token sealed."""

    name: str
    type: str
    url: str
    auth_type: str
    sealed_token: str | None = field(repr=False)
    config: Mapping[str, JsonValue]
    enabled: bool
    client_id: str | None = None
    sealed_client_secret: str | None = field(default=None, repr=False)

    def is_same_client(self, row: McpConnection) -> bool:
        """Whether the connection would go on with the same client at the same server."""
        present = (row.type, row.url, row.auth_type, row.client_id, row.sealed_client_secret)
        return present == (self.type, self.url, self.auth_type, self.client_id, self.sealed_client_secret)


@dataclass(frozen=True)
class ConnectionListing:
    """One page of connections, and how many there are in all."""

    items: Sequence[McpConnection]
    total: int


@dataclass(frozen=True)
class ConnectionRow:
    """A connection, and when its tools were last listed; None for never."""

    row: McpConnection
    listed_at: datetime | None


@dataclass(frozen=True)
class ConnectionWithTools(ConnectionRow):
    """A connection with its last tool list."""

    tools: tuple[McpTool, ...]


async def create(work: UnitOfWork, owner_id: str, fields: ConnectionFields) -> McpConnection:
    """Store a new connection."""
    # Two at once must not both find room for the last one, nor the name free.
    await lock_owner(work.session, owner_id)
    await _require_free_name(work.session, owner_id, fields.name)
    if await _count(work.session, owner_id) >= MOST_CONNECTIONS:
        raise McpConnectionsFull(limit=MOST_CONNECTIONS)
    row = McpConnection(
        owner_id=owner_id, name=fields.name, type=fields.type, url=fields.url, auth_type=fields.auth_type
    )
    _assign(row, fields)
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.MCP_CONNECTION_CREATED, audit_target(row.id))
    return row


async def update(
    work: UnitOfWork, owner_id: str, connection_id: str, fields: ConnectionFields, version: int
) -> McpConnection:
    """Replace a connection's fields, unless it is no longer at ``version``; a new address discards the tool list."""
    await lock_owner(work.session, owner_id)
    row = await get(work.session, owner_id, connection_id)
    if row.version != version:
        raise Conflict(field="version", version=row.version)
    await _require_free_name(work.session, owner_id, fields.name, besides=row.id)
    if (row.type, row.url) != (fields.type, fields.url):
        mine = col(McpToolList.connection_id) == row.id
        await work.session.exec(delete_rows(McpToolList).where(mine))
        row.tool_count, row.left_out, row.features = 0, [], []
        row.challenge = None
    if not fields.is_same_client(row):
        # The tokens are for what they were given for, and no other server gets them.
        await delete_authorization(work.session, row.id)
    _assign(row, fields)
    row.version += 1
    row.status, row.fault, row.checked_at = McpStatus.UNKNOWN.value, None, None
    row.updated_at = utc_now()
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.MCP_CONNECTION_CHANGED, audit_target(row.id))
    return row


def audit_target(connection_id: str) -> AuditTarget:
    """A connection in the audit log."""
    # Where it leads is its owner's alone to see.
    return AuditTarget("mcp_connection", connection_id)


async def get(session: AsyncSession, owner_id: str, connection_id: str) -> McpConnection:
    """One of an owner's connections."""
    mine = (McpConnection.id == connection_id, McpConnection.owner_id == owner_id)
    row = (await session.exec(select(McpConnection).where(*mine))).first()
    if row is None:
        raise McpConnectionNotFound
    return row


async def list_page(session: AsyncSession, owner_id: str, page: PageRequest) -> ConnectionListing:
    """One page of an owner's connections."""
    columns = {
        "created_at": col(McpConnection.created_at),
        "updated_at": col(McpConnection.updated_at),
        "name": col(McpConnection.name),
    }
    mine = select(McpConnection).where(col(McpConnection.owner_id) == owner_id)
    query = paginate(mine, page, columns=columns, tie=col(McpConnection.id))
    return ConnectionListing((await session.exec(query)).all(), await _count(session, owner_id))


async def list_rows(session: AsyncSession, owner_id: str, ids: Sequence[str] | None = None) -> list[ConnectionRow]:
    """An owner's connections of these ids, or all, oldest first."""
    query = select(McpConnection, McpToolList.listed_at).join(
        McpToolList, col(McpToolList.connection_id) == col(McpConnection.id), isouter=True
    )
    query = query.where(col(McpConnection.owner_id) == owner_id)
    if ids is not None:
        query = query.where(col(McpConnection.id).in_(list(ids)))
    query = query.order_by(col(McpConnection.created_at), col(McpConnection.id))
    pairs: Sequence[tuple[McpConnection, datetime | None]] = (await session.exec(query)).all()
    if ids is not None and {row.id for row, _ in pairs} != set(ids):
        raise McpConnectionNotFound
    return [ConnectionRow(row, listed_at) for row, listed_at in pairs]


async def load_tools(
    session: AsyncSession, parsed: ToolListCache, rows: Sequence[ConnectionRow]
) -> list[ConnectionWithTools]:
    """Connections with their last tool lists."""
    moments = {connection.row.id: connection.listed_at for connection in rows if connection.listed_at is not None}
    tools = await read_lists(session, parsed, moments)
    return [
        ConnectionWithTools(connection.row, connection.listed_at, tools.get(connection.row.id, ()))
        for connection in rows
    ]


async def list_with_tools(
    session: AsyncSession, parsed: ToolListCache, owner_id: str, ids: Sequence[str] | None = None
) -> list[ConnectionWithTools]:
    """``list_rows`` with tools."""
    return await load_tools(session, parsed, await list_rows(session, owner_id, ids))


def require_use(principal: Principal, connection_id: str) -> None:
    """Check that an account may use a connection."""
    principal.require(Permission.MCP_VIEW)
    if principal.mcp_access is not None and connection_id not in principal.mcp_access:
        raise PermissionDenied(limit="mcp_access")


async def delete(work: UnitOfWork, owner_id: str, connection_id: str) -> None:
    """Delete a connection with its token."""
    mine = (col(McpConnection.id) == connection_id, col(McpConnection.owner_id) == owner_id)
    if (await work.session.exec(delete_rows(McpConnection).where(*mine))).rowcount == 0:
        raise McpConnectionNotFound
    audit(work.session, AuditAction.MCP_CONNECTION_DELETED, audit_target(connection_id))


async def record_tools(work: UnitOfWork, row: McpConnection, listing: ToolListing, limits: McpLimits) -> ToolListing:
    """Store what a server lists, unless the connection was changed meanwhile; returns it cut to the quota."""
    # Two servers at once must not both find room for their lists.
    await lock_owner(work.session, row.owner_id)
    fitting = await fit_quota(work.session, row, listing, limits)
    left_out = mcp_tools.left_out_to_json(fitting.left_out)
    values = {
        "status": McpStatus.CONNECTED.value,
        "fault": None,
        "tool_count": len(fitting.tools),
        "left_out": left_out,
        "features": list(fitting.features),
    }
    if await _record(work, row, values):
        stored = await work.session.get(McpToolList, row.id) or McpToolList(connection_id=row.id)
        stored.tools, stored.listed_at = mcp_tools.to_json(fitting.tools), utc_now()
        work.session.add(stored)
    return fitting


async def record_fault(work: UnitOfWork, row: McpConnection, fault: McpFault, challenge: str | None = None) -> None:
    """Record that a server could not be used, and what it asked to be authorised for; its last tool list stays."""
    status = McpStatus.NEEDS_AUTHORIZATION if fault in OF_AUTHORIZATION else McpStatus.ERROR
    values = {"status": status.value, "fault": fault.name.lower()}
    await _record(work, row, values if challenge is None else {**values, "challenge": challenge})


async def _record(work: UnitOfWork, row: McpConnection, values: Mapping[str, object]) -> bool:
    place = (col(McpConnection.id) == row.id, col(McpConnection.version) == row.version)
    statement = update_rows(McpConnection).where(*place).values(**values, checked_at=utc_now())
    statement = statement.execution_options(synchronize_session=False)
    return (await work.session.exec(statement)).rowcount > 0


def _assign(row: McpConnection, fields: ConnectionFields) -> None:
    row.name, row.type, row.url = fields.name, fields.type, fields.url
    row.auth_type, row.sealed_token = fields.auth_type, fields.sealed_token
    row.client_id, row.sealed_client_secret = fields.client_id, fields.sealed_client_secret
    row.config, row.enabled = dict(fields.config), fields.enabled


async def _count(session: AsyncSession, owner_id: str) -> int:
    query = select(func.count()).select_from(McpConnection)
    return (await session.exec(query.where(col(McpConnection.owner_id) == owner_id))).one()


async def _require_free_name(session: AsyncSession, owner_id: str, name: str, *, besides: str = "") -> None:
    query = select(McpConnection.id).where(
        McpConnection.owner_id == owner_id, McpConnection.name == name, McpConnection.id != besides
    )
    if (await session.exec(query)).first() is not None:
        raise McpNameTaken(field="name", name=name)
