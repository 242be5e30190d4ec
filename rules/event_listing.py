"""The types of events that a person's rules may be triggered by."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from pydantic import JsonValue
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from rules.intake import PLATFORM
from rules.models import SeenEventType
from rules.references import require_source
from rules.sources.platform import TYPES


@dataclass(frozen=True, slots=True)
class KnownEventType:
    """A type of event; ``source_id`` is that of a connection, of an event source, or ``platform``."""

    source_id: str
    type: str
    description: str
    description_zh: str
    shape: JsonValue
    example: JsonValue = None
    is_declared: bool = True
    count: int = 0
    seen_at: datetime | None = None


async def list_event_types(session: AsyncSession, owner_id: str, source_id: str | None) -> Sequence[KnownEventType]:
    """The types of one source, or of all that an owner has, by source and name; the platform's come first."""
    platform = [
        KnownEventType(PLATFORM, declared.name, declared.description, declared.description_zh, declared.shape)
        for declared in TYPES
    ]
    if source_id == PLATFORM:
        return platform
    conditions = [col(SeenEventType.owner_id) == owner_id]
    if source_id is not None:
        await require_source(session, owner_id, source_id, field="source_id")
        conditions.append(col(SeenEventType.source_id) == source_id)
    query = select(SeenEventType).where(*conditions)
    rows = (await session.exec(query.order_by(col(SeenEventType.source_id), col(SeenEventType.type)))).all()
    learnt = [
        KnownEventType(
            row.source_id,
            row.type,
            row.description,
            row.description,
            row.shape,
            row.example,
            row.is_declared,
            row.count,
            row.seen_at,
        )
        for row in rows
    ]
    return learnt if source_id is not None else [*platform, *learnt]
