"""What owners say of their connections: checked and sealed before it is kept."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.connections import ConnectionFields
from agents.mcp.models import McpConnection
from agents.mcp.service import McpService
from agents.mcp.target import WEBSOCKET_SCHEMES, McpType
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url

LONGEST_TOKEN = 4096
_ATTEMPTS = 5
_SCHEMES = {McpType.STANDARD: ("https", "http"), McpType.WEBSOCKET: WEBSOCKET_SCHEMES}


@dataclass(frozen=True)
class ConnectionForm:
    """What a caller says of a connection; None is not said.

    Args:
        auth_token: a new one; empty takes the stored one away.
        config: replaces the whole of it.
    """

    name: str | None = None
    type: McpType | None = None
    url: str | None = None
    auth_type: str | None = None
    auth_token: str | None = field(default=None, repr=False)
    config: dict[str, JsonValue] | None = None
    enabled: bool | None = None


async def create(
    database: Database, service: McpService, owner_id: str, said: ConnectionForm
) -> McpConnection:
    """Keep a new connection, and look at its server beside.

    Raises:
        InvalidRequest: a field can't be used.
        UrlNotAllowed: its address is not called.
        McpNameTaken, McpConnectionsFull: it can't be kept.
    """
    blank = McpConnection(owner_id=owner_id, name="", type=McpType.STANDARD, url="", auth_type="")
    fields = await _fields(service, blank, said)
    async with unit_of_work(database) as work:
        row = await connections.create(work, owner_id, fields)
    if row.enabled:
        service.refresh_soon(row)
    return row


async def update(
    database: Database, service: McpService, which: tuple[str, str], said: ConnectionForm
) -> McpConnection:
    """Change a connection, and look at its server beside.

    Args:
        which: the owner's id and the connection's.
        said: what is to be another.

    Raises:
        McpConnectionNotFound: the owner has none of this id.
        InvalidRequest: a field can't be used, or the token of one host would go to another.
        UrlNotAllowed: its address is not called.
        McpNameTaken: the owner has another one of this name.
        Conflict: others changed it again and again.
    """
    attempts = 0
    while True:
        async with database.reading() as session:
            present = await connections.get(session, *which)
        # Outside of the transaction: to ask for the addresses of a name may take long.
        fields = await _fields(service, present, said)
        try:
            async with unit_of_work(database) as work:
                row = await connections.update(work, *which, fields, present.version)
            break
        except Conflict:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
    await service.discard(row.id)
    if row.enabled:
        service.refresh_soon(row)
    return row


async def _fields(
    service: McpService, present: McpConnection, said: ConnectionForm
) -> ConnectionFields:
    name = present.name if said.name is None else said.name.strip()
    if not name:
        raise InvalidRequest("name", "Must not be empty")
    kind = said.type or McpType(present.type)
    url = present.url if said.url is None else said.url
    await service.guard.check(url, schemes=_SCHEMES[kind])
    sealed = _sealed(service, present, said, url)
    auth_type = said.auth_type or ("bearer" if sealed else "none")
    if (auth_type == "bearer") != (sealed is not None):
        raise InvalidRequest("auth_token", "`bearer` needs a token, and `none` has none")
    return ConnectionFields(
        name,
        kind.value,
        url,
        auth_type,
        sealed,
        present.config if said.config is None else said.config,
        present.enabled if said.enabled is None else said.enabled,
    )


def _sealed(
    service: McpService, present: McpConnection, said: ConnectionForm, url: str
) -> str | None:
    if said.auth_token is not None:
        return service.vault.encrypt(_checked(said.auth_token)) if said.auth_token else None
    if present.sealed_token is None or said.auth_type == "none":
        return None
    schemes = [scheme for known in _SCHEMES.values() for scheme in known]
    if read_url(url, schemes).key != read_url(present.url, schemes).key:
        # Else whoever may change a connection could have its token sent to them.
        raise InvalidRequest("auth_token", "Give the token again for another host")
    return present.sealed_token


def _checked(token: str) -> str:
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidRequest("auth_token", "Must be printable ASCII without blanks")
    return token
