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
from rules.models import LONGEST_EVENT_ID, LONGEST_EVENT_TYPE, AcceptedEvent, SourceKind

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


def check(event: IncomingEvent) -> None:
    """Refuse an event that can't be kept.

    Raises:
        InvalidRequest: its type or id is missing or too long, or its data too large or no JSON.
    """
    check_type(event.type)
    _require_name("id", event.id, LONGEST_EVENT_ID)
    try:
        size = len(orjson.dumps(event.data))
    except (orjson.JSONEncodeError, RecursionError) as error:
        raise InvalidRequest("data", "The data is no JSON that can be kept") from error
    if size > MOST_BYTES:
        raise InvalidRequest("data", f"The data has {size} bytes of JSON; at most {MOST_BYTES} are accepted")


def check_type(event_type: str) -> None:
    """Refuse a type that no rule can name: it is missing, too long, or has characters that nobody sees.

    Raises:
        InvalidRequest: the type can't be used.
    """
    _require_name("type", event_type, LONGEST_EVENT_TYPE)
    visible = event_type.translate(dict.fromkeys(map(ord, _JOINERS)))
    if any(unicodedata.category(character) in _UNSEEN for character in visible):
        raise InvalidRequest("type", "It must have no control characters", "不能包含控制字符")


def _values(event: IncomingEvent) -> dict[str, object]:
    check(event)
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


def _require_name(name: str, text: str, longest: int) -> None:
    if not 0 < len(text) <= longest:
        raise InvalidRequest(name, f"It must have 1 to {longest} characters", f"长度必须为 1 到 {longest} 个字符")
    try:
        refuse_nul(refuse_half_characters(text))
    except FieldValueError as error:
        raise InvalidRequest(name, str(error)) from error
