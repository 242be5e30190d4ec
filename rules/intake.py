"""The intake of events: what is accepted here is acted on, whatever dies meanwhile."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
from pydantic import JsonValue
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from core.db.insert import insert_into
from core.db.types import new_id, utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.requests import InvalidRequest
from core.text.sanitize import refuse_half_characters, refuse_nul
from core.types.errors import FieldValueError
from rules.models import LONGEST_EVENT_ID, LONGEST_EVENT_TYPE, AcceptedEvent, EventDropReason, SourceKind

MOST_BYTES = 256 * 1024
"""Of an event's data as JSON."""
MOST_OPEN = 10_000
"""Events of one source that wait for a decision; a source that is ahead by more is slowed down."""
PLATFORM = "platform"
"""The source of what happens in Agentex itself, for every person."""

# Control characters, and such as change the direction of what is shown behind them; some scripts need joiners.
_UNSEEN, _JOINERS = frozenset({"Cc", "Cf"}), "\u200c\u200d"
# Variables per statement, below the limits of all databases.
_ROWS_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class IncomingEvent:
    """Something that happened at a source.

    Attributes:
        owner_id: whose rules may act on it.
        id: the source's name of it: the same id twice is one event.
        chain: the rules whose actions led to it.
    """

    owner_id: str
    source_kind: SourceKind
    source_id: str
    type: str
    data: JsonValue
    id: str = field(default_factory=new_id)
    occurred_at: datetime = field(default_factory=utc_now)
    chain: tuple[str, ...] = ()


async def accept(work: UnitOfWork, events: Sequence[IncomingEvent]) -> int:
    """Keep events until they were decided on; returns how many were new.

    The transaction's commit is the acceptance: afterwards each is acted on, or reported.

    Raises:
        InvalidRequest: an event is too large, or can't be stored.
    """
    rows = [_values(event) for event in events]
    insert = insert_into(work.session, AcceptedEvent)
    accepted = 0
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        statement = insert.values(rows[start : start + _ROWS_AT_ONCE])
        statement = statement.on_conflict_do_nothing(index_elements=["owner_id", "source_id", "event_id"])
        accepted += len((await work.session.exec(statement.returning(col(AcceptedEvent.seq)))).all())
    return accepted


async def count_open(session: AsyncSession, source_id: str, owner_id: str) -> int:
    """How many events of a source wait for a decision."""
    query = select(func.count()).where(
        col(AcceptedEvent.is_decided).is_(False),
        AcceptedEvent.source_id == source_id,
        AcceptedEvent.owner_id == owner_id,
    )
    return (await session.exec(query)).one()


@dataclass(frozen=True, slots=True)
class EventFault:
    """Why an event can't be kept."""

    reason: EventDropReason
    field: str
    error: str
    error_zh: str


def find_fault(event: IncomingEvent) -> EventFault | None:
    """Why an event can't be kept: its type or id can't be used, or its data are too large or no JSON."""
    fault = find_type_fault(event.type) or _fault_of_name("id", event.id, LONGEST_EVENT_ID)
    if fault is not None:
        return fault
    try:
        size = len(orjson.dumps(event.data))
    except (orjson.JSONEncodeError, RecursionError):
        words = ("The data is no JSON that can be kept", "数据不是可以保存的 JSON")
        return EventFault(EventDropReason.UNUSABLE, "data", *words)
    if size > MOST_BYTES:
        words = (
            f"The data has {size} bytes of JSON; at most {MOST_BYTES} are accepted",
            f"数据有 {size} 字节，最多接受 {MOST_BYTES} 字节",
        )
        return EventFault(EventDropReason.TOO_LARGE, "data", *words)
    return None


def find_type_fault(event_type: str) -> EventFault | None:
    """Why no rule can name a type: it is missing, too long, or has characters that nobody sees."""
    fault = _fault_of_name("type", event_type, LONGEST_EVENT_TYPE)
    visible = event_type.translate(dict.fromkeys(map(ord, _JOINERS)))
    if fault is None and any(unicodedata.category(character) in _UNSEEN for character in visible):
        words = ("It must have no control characters", "不能包含控制字符")
        return EventFault(EventDropReason.UNUSABLE, "type", *words)
    return fault


def _values(event: IncomingEvent) -> dict[str, object]:
    fault = find_fault(event)
    if fault is not None:
        raise InvalidRequest(fault.field, fault.error, fault.error_zh)
    return {
        "owner_id": event.owner_id,
        "source_kind": event.source_kind.value,
        "source_id": event.source_id,
        "event_id": event.id,
        "type": event.type,
        "occurred_at": event.occurred_at,
        "accepted_at": utc_now(),
        "data": event.data,
        "chain": list(event.chain),
        "is_decided": False,
    }


def _fault_of_name(name: str, text: str, longest: int) -> EventFault | None:
    if not 0 < len(text) <= longest:
        words = (f"It must have 1 to {longest} characters", f"长度必须为 1 到 {longest} 个字符")
        return EventFault(EventDropReason.UNUSABLE, name, *words)
    try:
        refuse_nul(refuse_half_characters(text))
    except FieldValueError as error:
        return EventFault(EventDropReason.UNUSABLE, name, str(error), error.error_zh)
    return None
