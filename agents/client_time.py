"""The user's time zone: from the message, the device, the profile, or else UTC."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import JsonValue

from core.errors.requests import InvalidRequest, InvalidRunInput
from core.time_zones import UTC_NAME, find_zone

ZoneSource = Literal["event_timezone", "client_time", "profile", "utc"]
# RFC 3339, section 5.6; the offset is not optional.
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)", re.ASCII)
# Range of a JavaScript date in milliseconds.
_EPOCH_MS = range(-8_640_000_000_000_000, 8_640_000_000_000_001)


@dataclass(frozen=True, slots=True)
class ClientTime:
    """``forwardedProps.client_time``: the caller's device clock and zone.

    See docs/reference/run-input.md, section "forwardedProps schema".

    Attributes:
        now: Device time with its offset.
        epoch_ms: The same time; the reference's own example differs from ``now``.
    """

    device_timezone: str
    now: datetime
    epoch_ms: int


@dataclass(frozen=True, slots=True)
class ZoneChoice:
    """A time zone and who named it."""

    zone: ZoneInfo
    source: ZoneSource

    @property
    def name(self) -> str:
        return self.zone.key


@dataclass(frozen=True, slots=True)
class UserClock:
    """Sources of a person's time zone; None where a source says nothing."""

    client_time: ClientTime | None = None
    profile_timezone: str | None = None

    def zone(self, event_timezone: str | None = None) -> ZoneChoice:
        """The time zone by docs/reference/run-input.md, section "Order of time zone sources"."""
        if event_timezone:
            return ZoneChoice(require_zone(event_timezone), "event_timezone")
        if self.client_time is not None:
            zone = find_zone(self.client_time.device_timezone)
            if zone is not None:
                return ZoneChoice(zone, "client_time")
        # Valid when set, but a later time zone database may lack it.
        zone = find_zone(self.profile_timezone or "")
        if zone is not None:
            return ZoneChoice(zone, "profile")
        return ZoneChoice(ZoneInfo(UTC_NAME), "utc")


def require_zone(name: str) -> ZoneInfo:
    """The zone of an ``event_timezone``; raises ``InvalidRequest`` for an unknown name."""
    zone = find_zone(name)
    if zone is None:
        raise InvalidRequest("event_timezone", UNKNOWN_ZONE)
    return zone


UNKNOWN_ZONE = "No such time zone: use an IANA name such as Asia/Shanghai or America/New_York"


def read_client_time(value: JsonValue) -> ClientTime | None:
    """Read ``forwardedProps.client_time``, in either spelling of its keys; None for null.

    Raises:
        InvalidRunInput: With the messages of docs/reference/run-input.md, section "client_time validation".
    """
    if value is None:
        return None
    fields = value if isinstance(value, dict) else {}
    zone = fields.get("device_timezone", fields.get("deviceTimezone"))
    if not isinstance(zone, str) or find_zone(zone) is None:
        raise _invalid("device_timezone")
    now = _moment(fields.get("client_now_iso", fields.get("clientNowIso")))
    if now is None:
        raise _invalid("client_now_iso")
    epoch_ms = fields.get("client_epoch_ms", fields.get("clientEpochMs"))
    # bool is an int in Python.
    if isinstance(epoch_ms, bool) or not isinstance(epoch_ms, int) or epoch_ms not in _EPOCH_MS:
        raise _invalid("client_epoch_ms")
    return ClientTime(zone, now, epoch_ms)


def _invalid(name: str) -> InvalidRunInput:
    field = f"client_time.{name}"
    return InvalidRunInput(f"forwardedProps.{field}", f"invalid {field}", f"{field} 无效")


def _moment(value: JsonValue) -> datetime | None:
    if not isinstance(value, str) or not _RFC3339.fullmatch(value):
        return None
    try:
        return datetime.fromisoformat(value.upper())
    except ValueError:
        return None
