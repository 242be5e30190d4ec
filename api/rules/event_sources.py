"""Event sources of the caller: addresses that take signed events."""

from datetime import datetime

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentPrincipal, Reading, Rules, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.rules.schemas import EventDropAnswer, drop_answer
from core.auth.permissions import Permission
from core.errors.auth import EventSourceNotFound
from core.errors.conflicts import EventSourceNameTaken, EventSourcesFull
from core.errors.requests import InvalidRequest
from rules import event_sources
from rules.event_drops import list_drops
from rules.event_sources import MOST_SOURCES
from rules.models import LONGEST_NAME, EventSource

router = Router(prefix="/api/v1/rules/sources", tags=["rules"])
View = Depends(requires(Permission.RULE_VIEW))
Write = Depends(requires(Permission.RULE_WRITE))
_ABSENT = error_responses(EventSourceNotFound)


class EventSourceBody(RequestModel):
    """A new event source."""

    name: Text = Field(min_length=1, max_length=LONGEST_NAME, examples=["Game server"])


class EventSourceAnswer(ResponseModel):
    """An event source; ``url`` is where its events go to, relative to this server."""

    id: str
    name: str
    url: str
    created_at: datetime


class EventSourceItem(EventSourceAnswer):
    """An event source in the list, with what was dropped of its signed events in the last 90 days, by reason."""

    drops: list[EventDropAnswer]


class NewEventSource(EventSourceAnswer):
    """An event source with its secret, which is shown only when it is made."""

    secret: str


class EventSourceList(ResponseModel):
    """All event sources of the caller, oldest first."""

    items: list[EventSourceItem]
    total: int


def _item(row: EventSource, drops: list[EventDropAnswer]) -> EventSourceItem:
    return EventSourceItem(id=row.id, name=row.name, url=_url(row), created_at=row.created_at, drops=drops)


def _with_secret(row: EventSource, secret: str) -> NewEventSource:
    return NewEventSource(id=row.id, name=row.name, url=_url(row), created_at=row.created_at, secret=secret)


def _url(row: EventSource) -> str:
    return f"/api/v1/rules/events/{row.id}"


@router.get("", dependencies=[View])
async def list_event_sources(principal: CurrentPrincipal, session: Reading) -> Envelope[EventSourceList]:
    """One's own event sources."""
    drops = [drop_answer(row) for row in await list_drops(session, principal.user_id)]
    items = [
        _item(row, [drop for drop in drops if drop.source_id == row.id])
        for row in await event_sources.list_all(session, principal.user_id)
    ]
    return Envelope(data=EventSourceList(items=items, total=len(items)))


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(EventSourceNameTaken, EventSourcesFull),
    description=f"Make an event source; up to {MOST_SOURCES}. Its secret is shown now and never again.",
)
async def create_event_source(
    body: EventSourceBody, principal: CurrentPrincipal, work: Writing, rules: Rules
) -> Envelope[NewEventSource]:
    """Make an event source."""
    name = body.name.strip()
    if not name:
        raise InvalidRequest("name", "Must not be empty", "不能为空")
    row, secret = await event_sources.create(work, rules.source_secrets, principal.user_id, name)
    return Envelope(data=_with_secret(row, secret))


@router.post("/{source_id}/rotate", dependencies=[Write], responses=_ABSENT)
async def rotate_event_source(
    source_id: Text, principal: CurrentPrincipal, work: Writing, rules: Rules
) -> Envelope[NewEventSource]:
    """Give an event source another secret; what is signed with the old one is refused at once."""
    row, secret = await event_sources.rotate(work, rules.source_secrets, principal.user_id, source_id)
    return Envelope(data=_with_secret(row, secret))


@router.delete("/{source_id}", dependencies=[Write], responses=_ABSENT)
async def delete_event_source(source_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Delete an event source with its secret; rules that name it get no more events."""
    await event_sources.delete(work, principal.user_id, source_id)
    return Empty()
