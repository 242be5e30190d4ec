"""The types of events that sources have sent, learnt as they are decided on."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import reduce

from pydantic import JsonValue
from sqlalchemy import func
from sqlmodel import col, select

from agents.mcp.server_events import DeclaredEventType
from core.db.unit_of_work import UnitOfWork
from core.text.sanitize import plain_line
from rules import intake
from rules.language.event_types import example_of, merge_shapes, shape_from_schema, shape_of
from rules.models import LONGEST_DESCRIPTION, AcceptedEvent, SeenEventType, SourceKind

MOST_TYPES = 200
"""Of one source; further ones are acted on, and not shown."""
_MOST_SAMPLES = 20


async def learn(work: UnitOfWork, events: Sequence[AcceptedEvent], now: datetime) -> None:
    """Keep what these events look like."""
    samples: defaultdict[tuple[str, str, str], list[JsonValue]] = defaultdict(list)
    for event in events:
        if event.source_kind not in (SourceKind.PLATFORM, SourceKind.SCHEDULE):
            samples[event.owner_id, event.source_id, event.type].append(event.data)
    for key, data in samples.items():
        row = await work.session.get(SeenEventType, key)
        if row is None:
            if await _count(work, *key[:2]) >= MOST_TYPES:
                continue
            row = SeenEventType(owner_id=key[0], source_id=key[1], type=key[2], shape=shape_of(data[0]))
        if not row.is_declared:
            # One sample after the other would take long in a flood.
            row.shape = reduce(merge_shapes, map(shape_of, data[-_MOST_SAMPLES:]), row.shape)
        row.example = example_of(data[-1])
        row.count += len(data)
        row.seen_at = now
        work.session.add(row)
        await work.session.flush()


async def declare(work: UnitOfWork, owner_id: str, source_id: str, declared: Iterable[DeclaredEventType]) -> None:
    """Keep the types that a source declares, in place of what was learnt of them; what no event can have is left out."""
    room = MOST_TYPES - await _count(work, owner_id, source_id)
    for event_type in [event_type for event_type in declared if intake.find_type_fault(event_type.type) is None][
        :MOST_TYPES
    ]:
        row = await work.session.get(SeenEventType, (owner_id, source_id, event_type.type))
        if row is None:
            room -= 1
            if room < 0:
                continue
            row = SeenEventType(owner_id=owner_id, source_id=source_id, type=event_type.type, shape={})
        row.description = plain_line(event_type.description)[:LONGEST_DESCRIPTION]
        row.shape, row.is_declared = shape_from_schema(event_type.schema), True
        work.session.add(row)


async def _count(work: UnitOfWork, owner_id: str, source_id: str) -> int:
    query = select(func.count()).select_from(SeenEventType)
    mine = (col(SeenEventType.owner_id) == owner_id, col(SeenEventType.source_id) == source_id)
    return (await work.session.exec(query.where(*mine))).one()
