"""People's MCP connections in the database; the owner is part of every query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pydantic import JsonValue
from sqlalchemy import delete as delete_rows
from sqlalchemy import func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp import tool_cache
from agents.mcp import tools as mcp_tools
from agents.mcp.errors import McpFault
from agents.mcp.limits import McpLimits
from agents.mcp.models import McpConnection, McpStatus, McpToolList
from agents.mcp.tool_cache import ToolListCache
from agents.mcp.tools import McpTool
from core.audit.log import AuditAction, AuditTarget, audit
from core.auth.locks import lock_owner
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import McpConnectionNotFound, PermissionDenied
from core.errors.conflicts import Conflict, McpConnectionsFull, McpNameTaken

SORT_FIELDS = ("created_at", "updated_at", "name")
MOST_CONNECTIONS = 100


@dataclass(frozen=True)
class ConnectionFields:
    """What an owner says of a connection, checked, the token sealed."""

    name: str
    type: str
    url: str
    auth_type: str
    sealed_token: str | None = field(repr=False)
    config: Mapping[str, JsonValue]
    enabled: bool


@dataclass(frozen=True)
class ConnectionListing:
    """One page of connections and how many there are in all."""

    items: Sequence[McpConnection]
    total: int


@dataclass(frozen=True)
class ConnectionRow:
    """A connection, and when its server listed its tools last; None for never."""

    row: McpConnection
    listed_at: datetime | None


@dataclass(frozen=True)
class ConnectionWithTools(ConnectionRow):
    """A connection with the tools that its server listed last."""

    tools: tuple[McpTool, ...]


async def create(work: UnitOfWork, owner_id: str, fields: ConnectionFields) -> McpConnection:
    """Keep a new connection.

    Raises:
        McpNameTaken: the owner has another one of this name.
        McpConnectionsFull: the owner has as many as are kept.
    """
    # Two at once must not both find room for the last one, nor the name free.
    await lock_owner(work.session, owner_id)
    await _require_free_name(work.session, owner_id, fields.name)
    if await _count(work.session, owner_id) >= MOST_CONNECTIONS:
        raise McpConnectionsFull(limit=MOST_CONNECTIONS)
    row = McpConnection(
        owner_id=owner_id,
        name=fields.name,
        type=fields.type,
        url=fields.url,
        auth_type=fields.auth_type,
    )
    _say(row, fields)
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.MCP_CONNECTION_CREATED, _target(row.id))
    return row


async def change(
    work: UnitOfWork, owner_id: str, connection_id: str, fields: ConnectionFields, version: int
) -> McpConnection:
    """Put other facts in place of a connection's; one that leads elsewhere knows no tools yet.

    Args:
        work: the transaction.
        owner_id: whose.
        connection_id: which.
        fields: all of them, as the change leaves them.
        version: of the connection that they were made of.

    Raises:
        Conflict: it was changed since.
        McpConnectionNotFound: the owner has none of this id.
        McpNameTaken: the owner has another one of this name.
    """
    await lock_owner(work.session, owner_id)
    row = await get(work.session, owner_id, connection_id)
    if row.version != version:
        raise Conflict(field="version", version=row.version)
    await _require_free_name(work.session, owner_id, fields.name, besides=row.id)
    if (row.type, row.url) != (fields.type, fields.url):
        mine = col(McpToolList.connection_id) == row.id
        await work.session.exec(delete_rows(McpToolList).where(mine))
        row.tool_count = 0
    _say(row, fields)
    row.version += 1
    row.status, row.fault, row.checked_at = McpStatus.UNKNOWN.value, None, None
    row.updated_at = utc_now()
    work.session.add(row)
    await work.session.flush()
    audit(work.session, AuditAction.MCP_CONNECTION_CHANGED, _target(row.id))
    return row


def _target(connection_id: str) -> AuditTarget:
    # Where it leads is its owner's alone to see.
    return AuditTarget("mcp_connection", connection_id)


async def get(session: AsyncSession, owner_id: str, connection_id: str) -> McpConnection:
    """Load one of an owner's connections.

    Raises:
        McpConnectionNotFound: the owner has none of this id.
    """
    mine = (McpConnection.id == connection_id, McpConnection.owner_id == owner_id)
    found = (await session.exec(select(McpConnection).where(*mine))).first()
    if found is None:
        raise McpConnectionNotFound
    return found


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


async def list_rows(
    session: AsyncSession, owner_id: str, ids: Sequence[str] | None = None
) -> list[ConnectionRow]:
    """An owner's connections, oldest first.

    Args:
        session: to read with.
        owner_id: whose.
        ids: which; None for all.

    Raises:
        McpConnectionNotFound: the owner has none of one of the ids.
    """
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
    session: AsyncSession, parsed: ToolListCache, present: Sequence[ConnectionRow]
) -> list[ConnectionWithTools]:
    """Connections with their tools, as they were listed last."""
    moments = {one.row.id: one.listed_at for one in present if one.listed_at is not None}
    tools = await tool_cache.read_lists(session, parsed, moments)
    return [
        ConnectionWithTools(one.row, one.listed_at, tools.get(one.row.id, ())) for one in present
    ]


async def list_with_tools(
    session: AsyncSession,
    parsed: ToolListCache,
    owner_id: str,
    ids: Sequence[str] | None = None,
) -> list[ConnectionWithTools]:
    """An owner's connections with their tools: :func:`listed` and :func:`with_tools`.

    Raises:
        McpConnectionNotFound: the owner has none of one of the ids.
    """
    return await load_tools(session, parsed, await list_rows(session, owner_id, ids))


def require_use(principal: Principal, connection_id: str) -> None:
    """Pass who may use a connection; its owner may not where the account is limited to others.

    Raises:
        PermissionDenied: who may look at no connection, or not at this one: it is not among those
            that the account is limited to.
    """
    principal.require(Permission.MCP_VIEW)
    if principal.mcp_access is not None and connection_id not in principal.mcp_access:
        raise PermissionDenied(limit="mcp_access")


async def delete(work: UnitOfWork, owner_id: str, connection_id: str) -> None:
    """Delete a connection with its token.

    Raises:
        McpConnectionNotFound: the owner has none of this id.
    """
    mine = (col(McpConnection.id) == connection_id, col(McpConnection.owner_id) == owner_id)
    if (await work.session.exec(delete_rows(McpConnection).where(*mine))).rowcount == 0:
        raise McpConnectionNotFound
    audit(work.session, AuditAction.MCP_CONNECTION_DELETED, _target(connection_id))


async def record_tools(
    work: UnitOfWork, row: McpConnection, tools: Sequence[McpTool], limits: McpLimits
) -> tuple[McpTool, ...]:
    """Keep what a server has just listed, unless the connection was changed meanwhile.

    Returns:
        Those of the tools that its owner has room for.
    """
    # Two servers at once must not both find room for their lists.
    await lock_owner(work.session, row.owner_id)
    kept = await tool_cache.fit_quota(work.session, row, tools, limits)
    values = {"status": McpStatus.CONNECTED.value, "fault": None, "tool_count": len(kept)}
    if await _note(work, row, values):
        stored = await work.session.get(McpToolList, row.id) or McpToolList(connection_id=row.id)
        stored.tools, stored.listed_at = mcp_tools.to_json(kept), utc_now()
        work.session.add(stored)
    return kept


async def record_fault(work: UnitOfWork, row: McpConnection, fault: McpFault) -> None:
    """Keep that a server could not be used; the tools that are known stay."""
    await _note(work, row, {"status": McpStatus.ERROR.value, "fault": fault.name.lower()})


async def _note(work: UnitOfWork, row: McpConnection, values: Mapping[str, object]) -> bool:
    place = (col(McpConnection.id) == row.id, col(McpConnection.version) == row.version)
    statement = update(McpConnection).where(*place).values(**values, checked_at=utc_now())
    statement = statement.execution_options(synchronize_session=False)
    return (await work.session.exec(statement)).rowcount > 0


def _say(row: McpConnection, fields: ConnectionFields) -> None:
    row.name, row.type, row.url = fields.name, fields.type, fields.url
    row.auth_type, row.sealed_token = fields.auth_type, fields.sealed_token
    row.config, row.enabled = dict(fields.config), fields.enabled


async def _count(session: AsyncSession, owner_id: str) -> int:
    query = select(func.count()).select_from(McpConnection)
    return (await session.exec(query.where(col(McpConnection.owner_id) == owner_id))).one()


async def _require_free_name(
    session: AsyncSession, owner_id: str, name: str, *, besides: str = ""
) -> None:
    query = select(McpConnection.id).where(
        McpConnection.owner_id == owner_id,
        McpConnection.name == name,
        McpConnection.id != besides,
    )
    if (await session.exec(query)).first() is not None:
        raise McpNameTaken(field="name", name=name)
