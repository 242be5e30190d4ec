"""Tables of MCP connections, of their last tool lists, and of what authorization servers granted for them."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue
from sqlalchemy import JSON, Index, Text
from sqlmodel import Field

from core.db.base import Table
from core.db.types import ID_LENGTH, UtcDateTime, new_id, utc_now
from core.outbound.guard import LONGEST_URL

LONGEST_NAME = 100
LONGEST_CLIENT_ID = 2048
OAUTH = "oauth"
"""The authentication of connections that their owner authorizes at an authorization server."""


class McpStatus(StrEnum):
    """How the last contact with a server went."""

    UNKNOWN = "unknown"
    CONNECTED = "connected"
    NEEDS_AUTHORIZATION = "needs_authorization"
    ERROR = "error"


class McpConnection(Table, table=True):
    """A person's connection to an MCP server, visible to its owner only.

    ``sealed_token`` needs the installation's secret key. ``fault`` names the last contact's fault. ``left_out`` are the
    tools that the server listed last and agents don't get, each with its reason; ``features`` what it has besides
    tools. ``version`` counts changes by the owner, so that results of an earlier address are not stored for the current
    one. ``client_id`` is what the owner registered at the authorization server; without one, Agentex registers itself.
    ``challenge`` is the ``WWW-Authenticate`` of the last answer that asked for an authorization.
    """

    id: str = Field(default_factory=new_id, primary_key=True, max_length=ID_LENGTH)
    owner_id: str = Field(foreign_key="user.id", ondelete="CASCADE", max_length=ID_LENGTH)
    name: str = Field(max_length=LONGEST_NAME)
    type: str = Field(max_length=20)
    url: str = Field(max_length=LONGEST_URL)
    auth_type: str = Field(max_length=20)
    sealed_token: str | None = Field(default=None, sa_type=Text)
    client_id: str | None = Field(default=None, max_length=LONGEST_CLIENT_ID)
    sealed_client_secret: str | None = Field(default=None, sa_type=Text)
    challenge: str | None = Field(default=None, sa_type=Text)
    config: dict[str, JsonValue] = Field(default_factory=dict, sa_type=JSON)
    enabled: bool = True
    version: int = 1
    status: str = Field(default=McpStatus.UNKNOWN.value, max_length=20)
    fault: str | None = Field(default=None, max_length=40)
    tool_count: int = 0
    features: list[JsonValue] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    left_out: list[JsonValue] = Field(default_factory=list, sa_type=JSON, sa_column_kwargs={"server_default": "[]"})
    checked_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    created_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)
    updated_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)

    __table_args__ = (Index("uq_mcp_connection_owner_name", "owner_id", "name", unique=True),)


class McpToolList(Table, table=True):
    """A server's last good tool list, which runs also use while the server is down."""

    connection_id: str = Field(
        primary_key=True, foreign_key="mcp_connection.id", ondelete="CASCADE", max_length=ID_LENGTH
    )
    tools: list[JsonValue] = Field(default_factory=list, sa_type=JSON)
    listed_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class McpAuthorization(Table, table=True):
    """What an authorization server granted for a connection, sealed, and who is renewing it.

    ``grant_id`` is new with each sign-in: an MCP session belongs to one grant. ``revision`` counts renewals.
    ``expires_at`` is the access token's end, None if the server does not say.
    """

    connection_id: str = Field(
        primary_key=True, foreign_key="mcp_connection.id", ondelete="CASCADE", max_length=ID_LENGTH
    )
    grant_id: str = Field(default_factory=new_id, max_length=ID_LENGTH)
    issuer: str = Field(max_length=LONGEST_URL)
    scope: str | None = Field(default=None, sa_type=Text)
    sealed_grant: str = Field(sa_type=Text)
    is_valid: bool = True
    expires_at: datetime | None = Field(default=None, sa_type=UtcDateTime)
    revision: int = 1
    renewer: str | None = Field(default=None, max_length=ID_LENGTH)
    renewer_until: datetime | None = Field(default=None, sa_type=UtcDateTime)
    authorized_at: datetime = Field(default_factory=utc_now, sa_type=UtcDateTime)


class McpAuthorizationAttempt(Table, table=True):
    """A person on their way to an authorization server and back; a connection has one, the latest.

    ``sealed_request`` holds the verifier; ``version`` is the connection's when it began.
    """

    connection_id: str = Field(
        primary_key=True, foreign_key="mcp_connection.id", ondelete="CASCADE", max_length=ID_LENGTH
    )
    state_digest: str = Field(max_length=64)
    sealed_request: str = Field(sa_type=Text)
    version: int
    expires_at: datetime = Field(sa_type=UtcDateTime)

    __table_args__ = (Index("uq_mcp_authorization_attempt_state_digest", "state_digest", unique=True),)
