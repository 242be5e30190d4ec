"""The tool that tells date and time."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from re import fullmatch

from pydantic import BaseModel, ConfigDict, Field

from agents.client_time import UserClock
from agents.tools.base import Tool, ToolScope, arguments_schema, with_validation
from core.auth.permissions import Permission
from core.settings.tool_policies import ToolPolicy
from core.time_zones import find_zone

NAME = "current_time"
POLICIES: Mapping[str, ToolPolicy] = {NAME: "auto"}
PERMISSIONS: Mapping[str, Permission] = {}
_UTC_NAMES = frozenset({"utc", "gmt", "z"})


class TimeArguments(BaseModel):
    """Arguments of the clock."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)

    timezone: str = Field(
        default="",
        max_length=64,
        description="IANA name such as 'Asia/Shanghai', or an offset such as '+08:00'; left out for the user's own.",
    )


def tools(scope: ToolScope) -> list[Tool]:
    """The tool; without a zone it uses the user's."""

    async def tell(arguments: TimeArguments) -> str:
        return _time_json(arguments.timezone, scope.run.time)

    return [
        Tool(
            name=NAME,
            description="The current date, time and weekday in a time zone. Use it whenever the "
            "answer depends on today's date.",
            parameters=arguments_schema(TimeArguments),
            invoke=with_validation(TimeArguments, tell),
            timeout_seconds=5,
            idempotent=True,
        )
    ]


def _time_json(name: str, person: UserClock) -> str:
    own = person.zone()
    zone = _zone(name) if name else own.zone
    if zone is None:
        return (
            f"There is no time zone {name!r}. Give an IANA name such as 'Asia/Shanghai', or an offset such as '+08:00'."
        )
    now = datetime.now(zone)
    result = {"time": now.isoformat(timespec="seconds"), "timezone": name or own.name, "weekday": now.strftime("%A")}
    return json.dumps(result)


def _zone(name: str) -> tzinfo | None:
    if name.lower() in _UTC_NAMES:
        return UTC
    offset = fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", name)
    if offset:
        hours, minutes = int(offset[2]), int(offset[3] or 0)
        if hours > 23 or minutes > 59:
            return None
        shift = timedelta(hours=hours, minutes=minutes)
        return timezone(shift if offset[1] == "+" else -shift)
    return find_zone(name)
