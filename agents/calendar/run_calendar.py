"""A person's calendar as the tools of one run reach it: each call is carried out once."""

import hashlib
from dataclasses import dataclass
from typing import Literal

from sqlalchemy.exc import IntegrityError

from agents.calendar import service as calendar_events
from agents.calendar.models import CalendarCall
from agents.calendar.service import EventDetails, EventListing, TimeRange
from agents.calendar.time_span import TimeInput, TimeSpan
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import UnitOfWork, unit_of_work

CommandAction = Literal["create", "update", "delete"]


@dataclass(frozen=True, slots=True)
class CalendarCommand:
    """What a call asks for.

    Attributes:
        event_id: Of the event to change or delete.
    """

    action: CommandAction
    event_id: str
    details: EventDetails
    said: TimeInput


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What a call did.

    Attributes:
        sequence: Of the event, after it.
        span: The times it set; None when it set none, or was carried out before.
        is_repeated: Whether the same call was carried out before.
    """

    event_id: str
    sequence: int
    span: TimeSpan | None = None
    is_repeated: bool = False


class RunCalendar:
    """The calendar of a run's owner."""

    def __init__(self, database: Database, owner_id: str, run_key: str) -> None:
        self._database = database
        self._owner_id = owner_id
        self._run_key = run_key

    async def execute(
        self, order: CalendarCommand, *, call_id: str, arguments: str
    ) -> CommandResult:
        """Carry out a call; the same one again changes nothing and gets the same answer.

        Args:
            arguments: as JSON text, always spelt the same.

        Raises:
            CalendarEventNotFound: the owner has no event of this id.
            InvalidRequest: a time or title that can't be used; nothing was changed.
        """
        key = hashlib.sha256(f"{call_id}\n{arguments}".encode()).hexdigest()
        try:
            return await self._execute_once(order, key)
        except IntegrityError:
            # The same call was carried out at this moment, by whom this run was taken up.
            return await self._execute_once(order, key)

    async def _execute_once(self, order: CalendarCommand, key: str) -> CommandResult:
        async with unit_of_work(self._database) as work:
            earlier = await work.session.get(CalendarCall, (self._run_key, key))
            if earlier is not None:
                return CommandResult(earlier.event_id, earlier.sequence, is_repeated=True)
            done = await self._carry_out(work, order)
            call = CalendarCall(
                run_id=self._run_key, call_key=key, event_id=done.event_id, sequence=done.sequence
            )
            work.session.add(call)
        return done

    async def _carry_out(self, work: UnitOfWork, order: CalendarCommand) -> CommandResult:
        if order.action == "create":
            row, span = await calendar_events.create(
                work, self._owner_id, order.details, order.said, run_key=self._run_key
            )
            return CommandResult(row.id, row.sequence, span)
        row = await calendar_events.get(work.session, self._owner_id, order.event_id)
        if order.action == "delete":
            await calendar_events.delete(work, row)
            return CommandResult(row.id, row.sequence)
        span = await calendar_events.update(work, row, order.details, order.said)
        return CommandResult(row.id, row.sequence, span)

    async def list_events(self, between: TimeRange, *, limit: int) -> EventListing:
        """The first events of a range, by their start."""
        page = PageRequest(1, limit, "start", descending=False)
        async with self._database.reading() as session:
            return await calendar_events.list_events(session, self._owner_id, between, page)
