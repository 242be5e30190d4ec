"""Structured logs: one JSON line per event, with the request's id and without secrets."""

import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, cast

import structlog
from pydantic import JsonValue
from structlog.typing import Processor

from core.settings import Settings

_REDACTED = "[redacted]"
_NOISY = ("httpx", "httpcore", "httpx2", "httpcore2", "arq.worker", "alembic.runtime.migration", "aiosqlite")
# The MCP library's, which log whole messages, and the errors of messages with parts of them, and Git's, which logs what
# it receives.
_TELLTALE = ("mcp", "client", "dulwich")
_SECRET_KEYS = re.compile(r"password|secret|token|authorization|cookie|api[_-]?key|credential", re.IGNORECASE)
_SECRET_VALUES = re.compile(
    r"(?i:bearer)\s+[\w.~+/=-]+"  # Authorization headers
    r"|\bsk-[\w-]{8,}"  # API keys, ours and those of model providers
    r"|\beyJ[\w-]+\.[\w-]+\.[\w-]+"  # JSON web tokens
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"  # credentials in URLs; Redis has no user name
)


def redact_secrets(_logger: object, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace what looks like a secret, by key name or by shape, in every field of a log event."""
    for key, value in event.items():
        event[key] = _redacted(key, value)
    return event


def redact(fields: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Redact JSON-ready fields that are stored elsewhere than in a log."""
    return {name: cast(JsonValue, _redacted(name, value)) for name, value in fields.items()}


def _redacted(key: str, value: object) -> object:
    if isinstance(value, str):
        if _SECRET_KEYS.search(key):
            return _REDACTED
        return _SECRET_VALUES.sub(_REDACTED, value)
    if isinstance(value, dict):
        items = cast(dict[object, object], value).items()
        return {name: _redacted(str(name), item) for name, item in items}
    if isinstance(value, list | tuple):
        return [_redacted(key, item) for item in cast(list[object], value)]
    return value


def configure_logging(settings: Settings, *, part: str) -> None:
    """Send structlog and the standard library's loggers to stderr; lines name the ``part`` (``api``, ``worker``)."""
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        redact_secrets,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer: Processor = (
        structlog.processors.JSONRenderer(ensure_ascii=False)
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer]
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level.upper())
    for noisy in _NOISY:
        logging.getLogger(noisy).setLevel(max(logging.WARNING, root.level))
    for telltale in _TELLTALE:
        logging.getLogger(telltale).setLevel(logging.CRITICAL + 1)
    structlog.contextvars.bind_contextvars(part=part)


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A logger; events are short facts (``documents.completed``), everything else is a field."""
    return structlog.stdlib.get_logger(name)
