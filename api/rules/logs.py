"""The logs of rules: what they decided at events, and what they did."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Query

from api.container import AppContext
from api.dependencies import CurrentContext, CurrentPrincipal, Reading, RequestedCursor, paging, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, Items, Text, page_of
from api.http.routing import Router
from api.rules.schemas import RuleLogAnswer, log_answer
from api.streaming.framing import EVENT_STREAM, stream_response
from api.streaming.response import EventStream
from api.streaming.work_stream import sse_event
from core.auth.permissions import Permission
from core.auth.principal import Principal
from core.db.pagination import PageRequest
from core.errors.auth import RuleLogNotFound, RuleNotFound
from core.errors.base import AgentexError
from core.errors.requests import InvalidCursor, InvalidPagination
from core.errors.server import DatabaseUnavailable
from core.types.datetimes import Moment
from rules import access, logs
from rules.logs import SORT_FIELDS, LogFilter
from rules.models import OPEN_STATUSES, FiringStatus, RuleFiring

router = Router(
    prefix="/api/v1/rules/{rule_id}/logs", tags=["rules"], dependencies=[Depends(requires(Permission.RULE_VIEW))]
)
_POLL_SECONDS = 1.0
_MOST_AT_ONCE = 100
_LONGEST_CURSOR = 18
_EVENTS = "Events: start; log (an entry that is new, or has ended); end. Ids of the first two are places to go on from"


async def _filter(
    status: Annotated[FiringStatus | None, Query(description="按状态筛选 / only this status")] = None,
    start_time: Annotated[Moment | None, Query(description="开始时间 / not before")] = None,
    end_time: Annotated[Moment | None, Query(description="结束时间 / not after")] = None,
) -> LogFilter:
    return LogFilter(status, start_time, end_time)


@router.get("", responses=error_responses(RuleNotFound, InvalidPagination))
async def list_rule_logs(
    rule_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    filters: Annotated[LogFilter, Depends(_filter)],
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
) -> Envelope[Items[RuleLogAnswer]]:
    """A rule's log, the newest entry first."""
    rule = (await access.get(session, principal, rule_id)).rule
    listing = await logs.list_page(session, rule.id, filters, page)
    return page_of([log_answer(row) for row in listing.items], page, total=listing.total)


@router.get(
    "/stream",
    response_class=EventStream,
    responses={
        **error_responses(RuleNotFound, InvalidCursor),
        200: {"content": {EVENT_STREAM: {}}, "description": _EVENTS},
    },
)
async def stream_rule_logs(
    rule_id: Text,
    principal: CurrentPrincipal,
    context: CurrentContext,
    cursor: RequestedCursor,
    until_quiet: Annotated[bool, Query(description="End the stream when nothing waits or is in work any more")] = False,
) -> EventStream:
    """Server-sent events: entries as they are written, and again once their actions have ended.

    Without a cursor, from now on; the event ``start`` says that the stream stands. The event ``end`` has a ``reason``: ``quiet``, ``deleted``
    (or no longer shared), ``access`` or ``shutting_down``.
    """
    async with context.database.reading() as session:
        rule = (await access.get(session, principal, rule_id)).rule
        after = _read_cursor(cursor) if cursor else await logs.newest_seq(session, rule.id)
        waiting = await logs.list_open(session, rule.id, limit=_MOST_AT_ONCE)
    place = _LogPosition(after, {row.id: row.event_seq for row in waiting if row.event_seq <= after})
    pieces = _follow(context, principal, rule.id, place, until_quiet=until_quiet)
    return stream_response(pieces, farewell=_end("access"))


@router.get("/{log_id}", responses=error_responses(RuleNotFound, RuleLogNotFound))
async def read_rule_log(
    rule_id: Text, log_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[RuleLogAnswer]:
    """One entry of a rule's log."""
    rule = (await access.get(session, principal, rule_id)).rule
    return Envelope(data=log_answer(await logs.get(session, rule.id, log_id)))


@dataclass
class _LogPosition:
    """How far a log was read: up to an event, besides entries that have not ended, by id."""

    after: int
    open_entries: dict[str, int]

    @property
    def settled(self) -> int:
        """Where to go on from: who comes back sees what has not ended yet once more."""
        return min(self.open_entries.values()) - 1 if self.open_entries else self.after

    def note(self, row: RuleFiring) -> None:
        self.after = max(self.after, row.event_seq)
        if row.status in OPEN_STATUSES:
            self.open_entries[row.id] = row.event_seq
        else:
            self.open_entries.pop(row.id, None)


async def _follow(
    context: AppContext, principal: Principal, rule_id: str, place: _LogPosition, *, until_quiet: bool
) -> AsyncGenerator[bytes]:
    # With its place, so that who is cut off before the first entry goes on from here.
    yield b"retry: 2000\nid: %d\n" % place.settled + sse_event("start", {})
    while not context.streams.feeds.is_closed:
        try:
            rows = await _read_changes(context, principal, rule_id, place)
        except DatabaseUnavailable:
            # Nothing is lost: the next look asks again.
            yield b""
            await asyncio.sleep(_POLL_SECONDS)
            continue
        except AgentexError:
            yield _end("deleted")
            return
        for row in rows:
            place.note(row)
            yield b"id: %d\n" % place.settled + sse_event("log", log_answer(row))
        if until_quiet and not rows and not place.open_entries:
            yield _end("quiet")
            return
        if len(rows) < _MOST_AT_ONCE:
            yield b""
            await asyncio.sleep(_POLL_SECONDS)
    yield _end("shutting_down")


async def _read_changes(
    context: AppContext, principal: Principal, rule_id: str, place: _LogPosition
) -> Sequence[RuleFiring]:
    async with context.database.reading() as session:
        # It may be shared with the caller no more.
        await access.get(session, principal, rule_id)
        ids = list(place.open_entries)
        return await logs.list_changes(session, rule_id, place.after, ids, limit=_MOST_AT_ONCE)


def _read_cursor(cursor: str) -> int:
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _LONGEST_CURSOR):
        raise InvalidCursor(cursor=cursor[:100], error="Give an id of this stream as it came")
    return int(cursor)


def _end(reason: str) -> bytes:
    return sse_event("end", {"reason": reason})
