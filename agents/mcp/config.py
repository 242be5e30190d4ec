"""Targets and limits of MCP sessions."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.outbound.guard import read_url
from core.types.network import HostPort

WEBSOCKET_SCHEMES = ("ws", "wss")


class McpType(StrEnum):
    """The transports of seed 002, section 7.2; one that starts programs is none of them."""

    STANDARD = "standard"
    WEBSOCKET = "websocket"


SCHEMES = {McpType.STANDARD: ("https", "http"), McpType.WEBSOCKET: WEBSOCKET_SCHEMES}


@dataclass(frozen=True, slots=True)
class McpTarget:
    """Session key: a change of any field needs a new session.

    ``pause_seconds`` follow a failure, doubled each time; ``is_administrators`` is what its owner is now. ``grant_id``
    is of the authorization whose tokens the requests of an OAuth connection carry; empty without one.
    """

    connection_id: str
    type: McpType
    url: str
    token: str = ""
    heartbeat_seconds: float | None = None
    pause_seconds: float = 5
    max_retries: int = 3
    is_administrators: bool = False
    is_oauth: bool = False
    grant_id: str = ""
    owner_id: str = ""

    @property
    def address(self) -> HostPort:
        return read_url(self.url, SCHEMES[self.type])

    @property
    def headers(self) -> Mapping[str, str]:
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def __repr__(self) -> str:
        return f"McpTarget({self.connection_id})"


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Bounds of all sessions; a server that exceeds them has failed.

    Attributes:
        idle_seconds: after which an unused session is closed.
        fresh_seconds: age up to which runs use a tool list without asking again.
        message_bytes: small enough to parse without blocking the event loop.
        answer_bytes: of all messages that answer one request.
        tools: of one server; the rest are left out.
        schema_characters: of one tool's schema as JSON; a tool with a larger one is left out.
        description_characters: of one tool; longer ones are cut.
        owner_tools: of all servers of one person; the rest are left out.
        owner_characters: of their JSON.
        most_pause_seconds: between attempts to reach a failing server.
        streams: of unasked messages that a session opens over HTTP, one after the other.
        hold_seconds: that a call waits on its connection for a person to answer its server.
        change_pause_seconds: between looks at a list that its server says has changed.
    """

    connect_seconds: float = 10
    list_seconds: float = 15
    call_seconds: float = 60
    idle_seconds: float = 300
    fresh_seconds: float = 300
    message_bytes: int = 2**20
    answer_bytes: int = 4 * 2**20
    unasked_messages: int = 1000
    tools: int = 200
    pages: int = 20
    schema_characters: int = 32_768
    description_characters: int = 2000
    owner_tools: int = 1000
    owner_characters: int = 2**20
    most_pause_seconds: float = 300
    streams: int = 20
    change_pause_seconds: float = 5
    hold_seconds: float = 600


def mcp_limits(call_seconds: float, hold_seconds: float) -> McpLimits:
    """Limits with this bound on calls, none of those on contacts above it, and this bound on questions."""
    usual = McpLimits()
    return McpLimits(
        call_seconds=call_seconds,
        hold_seconds=hold_seconds,
        connect_seconds=min(usual.connect_seconds, call_seconds),
        list_seconds=min(usual.list_seconds, call_seconds),
    )
