"""Calendar of a run's owner, with idempotent commands."""

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
    """A change to the calendar; ``event_id`` is of the event to update or delete."""

    action: CommandAction
    event_id: str
    details: EventDetails
    times: TimeInput


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Outcome of a command: the times it set, and whether the same call was executed before."""

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

    async def execute(self, command: CalendarCommand, *, call_id: str, arguments: str) -> CommandResult:
        """Execute a command with canonical JSON arguments; a repeated call changes nothing and gets the same result."""
        key = hashlib.sha256(f"{call_id}\n{arguments}".encode()).hexdigest()
        try:
            return await self._execute_once(command, key)
        except IntegrityError:
            # The same call was carried out at this moment, by whom this run was taken up.
            return await self._execute_once(command, key)

    async def _execute_once(self, command: CalendarCommand, key: str) -> CommandResult:
        async with unit_of_work(self._database) as work:
            earlier = await work.session.get(CalendarCall, (self._run_key, key))
            if earlier is not None:
                return CommandResult(earlier.event_id, earlier.sequence, is_repeated=True)
            done = await self._carry_out(work, command)
            call = CalendarCall(run_id=self._run_key, call_key=key, event_id=done.event_id, sequence=done.sequence)
            work.session.add(call)
        return done

    async def _carry_out(self, work: UnitOfWork, command: CalendarCommand) -> CommandResult:
        if command.action == "create":
            row, span = await calendar_events.create(
                work, self._owner_id, command.details, command.times, run_key=self._run_key
            )
            return CommandResult(row.id, row.sequence, span)
        row = await calendar_events.get(work.session, self._owner_id, command.event_id)
        if command.action == "delete":
            await calendar_events.delete(work, row)
            return CommandResult(row.id, row.sequence)
        span = await calendar_events.update(work, row, command.details, command.times)
        return CommandResult(row.id, row.sequence, span)

    async def list_events(self, between: TimeRange, *, limit: int) -> EventListing:
        page = PageRequest(1, limit, "start", descending=False)
        async with self._database.reading() as session:
            return await calendar_events.list_events(session, self._owner_id, between, page)
