"""``agentex admin keys``: the caller's API keys, and those of accounts they manage."""

from datetime import datetime
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command, command_group
from cli.commands.admin.users import find_user
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import admin as messages
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm
from core.errors.auth import ApiKeyNotFound
from core.errors.conflicts import Conflict

UserOption = Annotated[
    str | None, typer.Option("--user", help="Whose: a user name, e-mail address or id; without it your own.")
]
_OWN = "/api/v1/users/me/api-keys"


class _KeyRecord(Record):
    id: str
    name: str
    key_prefix: str
    scopes: list[str] | None = None
    last_used_at: datetime | None = None
    expires_at: datetime | None = None


class _NewKeyRecord(Record):
    id: str
    name: str
    key: str


async def _path(client: ApiClient, user: str | None) -> str:
    if user is None:
        return _OWN
    return f"/api/v1/admin/users/{(await find_user(client, user)).id}/api-keys"


async def _all(client: ApiClient, path: str) -> list[_KeyRecord]:
    return [client.read(_KeyRecord, item) async for page in client.pages(path) for item in page]


@client_command
async def list_keys(output: Output, client: ApiClient, user: UserOption = None) -> ExitCode:
    """List API keys, without the keys themselves."""
    keys = await _all(client, await _path(client, user))
    output.emit({"items": [key.to_json() for key in keys], "total": len(keys)})
    columns = (messages.KEY_NAME, messages.KEY_PREFIX, messages.PERMISSIONS, messages.LAST_USED,
               messages.ENDS, messages.ID)  # fmt: skip
    output.table(columns, [_row(output, key) for key in keys])
    return ExitCode.OK


def _row(output: Output, key: _KeyRecord) -> tuple[str, ...]:
    scopes = output.render(messages.ALL) if key.scopes is None else ", ".join(key.scopes) or "-"
    used, ends = _moment(key.last_used_at), _moment(key.expires_at)
    return key.name, key.key_prefix, scopes, used, ends, key.id


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "-"


@client_command
async def create(
    output: Output,
    client: ApiClient,
    name: Annotated[str, typer.Argument(help="To tell keys apart.")],
    permission: Annotated[
        list[str] | None, typer.Option("--permission", help="Only these, such as kb:view; may come many times.")
    ] = None,
    ends: Annotated[datetime | None, typer.Option("--ends", help="When it ends (UTC), such as 2027-01-31.")] = None,
) -> ExitCode:
    """Make an API key of your own; it is shown once, alone on standard output."""
    wishes: JsonObject = {"name": name}
    if permission:
        wishes["scopes"] = [*permission]
    if ends is not None:
        wishes["expires_at"] = f"{ends.isoformat()}Z"
    made = client.read(_NewKeyRecord, await client.call("POST", _OWN, body=wishes))
    output.remark(messages.KEY_MADE, name=made.name)
    output.print(made.key)
    output.emit(made.to_json())
    return ExitCode.OK


@client_command
async def revoke(
    output: Output,
    client: ApiClient,
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its name, its prefix or its id.")],
    user: UserOption = None,
    yes: YesOption = False,
) -> ExitCode:
    """Revoke an API key: it is refused at once, its open streams end within seconds."""
    path = await _path(client, user)
    fitting = [key_row for key_row in await _all(client, path) if key in {key_row.id, key_row.name, key_row.key_prefix}]
    if not fitting:
        raise CommandFailed(ApiKeyNotFound(), messages.KEY_UNKNOWN, wanted=key)
    if len(fitting) > 1:
        ids = ", ".join(key_row.id for key_row in fitting)
        raise CommandFailed(Conflict(), messages.KEY_AMBIGUOUS, wanted=key, ids=ids)
    (row,) = fitting
    if not confirm(output, yes, messages.KEY_CONFIRM, name=row.name, prefix=row.key_prefix):
        return ExitCode.FAILED
    await client.call("DELETE", f"{path}/{quote(row.id, safe='')}")
    output.say(messages.KEY_REVOKED, name=row.name)
    output.emit({"id": row.id, "name": row.name, "revoked": True})
    return ExitCode.OK


app = command_group(
    "API keys: your own, or those of an account.", {"list": list_keys, "create": create, "revoke": revoke}
)
