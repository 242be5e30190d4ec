"""``agentex admin users``: list, create, change and delete other people's accounts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import typer

from cli.arguments import is_id
from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.command import client_command, command_group
from cli.commands.admin.roles import RoleArgument, find_role
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n import admin as messages
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from cli.ui.prompts import YesOption, ask_password, confirm, read_secret
from core.errors.auth import UserNotFound

UserArgument = Annotated[str, typer.Argument(metavar="USER", help="User name, e-mail address or id.")]
PasswordOption = Annotated[bool, typer.Option("--password-stdin", help="Read the password from standard input.")]
_PATH = "/api/v1/admin/users"


class _AccountRole(Record):
    name: str


class UserRecord(Record):
    """An account, as lists show it."""

    id: str
    username: str
    email: str
    role: _AccountRole
    status: str
    last_login_at: datetime | None = None


class _OwnedCounts(Record):
    knowledge_bases: int
    documents: int
    skills: int = 0


class _DeletionRecord(Record):
    username: str
    transferred: _OwnedCounts
    erased: _OwnedCounts


async def _all(client: ApiClient, query: Mapping[str, str | int]) -> list[UserRecord]:
    return [client.read(UserRecord, item) async for page in client.pages(_PATH, query) for item in page]


async def find_user(client: ApiClient, username: str) -> UserRecord:
    """The account with this user name, address or id."""
    key = username.strip().casefold()
    # First, so that nobody can pass for another person by a chosen name.
    if is_id(key) and (user := await _get(client, key)):
        return user
    async for page in client.pages(_PATH, {"search": username}):
        for item in page:
            user = client.read(UserRecord, item)
            if key in {user.username.casefold(), user.email.casefold()}:
                return user
    raise CommandFailed(UserNotFound(), messages.USER_UNKNOWN, wanted=username)


async def _get(client: ApiClient, user_id: str) -> UserRecord | None:
    try:
        return client.read(UserRecord, await client.call("GET", f"{_PATH}/{user_id}"))
    except ServerRefused as refusal:
        if refusal.code != UserNotFound.code:
            raise
        return None


async def _change(output: Output, client: ApiClient, username: str, change: JsonObject, message: Message) -> ExitCode:
    user = await find_user(client, username)
    answer = await client.call("PUT", f"{_PATH}/{user.id}", body=change)
    changed = client.read(UserRecord, answer)
    output.say(message, username=changed.username, role=changed.role.name)
    output.emit(changed.to_json())
    return ExitCode.OK


@client_command
async def list_users(
    output: Output,
    client: ApiClient,
    search: Annotated[str | None, typer.Option(help="Part of a name or an address.")] = None,
    role: Annotated[str | None, typer.Option(help="Only those with this role.")] = None,
    status: Annotated[str | None, typer.Option(help="Only active or disabled ones.")] = None,
) -> ExitCode:
    """List the accounts."""
    query: dict[str, str | int] = {"sort_by": "username", "sort_order": "asc"}
    if search:
        query["search"] = search
    if status:
        query["status"] = status
    if role:
        query["role_id"] = (await find_role(client, role)).id
    users = await _all(client, query)
    output.emit({"items": [user.to_json() for user in users], "total": len(users)})
    if not users and output.screen.is_terminal:
        output.say(messages.USER_NONE)
        return ExitCode.OK
    columns = (messages.USERNAME, messages.EMAIL, messages.ROLE, messages.STATUS,
               messages.LAST_LOGIN, messages.ID)  # fmt: skip
    output.table(columns, [_row(user) for user in users])
    return ExitCode.OK


def _row(user: UserRecord) -> tuple[str, ...]:
    last_login = f"{user.last_login_at:%Y-%m-%d %H:%M} UTC" if user.last_login_at else "-"
    return user.username, user.email, user.role.name, user.status, last_login, user.id


@client_command
async def create(
    output: Output,
    client: ApiClient,
    username: Annotated[str, typer.Argument(help="The user name.")],
    email: Annotated[str, typer.Option(help="The e-mail address.")],
    role: Annotated[str, typer.Option(help="The role, by its name.")] = "user",
    password_stdin: PasswordOption = False,
) -> ExitCode:
    """Create an account for somebody; asks for the password."""
    user_role = await find_role(client, role)
    wishes: JsonObject = {
        "username": username,
        "email": email,
        "role_id": user_role.id,
        "password": _password(output, username, from_stdin=password_stdin),
    }
    user = client.read(UserRecord, await client.call("POST", _PATH, body=wishes))
    output.say(messages.USER_CREATED, username=user.username, role=user.role.name)
    output.emit(user.to_json())
    return ExitCode.OK


def _password(output: Output, username: str, *, from_stdin: bool) -> str:
    if from_stdin:
        return read_secret()
    return ask_password(output, messages.NEW_PASSWORD, username=username)


@client_command
async def disable(output: Output, client: ApiClient, user: UserArgument) -> ExitCode:
    """Switch an account off: its logins, keys, runs and streams end."""
    return await _change(output, client, user, {"status": "disabled"}, messages.USER_DISABLED)


@client_command
async def enable(output: Output, client: ApiClient, user: UserArgument) -> ExitCode:
    """Switch an account on again."""
    return await _change(output, client, user, {"status": "active"}, messages.USER_ENABLED)


@client_command
async def verify_email(
    output: Output,
    client: ApiClient,
    user: UserArgument,
    withdraw: Annotated[bool, typer.Option("--withdraw", help="Do not vouch for it any more.")] = False,
) -> ExitCode:
    """Vouch for the address of an account: what sources let that address read is then for the account."""
    message = messages.EMAIL_UNVERIFIED if withdraw else messages.EMAIL_VERIFIED
    return await _change(output, client, user, {"email_verified": not withdraw}, message)


@client_command
async def set_role(output: Output, client: ApiClient, user: UserArgument, role: RoleArgument) -> ExitCode:
    """Give an account another role."""
    change: JsonObject = {"role_id": (await find_role(client, role)).id}
    return await _change(output, client, user, change, messages.ROLE_SET)


@client_command
async def reset_password(
    output: Output,
    client: ApiClient,
    user: UserArgument,
    password_stdin: PasswordOption = False,
    revoke_api_keys: Annotated[bool, typer.Option("--revoke-api-keys", help="Delete its API keys, too.")] = False,
) -> ExitCode:
    """Give an account another password; asks for it."""
    account = await find_user(client, user)
    password = _password(output, account.username, from_stdin=password_stdin)
    reset: JsonObject = {"new_password": password, "revoke_api_keys": revoke_api_keys}
    await client.call("PUT", f"{_PATH}/{account.id}/password", body=reset)
    output.say(messages.PASSWORD_SET, username=account.username)
    output.emit({"id": account.id, "username": account.username, "reset": True})
    return ExitCode.OK


@client_command
async def delete(
    output: Output,
    client: ApiClient,
    user: UserArgument,
    transfer_to: Annotated[
        str | None, typer.Option("--transfer-to", metavar="USER", help="Who takes over its knowledge bases.")
    ] = None,
    erase: Annotated[bool, typer.Option("--erase", help="Erase all that it owns.")] = False,
    yes: YesOption = False,
) -> ExitCode:
    """Delete an account; sessions, memories and calendar are erased in any case."""
    account = await find_user(client, user)
    query: dict[str, str | int] = {}
    if transfer_to is not None:
        query["transfer_to"] = (await find_user(client, transfer_to)).id
    if erase:
        query["erase"] = "true"
    if not confirm(output, yes, messages.DELETE_CONFIRM, username=account.username):
        return ExitCode.FAILED
    answer = await client.call("DELETE", f"{_PATH}/{account.id}", query=query)
    _tell(output, client.read(_DeletionRecord, answer))
    return ExitCode.OK


def _tell(output: Output, deleted: _DeletionRecord) -> None:
    moved = deleted.transferred
    output.say(
        messages.USER_DELETED,
        username=deleted.username,
        bases=moved.knowledge_bases,
        documents=moved.documents,
        skills=moved.skills,
    )
    output.say(messages.ERASED, **deleted.erased.to_json())
    output.emit(deleted.to_json())


app = command_group(
    "Other people's accounts.",
    {
        "list": list_users,
        "create": create,
        "disable": disable,
        "enable": enable,
        "verify-email": verify_email,
        "set-role": set_role,
        "reset-password": reset_password,
        "delete": delete,
    },
)
