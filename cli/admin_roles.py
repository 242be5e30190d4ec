"""``agentex admin roles``: which roles there are."""

import typer

from cli import admin_messages as messages
from cli.client import ApiClient
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.output import Output
from cli.problems import CommandFailed, ExitCode
from cli.records import Record
from core.errors import RoleNotFound

app = typer.Typer(no_args_is_help=True, help="Roles and what they allow.")
_PATH = "/api/v1/admin/roles"


class RoleRecord(Record):
    """A role and the names of its permissions."""

    id: str
    name: str
    display_name: str = ""
    permissions: list[str]


class _Roles(Record):
    items: list[RoleRecord]


async def _roles(client: ApiClient) -> _Roles:
    return client.read(_Roles, await client.call("GET", _PATH))


async def find_role(client: ApiClient, wanted: str) -> RoleRecord:
    """The role with this name or id.

    Raises:
        CommandFailed: there is none.
    """
    known = (await _roles(client)).items
    for role in known:
        if wanted in {role.id, role.name}:
            return role
    names = ", ".join(role.name for role in known)
    raise CommandFailed(RoleNotFound(), messages.ROLE_UNKNOWN, wanted=wanted, names=names)


@app.command("list")
def list_roles(
    url: UrlOption = None, json_only: JsonOption = False, language: LanguageOption = None
) -> None:
    """List the roles and what they allow."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        roles = await _roles(client)
        output.emit(roles.to_json())
        columns = (messages.ROLE, messages.SHOWN_AS, messages.PERMISSIONS, messages.ID)
        rows = [
            (role.name, role.display_name, ", ".join(role.permissions), role.id)
            for role in roles.items
        ]
        output.table(columns, rows)
        return ExitCode.OK

    run(Options(json_only, language, url), body)
