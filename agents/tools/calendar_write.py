"""The tool that creates, changes and deletes events in the user's calendar."""

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from agents.calendar.run_calendar import CalendarCommand, CommandResult, RunCalendar
from agents.calendar.service import LONGEST_LOCATION, LONGEST_NOTES, LONGEST_TITLE, EventDetails
from agents.calendar.time_span import TimeInput
from agents.client_time import UserClock
from agents.tools.base import Tool, ToolScope, argument_error, arguments_schema, current_call_id, with_validation
from core.auth.permissions import Permission
from core.errors.requests import InvalidRequest
from core.settings.tool_policies import ToolPolicy
from core.text.sanitize import Storable
from core.time_zones import LONGEST_NAME

NAME = "calendar_write"
# The user's own calendar: private, and every change can be undone.
POLICIES: Mapping[str, ToolPolicy] = {NAME: "auto"}
PERMISSIONS: Mapping[str, Permission] = {NAME: Permission.CALENDAR_WRITE}
_STATUS = {"create": "created", "update": "updated", "delete": "deleted"}


class CalendarWriteArguments(BaseModel):
    """Arguments of a change to the calendar."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    action: Literal["create", "update", "delete"]
    event_timezone: Storable = Field(
        min_length=1,
        max_length=LONGEST_NAME,
        description="IANA name of the time zone in which start and end are meant.",
    )
    event_id: Storable = Field(default="", max_length=36, description="Which event to update or delete, from its id.")
    title: Storable | None = Field(default=None, max_length=LONGEST_TITLE, description="Needed to create.")
    start: Storable | None = Field(
        default=None,
        max_length=40,
        description="Local time without offset, such as 2026-03-17T09:00; for an all-day event the "
        "first day, such as 2026-03-17. Needed to create.",
    )
    end: Storable | None = Field(
        default=None,
        max_length=40,
        description="Like start; for an all-day event the day after its last one. Left out: an "
        "hour, or a day; on update the event keeps its length.",
    )
    all_day: bool | None = None
    location: Storable | None = Field(default=None, max_length=LONGEST_LOCATION)
    notes: Storable | None = Field(default=None, max_length=LONGEST_NOTES)


def tools(scope: ToolScope) -> list[Tool]:
    """The tool for the owner's calendar, if there is one."""
    book = scope.run.calendar
    if book is None:
        return []

    async def write(arguments: CalendarWriteArguments) -> str:
        try:
            return await _write(arguments, book, scope.run.time)
        except InvalidRequest as fault:
            raise argument_error(NAME, fault) from fault

    own = scope.run.time.zone()
    return [
        Tool(
            name=NAME,
            description="Create, update or delete one event in the user's calendar. Always say the "
            f"time zone; the user's own is {own.name}. Take today's date from current_time, and an "
            "event's id from calendar_read. Each call is carried out once.",
            parameters=arguments_schema(CalendarWriteArguments),
            invoke=with_validation(CalendarWriteArguments, write),
            output_characters=4000,
            # The call id makes repeated calls idempotent.
            idempotent=True,
            in_order=True,
        )
    ]


async def _write(arguments: CalendarWriteArguments, book: RunCalendar, time: UserClock) -> str:
    if arguments.action != "create" and not arguments.event_id:
        raise InvalidRequest("event_id", "Say which event; calendar_read gives the ids")
    zone = time.zone(arguments.event_timezone).zone
    order = CalendarCommand(
        arguments.action,
        arguments.event_id,
        EventDetails(arguments.title, arguments.location, arguments.notes),
        TimeInput(zone, arguments.start, arguments.end, arguments.all_day),
    )
    arguments_json = arguments.model_dump_json()
    done = await book.execute(order, call_id=current_call_id(), arguments=arguments_json)
    return json.dumps(_result_json(arguments.action, done), ensure_ascii=False)


def _result_json(action: str, done: CommandResult) -> dict[str, JsonValue]:
    """Ids, status and UTC times, but none of the user's texts."""
    result: dict[str, JsonValue] = {"status": _STATUS[action], "id": done.event_id, "sequence": done.sequence}
    if done.span is not None:
        result["start_utc"] = done.span.starts_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        result["end_utc"] = done.span.ends_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        if done.span.notes:
            result["notes"] = list[JsonValue](done.span.notes)
    if done.is_repeated:
        result["repeated"] = True
    return result
