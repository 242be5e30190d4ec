"""Where an MCP server is and how it is spoken to."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

WEBSOCKET_SCHEMES = ("ws", "wss")


class McpType(StrEnum):
    """The transports of seed 002, section 7.2; one that starts programs is none of them."""

    STANDARD = "standard"
    WEBSOCKET = "websocket"


@dataclass(frozen=True, slots=True)
class McpTarget:
    """All that a session depends on: another one of any of it is another session.

    Attributes:
        token: sent as a bearer token; empty for none.
        heartbeat_seconds: between pings of a WebSocket; None for none.
        pause_seconds: before a server that failed is tried again; doubled each time.
        max_retries: failures in a row before pauses begin.
    """

    connection_id: str
    type: McpType
    url: str
    token: str = ""
    heartbeat_seconds: float | None = None
    pause_seconds: float = 5
    max_retries: int = 3

    @property
    def headers(self) -> Mapping[str, str]:
        """The credentials of each request."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}

    def __repr__(self) -> str:
        return f"McpTarget({self.connection_id})"
