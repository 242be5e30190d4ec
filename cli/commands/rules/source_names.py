"""The names of what events come from: event sources and MCP connections."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import Field

from cli.arguments import is_id
from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.errors import CommandFailed, ServerRefused
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from core.errors.auth import EventSourceNotFound, PermissionDenied
from core.errors.conflicts import Conflict

SOURCES_PATH = "/api/v1/rules/sources"
_CONNECTIONS_PATH = "/api/v1/mcp/connections"
_PLATFORM = "platform"
_LISTED = 12


class EventDropRecord(Record):
    """How many events of a source were dropped for a reason."""

    source_id: str = ""
    reason: str = ""
    count: int = 0
    last_at: datetime | None = None


class EventSourceRecord(Record):
    """An event source; ``url`` is relative to the server."""

    id: str
    name: str
    url: str = ""
    created_at: str = ""
    drops: list[EventDropRecord] = Field(default_factory=list[EventDropRecord])


class _EventSourceList(Record):
    items: list[EventSourceRecord]


class _NamedConnection(Record):
    id: str
    name: str


async def list_event_sources(client: ApiClient) -> list[EventSourceRecord]:
    """The caller's event sources, oldest first."""
    return client.read(_EventSourceList, await client.call("GET", SOURCES_PATH)).items


async def source_names(client: ApiClient) -> dict[str, str]:
    """The names of the caller's event sources and MCP connections, by id."""
    names = {source.id: source.name for source in await list_event_sources(client)}
    try:
        async for page in client.pages(_CONNECTIONS_PATH):
            names |= {row.id: row.name for row in (client.read(_NamedConnection, item) for item in page)}
    except ServerRefused as refused:
        # Whoever may not see connections reads their ids.
        if refused.code != PermissionDenied.code:
            raise
    return names


async def find_source_id(client: ApiClient, name: str) -> str:
    """The id of a source: as it is, or by the name of an event source or MCP connection."""
    if name == _PLATFORM or is_id(name):
        return name
    names = await source_names(client)
    matches = [source_id for source_id, text in names.items() if text == name]
    if not matches:
        listed = ", ".join([*names.values()][:_LISTED]) or "-"
        raise CommandFailed(EventSourceNotFound(), messages.SOURCE_UNKNOWN, wanted=name, names=listed)
    if len(matches) > 1:
        raise CommandFailed(Conflict(), messages.SOURCE_AMBIGUOUS, wanted=name, ids=", ".join(matches))
    return matches[0]


def show_drops(output: Output, drops: Sequence[EventDropRecord], names: Mapping[str, str]) -> None:
    """Print what was dropped of which source, why, and when last."""
    for drop in drops:
        reason = messages.DROP_REASONS.get(drop.reason)
        text = output.render(
            messages.DROPPED,
            source=names.get(drop.source_id, drop.source_id),
            count=drop.count,
            reason=output.render(reason) if reason else drop.reason,
            last=f"{drop.last_at:%Y-%m-%d %H:%M} UTC" if drop.last_at else "-",
        )
        output.print(text, "yellow")
