"""Column types and column defaults."""

import re
import time
import uuid
from datetime import UTC, datetime

from sqlalchemy import DateTime, Dialect
from sqlalchemy.types import TypeDecorator

ID_LENGTH = 36
_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_id() -> str:
    """A random UUID version 4."""
    return str(uuid.uuid4())


def is_id(text: str) -> bool:
    """Whether a text looks like a :func:`new_id`."""
    return _ID.fullmatch(text) is not None


def utc_now() -> datetime:
    """The current time, aware, in UTC."""
    return datetime.now(UTC)


class UtcDateTime(TypeDecorator[datetime]):
    """A UTC datetime; SQLite drops the zone, so reading restores it."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse naive values, which would silently shift."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a moment without a zone can't be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
