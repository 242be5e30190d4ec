"""``agentex admin roles``: built-in and custom roles."""

from typing import Annotated

import typer
from pydantic import Field, JsonValue

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command, command_group
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import admin as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from cli.ui.prompts import DeletionPrompt, YesOption, delete_with_prompt
from core.errors.auth import RoleNotFound

_PATH = "/api/v1/admin/roles"
RoleArgument = Annotated[str, typer.Argument(metavar="ROLE", help="The role, by its name or id.")]
ShownAsOption = Annotated[str | None, typer.Option("--shown-as", help="What people see.")]
PermissionOption = Annotated[
    list[str] | None, typer.Option("--permission", help="Such as kb:write, as `list` shows them; may come many times.")
]


class RoleRecord(Record):
    """A role and the names of its permissions."""

    id: str
    name: str
    display_name: str = ""
    permissions: list[str]


class _RoleList(Record):
    items: list[RoleRecord]
    permissions: list[str] = Field(default_factory=list[str])


async def _roles(client: ApiClient) -> _RoleList:
    return client.read(_RoleList, await client.call("GET", _PATH))


async def find_role(client: ApiClient, name: str) -> RoleRecord:
    """The role with this name or id."""
    return _pick(await _roles(client), name)


def _pick(roles: _RoleList, name: str) -> RoleRecord:
    # Ids first: a name may look like one.
    fitting = [role for role in roles.items if role.id == name]
    fitting += [role for role in roles.items if role.name == name]
    if fitting:
        return fitting[0]
    names = ", ".join(role.name for role in roles.items)
    raise CommandFailed(RoleNotFound(), messages.ROLE_UNKNOWN, wanted=name, names=names)


@client_command
async def list_roles(output: Output, client: ApiClient) -> ExitCode:
    """List the roles and what they allow."""
    roles = await _roles(client)
    output.emit(roles.to_json())
    columns = (messages.ROLE, messages.SHOWN_AS, messages.PERMISSIONS, messages.ID)
    rows = [(role.name, role.display_name, ", ".join(role.permissions), role.id) for role in roles.items]
    output.table(columns, rows)
    return ExitCode.OK


@client_command
async def show(output: Output, client: ApiClient, role: RoleArgument) -> ExitCode:
    """Show a role, and which permissions it lacks."""
    roles = await _roles(client)
    row = _pick(roles, role)
    lacking = [name for name in roles.permissions if name not in row.permissions]
    output.emit({**row.to_json(), "lacking": [*lacking]})
    output.facts(
        (
            (messages.ROLE, row.name),
            (messages.SHOWN_AS, row.display_name or "-"),
            (messages.ID, row.id),
            (messages.PERMISSIONS, ", ".join(row.permissions) or "-"),
            (messages.LACKING, ", ".join(lacking) or "-"),
        )
    )
    return ExitCode.OK


@client_command
async def create(
    output: Output,
    client: ApiClient,
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits, _ or -.")],
    shown_as: ShownAsOption = None,
    permission: PermissionOption = None,
) -> ExitCode:
    """Make a role of your own."""
    draft: JsonObject = {"name": name, "display_name": shown_as or name, "permissions": [*(permission or ())]}
    return await _save(output, client, ("POST", _PATH), draft, messages.ROLE_MADE)


@client_command
async def edit(
    output: Output,
    client: ApiClient,
    role: RoleArgument,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    shown_as: ShownAsOption = None,
    permission: PermissionOption = None,
) -> ExitCode:
    """Change a role; its permissions become those that are given."""
    row = await find_role(client, role)
    names: list[JsonValue] | None = None if permission is None else [*permission]
    fields: JsonObject = {"name": name, "display_name": shown_as, "permissions": names}
    draft: JsonObject = {key: value for key, value in fields.items() if value is not None}
    return await _save(output, client, ("PUT", f"{_PATH}/{row.id}"), draft, messages.ROLE_CHANGED)


@client_command
async def delete(output: Output, client: ApiClient, role: RoleArgument, yes: YesOption = False) -> ExitCode:
    """Delete a role that nobody has."""
    row = await find_role(client, role)
    words = (messages.ROLE_CONFIRM, messages.ROLE_DELETED)
    thing = DeletionPrompt(_PATH, row.id, row.name)
    return await delete_with_prompt(output, client, thing, yes, words=words)


async def _save(
    output: Output, client: ApiClient, where: tuple[str, str], draft: JsonObject, message: Message
) -> ExitCode:
    role = client.read(RoleRecord, await client.call(*where, body=draft))
    output.say(message, name=role.name, permissions=", ".join(role.permissions) or "-")
    output.emit(role.to_json())
    return ExitCode.OK


app = command_group(
    "Roles and what they allow.", {"list": list_roles, "show": show, "create": create, "edit": edit, "delete": delete}
)
