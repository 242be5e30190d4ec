"""How long an MCP server may take, and how much it may say."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Bounds of all connections; what is beyond them is an error of the server's.

    Attributes:
        connect_seconds: to connect and agree on a protocol version.
        list_seconds: for the whole list of tools.
        idle_seconds: after which a session that nobody uses is closed.
        fresh_seconds: how long a list of tools is not asked for again by runs.
        message_bytes: of one message; small enough that reading it holds up nobody.
        answer_bytes: of all that comes in answer to one request.
        unasked_messages: in a row, over a WebSocket.
        tools: of one server; the rest are left out.
        schema_characters: of one tool's schema as JSON; a tool with a larger one is left out.
        description_characters: of one tool's description; a longer one is cut.
        owner_tools: of all servers of one person; the rest are left out.
        owner_characters: of the JSON of these tools; small enough that reading it holds up nobody.
        most_pause_seconds: between attempts to reach a server that is down.
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


def mcp_limits(call_seconds: float) -> McpLimits:
    """The bounds where one call may take so long; nothing else may take longer."""
    usual = McpLimits()
    return McpLimits(
        call_seconds=call_seconds,
        connect_seconds=min(usual.connect_seconds, call_seconds),
        list_seconds=min(usual.list_seconds, call_seconds),
    )
