"""Events that MCP servers send: what happened there, without being asked."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from mcp.client._transport import ReadStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, JSONRPCNotification
from pydantic import JsonValue

from core.json_access import as_object, as_text

_EVENT = "notifications/event"
# What the protocol itself has for things that happened, by the names that rules know them by.
_NAMES = {
    "notifications/message": "mcp.message",
    "notifications/resources/updated": "mcp.resource_updated",
}
_LONGEST_TYPE = 200


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """An event as a server sends it; ``id`` and ``time`` are empty where it names none."""

    type: str
    data: JsonValue
    id: str = ""
    time: str = ""


@dataclass(frozen=True, slots=True)
class DeclaredEventType:
    """A type of event that a server declares among its experimental capabilities, with a JSON Schema of the data."""

    type: str
    description: str
    schema: JsonValue


EventHandler = Callable[[ServerEvent], Awaitable[None]]


def is_event(message: JSONRPCMessage) -> bool:
    """Whether a message is an event, which no request waits for."""
    return isinstance(message, JSONRPCNotification) and (message.method == _EVENT or message.method in _NAMES)


def read_event(method: str, params: Mapping[str, Any] | None) -> ServerEvent | None:
    """The event of a notification; None for a notification that is none. Whether its type is usable is not judged here."""
    fields = as_object(dict(params or {}))
    if method in _NAMES:
        return ServerEvent(_NAMES[method], {name: value for name, value in fields.items() if name != "_meta"})
    if method != _EVENT:
        return None
    return ServerEvent(
        as_text(fields.get("type")),
        fields.get("data"),
        _id_of(fields.get("id")),
        as_text(fields.get("time")) or as_text(fields.get("timestamp")),
    )


def _id_of(value: JsonValue) -> str:
    """An id as text; many servers number their events."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else as_text(value)


def declared_event_types(experimental: Mapping[str, Any] | None) -> list[DeclaredEventType]:
    """The types in a server's ``capabilities.experimental.events``: ``{type: {description, schema}}``."""
    declared = as_object(as_object(dict(experimental or {})).get("events"))
    return [
        DeclaredEventType(name, as_text(as_object(fields).get("description")), as_object(fields).get("schema"))
        for name, fields in declared.items()
        if 0 < len(name) <= _LONGEST_TYPE
    ]


class EventFilter:
    """The messages of a server without its events, which ``handler`` takes.

    The next message is read when the handler has returned: a server that sends faster than its events are accepted is
    slowed down by its own connection. Without a handler, events are dropped.
    """

    def __init__(self, inner: ReadStream[SessionMessage | Exception], handler: EventHandler | None) -> None:
        self._inner = inner
        self._handler = handler

    @property
    def last_context(self) -> object:
        """The context of the message that was read last."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        while True:
            item = await self._inner.receive()
            if not await self._take(item):
                return item

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            item = await anext(self._inner)
            if not await self._take(item):
                return item

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> bool | None:
        return await self._inner.__aexit__(exc_type, exc_val, exc_tb)

    async def _take(self, item: SessionMessage | Exception) -> bool:
        if isinstance(item, Exception) or not is_event(item.message):
            return False
        message = item.message
        if self._handler is not None and isinstance(message, JSONRPCNotification):
            event = read_event(message.method, message.params)
            if event is not None:
                await self._handler(event)
        # The library logs a message of a server's log, and knows no other events.
        return True
