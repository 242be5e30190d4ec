"""Validation and sealing of connection forms."""

from dataclasses import dataclass, field

from pydantic import JsonValue

from agents.mcp import connections
from agents.mcp.config import SCHEMES, McpType
from agents.mcp.connections import ConnectionFields
from agents.mcp.models import OAUTH, McpConnection
from agents.mcp.service import McpService
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import Conflict
from core.errors.requests import InvalidRequest
from core.outbound.guard import read_url

LONGEST_TOKEN = 4096
_ATTEMPTS = 5


@dataclass(frozen=True)
class ConnectionForm:
    """Fields of a connection; None keeps a field, ``config`` is replaced.

    An empty ``auth_token``, ``client_id`` or ``client_secret`` removes it.
    """

    name: str | None = None
    type: McpType | None = None
    url: str | None = None
    auth_type: str | None = None
    auth_token: str | None = field(default=None, repr=False)
    config: dict[str, JsonValue] | None = None
    enabled: bool | None = None
    client_id: str | None = None
    client_secret: str | None = field(default=None, repr=False)


async def create(database: Database, service: McpService, owner_id: str, form: ConnectionForm) -> McpConnection:
    """Create a connection and list its tools in the background."""
    blank = McpConnection(owner_id=owner_id, name="", type=McpType.STANDARD, url="", auth_type="")
    fields = await _fields(service, blank, form)
    async with unit_of_work(database) as work:
        row = await connections.create(work, owner_id, fields)
    if row.enabled:
        service.refresh_soon(row)
    return row


async def update(
    database: Database, service: McpService, which: tuple[str, str], form: ConnectionForm
) -> McpConnection:
    """Change a connection (owner's id, its id) and list its tools in the background; may raise ``Conflict``."""
    attempts = 0
    while True:
        async with database.reading() as session:
            present = await connections.get(session, *which)
        # Outside of the transaction: to ask for the addresses of a name may take long.
        fields = await _fields(service, present, form)
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


async def _fields(service: McpService, present: McpConnection, form: ConnectionForm) -> ConnectionFields:
    name = present.name if form.name is None else form.name.strip()
    if not name:
        raise InvalidRequest("name", "Must not be empty")
    kind = form.type or McpType(present.type)
    url = present.url if form.url is None else form.url
    guard = await service.guard_of(present.owner_id)
    await guard.check(url, schemes=SCHEMES[kind])
    sealed = _sealed(service, present, form, url)
    auth_type = form.auth_type or _auth_type(present, form, sealed)
    if (auth_type == "bearer") != (sealed is not None):
        raise InvalidRequest("auth_token", "`bearer` needs a token, `none` and `oauth` have none")
    if auth_type == OAUTH and kind is not McpType.STANDARD:
        raise InvalidRequest("auth_type", "`oauth` is for the type `standard`")
    client_id, sealed_secret = _client(service, present, form, url) if auth_type == OAUTH else (None, None)
    return ConnectionFields(
        name,
        kind.value,
        url,
        auth_type,
        sealed,
        present.config if form.config is None else form.config,
        present.enabled if form.enabled is None else form.enabled,
        client_id,
        sealed_secret,
    )


def _auth_type(present: McpConnection, form: ConnectionForm, sealed: str | None) -> str:
    if sealed is not None:
        return "bearer"
    stays = present.auth_type == OAUTH and form.auth_token is None
    return OAUTH if stays or form.client_id else "none"


def _client(
    service: McpService, present: McpConnection, form: ConnectionForm, url: str
) -> tuple[str | None, str | None]:
    """Id and sealed secret of the client that the owner has registered, if they have."""
    client_id = present.client_id if form.client_id is None else form.client_id.strip() or None
    if form.client_secret is not None:
        secret = service.vault.encrypt(_checked(form.client_secret, "client_secret")) if form.client_secret else None
    elif present.sealed_client_secret is not None and client_id != present.client_id:
        raise InvalidRequest("client_secret", "Give the secret of the other client, or an empty one")
    elif present.sealed_client_secret is not None and not _is_same_host(url, present):
        raise InvalidRequest("client_secret", "Give the client's secret again for another host")
    else:
        secret = present.sealed_client_secret
    if secret is not None and client_id is None:
        raise InvalidRequest("client_id", "A secret needs the id of its client")
    return client_id, secret


def _sealed(service: McpService, present: McpConnection, form: ConnectionForm, url: str) -> str | None:
    if form.auth_token is not None:
        return service.vault.encrypt(_checked(form.auth_token)) if form.auth_token else None
    if present.sealed_token is None or form.auth_type in ("none", OAUTH):
        return None
    if not _is_same_host(url, present):
        # Else whoever may change a connection could have its token sent to them.
        raise InvalidRequest("auth_token", "Give the token again for another host")
    return present.sealed_token


def _is_same_host(url: str, present: McpConnection) -> bool:
    schemes = [scheme for group in SCHEMES.values() for scheme in group]
    return read_url(url, schemes).key == read_url(present.url, schemes).key


def _checked(token: str, field_name: str = "auth_token") -> str:
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidRequest(field_name, "Must be printable ASCII without blanks")
    return token
