"""``agentex admin roles``: which roles there are, and roles of one's own."""

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
    list[str] | None,
    typer.Option(
        "--permission", help="Such as kb:write, as `list` shows them; may come many times."
    ),
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


async def find_role(client: ApiClient, wanted: str) -> RoleRecord:
    """The role with this name or id.

    Raises:
        CommandFailed: there is none.
    """
    return _pick(await _roles(client), wanted)


def _pick(known: _RoleList, wanted: str) -> RoleRecord:
    # Ids first: a name may look like one.
    fitting = [role for role in known.items if role.id == wanted]
    fitting += [role for role in known.items if role.name == wanted]
    if fitting:
        return fitting[0]
    names = ", ".join(role.name for role in known.items)
    raise CommandFailed(RoleNotFound(), messages.ROLE_UNKNOWN, wanted=wanted, names=names)


@client_command
async def list_roles(output: Output, client: ApiClient) -> ExitCode:
    """List the roles and what they allow."""
    roles = await _roles(client)
    output.emit(roles.to_json())
    columns = (messages.ROLE, messages.SHOWN_AS, messages.PERMISSIONS, messages.ID)
    rows = [
        (role.name, role.display_name, ", ".join(role.permissions), role.id) for role in roles.items
    ]
    output.table(columns, rows)
    return ExitCode.OK


@client_command
async def show(output: Output, client: ApiClient, role: RoleArgument) -> ExitCode:
    """Show a role, and which permissions it lacks."""
    known = await _roles(client)
    found = _pick(known, role)
    lacking = [name for name in known.permissions if name not in found.permissions]
    output.emit({**found.to_json(), "lacking": [*lacking]})
    output.facts(
        (
            (messages.ROLE, found.name),
            (messages.SHOWN_AS, found.display_name or "-"),
            (messages.ID, found.id),
            (messages.PERMISSIONS, ", ".join(found.permissions) or "-"),
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
    draft: JsonObject = {
        "name": name,
        "display_name": shown_as or name,
        "permissions": [*(permission or ())],
    }
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
    found = await find_role(client, role)
    names: list[JsonValue] | None = None if permission is None else [*permission]
    wanted: JsonObject = {"name": name, "display_name": shown_as, "permissions": names}
    draft: JsonObject = {key: value for key, value in wanted.items() if value is not None}
    return await _save(output, client, ("PUT", f"{_PATH}/{found.id}"), draft, messages.ROLE_CHANGED)


@client_command
async def delete(
    output: Output, client: ApiClient, role: RoleArgument, yes: YesOption = False
) -> ExitCode:
    """Delete a role that nobody has."""
    found = await find_role(client, role)
    words = (messages.ROLE_CONFIRM, messages.ROLE_DELETED)
    thing = DeletionPrompt(_PATH, found.id, found.name)
    return await delete_with_prompt(output, client, thing, yes, words=words)


async def _save(
    output: Output, client: ApiClient, where: tuple[str, str], draft: JsonObject, said: Message
) -> ExitCode:
    role = client.read(RoleRecord, await client.call(*where, body=draft))
    output.say(said, name=role.name, permissions=", ".join(role.permissions) or "-")
    output.emit(role.to_json())
    return ExitCode.OK


app = command_group(
    "Roles and what they allow.",
    {
        "list": list_roles,
        "show": show,
        "create": create,
        "edit": edit,
        "delete": delete,
    },
)
