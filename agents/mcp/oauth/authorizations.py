"""What is asked of authorizations at each use, without the protocol's library, which takes long to load."""

from collections.abc import Sequence

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.mcp.models import McpAuthorization, McpAuthorizationAttempt


async def read_grant_id(session: AsyncSession, connection_id: str) -> str:
    """The valid grant's id; empty without one."""
    query = select(McpAuthorization.grant_id)
    query = query.where(McpAuthorization.connection_id == connection_id, col(McpAuthorization.is_valid))
    return (await session.exec(query)).first() or ""


async def list_valid(session: AsyncSession, connection_ids: Sequence[str]) -> dict[str, McpAuthorization]:
    """The valid authorizations of these connections."""
    query = select(McpAuthorization).where(col(McpAuthorization.connection_id).in_(list(connection_ids)))
    rows = (await session.exec(query.where(col(McpAuthorization.is_valid)))).all()
    return {row.connection_id: row for row in rows}


async def delete_authorization(session: AsyncSession, connection_id: str) -> None:
    """Forget a connection's grant, and the attempt that is under way."""
    for table in (McpAuthorization, McpAuthorizationAttempt):
        await session.exec(delete(table).where(col(table.connection_id) == connection_id))
