"""``agentex admin users``: list, create, change and delete other people's accounts."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated
from urllib.parse import quote

import typer

from cli import admin_messages as messages
from cli.admin_roles import find_role
from cli.client import ApiClient
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.confirming import confirmed
from cli.messages import Message
from cli.output import Output
from cli.passwords import ask_password, read_secret
from cli.problems import CommandFailed, ExitCode, ServerRefused
from cli.records import JsonObject, Record
from core.errors import ErrorCode, UserNotFound

app = typer.Typer(no_args_is_help=True, help="Other people's accounts.")

UserArgument = Annotated[
    str, typer.Argument(metavar="USER", help="User name, e-mail address or id.")
]
PasswordOption = Annotated[
    bool, typer.Option("--password-stdin", help="Read the password from standard input.")
]
_PATH = "/api/v1/admin/users"
_PAGE_SIZE = 100


class _Role(Record):
    name: str


class _User(Record):
    id: str
    username: str
    email: str
    role: _Role
    status: str
    last_login_at: datetime | None = None


class _Page(Record):
    items: list[_User]
    total: int


class _Things(Record):
    knowledge_bases: int
    documents: int


class _Deleted(Record):
    username: str
    transferred: _Things
    erased: _Things


async def _all(client: ApiClient, query: Mapping[str, str | int]) -> list[_User]:
    found: list[_User] = []
    number = 1
    while True:
        asked = {**query, "page": number, "page_size": _PAGE_SIZE}
        page = client.read(_Page, await client.call("GET", _PATH, query=asked))
        found += page.items
        if len(page.items) < _PAGE_SIZE:
            return found
        number += 1


async def _find(client: ApiClient, wanted: str) -> _User:
    """The account with this user name, address or id.

    Raises:
        CommandFailed: there is none.
    """
    key = wanted.strip().casefold()
    for user in await _all(client, {"search": wanted}):
        if key in {user.username.casefold(), user.email.casefold()}:
            return user
    try:
        return client.read(_User, await client.call("GET", f"{_PATH}/{quote(wanted, safe='')}"))
    except ServerRefused as refusal:
        if refusal.code != int(ErrorCode.USER_NOT_FOUND):
            raise
        raise CommandFailed(UserNotFound(), messages.USER_UNKNOWN, wanted=wanted) from None


async def _change(
    output: Output, client: ApiClient, wanted: str, change: JsonObject, said: Message
) -> ExitCode:
    user = await _find(client, wanted)
    answer = await client.call("PUT", f"{_PATH}/{user.id}", body=change)
    changed = client.read(_User, answer)
    output.say(said, username=changed.username, role=changed.role.name)
    output.emit(changed.to_json())
    return ExitCode.OK


@app.command("list")
def list_users(
    search: Annotated[str | None, typer.Option(help="Part of a name or an address.")] = None,
    role: Annotated[str | None, typer.Option(help="Only those with this role.")] = None,
    status: Annotated[str | None, typer.Option(help="Only active or disabled ones.")] = None,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """List the accounts."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
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

    run(Options(json_only, language, url), body)


def _row(user: _User) -> tuple[str, ...]:
    seen = f"{user.last_login_at:%Y-%m-%d %H:%M} UTC" if user.last_login_at else "-"
    return user.username, user.email, user.role.name, user.status, seen, user.id


@app.command()
def create(
    username: Annotated[str, typer.Argument(help="The user name.")],
    email: Annotated[str, typer.Option(help="The e-mail address.")],
    role: Annotated[str, typer.Option(help="The role, by its name.")] = "user",
    password_stdin: PasswordOption = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Create an account for somebody; asks for the password."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        found = await find_role(client, role)
        wishes: JsonObject = {
            "username": username,
            "email": email,
            "role_id": found.id,
            "password": _password(output, username, from_stdin=password_stdin),
        }
        user = client.read(_User, await client.call("POST", _PATH, body=wishes))
        output.say(messages.USER_CREATED, username=user.username, role=user.role.name)
        output.emit(user.to_json())
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _password(output: Output, username: str, *, from_stdin: bool) -> str:
    if from_stdin:
        return read_secret()
    return ask_password(output, messages.NEW_PASSWORD, username=username)


@app.command()
def disable(
    user: UserArgument,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Switch an account off: its logins, keys, runs and streams end."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        change: JsonObject = {"status": "disabled"}
        return await _change(output, client, user, change, messages.USER_DISABLED)

    run(Options(json_only, language, url), body)


@app.command()
def enable(
    user: UserArgument,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Switch an account on again."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        change: JsonObject = {"status": "active"}
        return await _change(output, client, user, change, messages.USER_ENABLED)

    run(Options(json_only, language, url), body)


@app.command("set-role")
def set_role(
    user: UserArgument,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="The role, by its name or id.")],
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Give an account another role."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        change: JsonObject = {"role_id": (await find_role(client, role)).id}
        return await _change(output, client, user, change, messages.ROLE_SET)

    run(Options(json_only, language, url), body)


@app.command("reset-password")
def reset_password(
    user: UserArgument,
    password_stdin: PasswordOption = False,
    revoke_api_keys: Annotated[
        bool, typer.Option("--revoke-api-keys", help="Delete its API keys, too.")
    ] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Give an account another password; asks for it."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        found = await _find(client, user)
        password = _password(output, found.username, from_stdin=password_stdin)
        reset: JsonObject = {"new_password": password, "revoke_api_keys": revoke_api_keys}
        await client.call("PUT", f"{_PATH}/{found.id}/password", body=reset)
        output.say(messages.PASSWORD_SET, username=found.username)
        output.emit({"id": found.id, "username": found.username, "reset": True})
        return ExitCode.OK

    run(Options(json_only, language, url), body)


@app.command()
def delete(
    user: UserArgument,
    transfer_to: Annotated[
        str | None,
        typer.Option("--transfer-to", metavar="USER", help="Who takes over its knowledge bases."),
    ] = None,
    erase: Annotated[bool, typer.Option("--erase", help="Erase all that it owns.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Delete an account; sessions, memories and calendar are erased in any case."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        found = await _find(client, user)
        fate: dict[str, str | int] = {}
        if transfer_to is not None:
            fate["transfer_to"] = (await _find(client, transfer_to)).id
        if erase:
            fate["erase"] = "true"
        question = output.render(messages.DELETE_CONFIRM, username=found.username)
        if not yes and not confirmed(output, question):
            output.say(messages.DELETE_KEPT)
            return ExitCode.FAILED
        answer = await client.call("DELETE", f"{_PATH}/{found.id}", query=fate)
        _tell(output, client.read(_Deleted, answer))
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def _tell(output: Output, deleted: _Deleted) -> None:
    moved = deleted.transferred
    output.say(
        messages.USER_DELETED,
        username=deleted.username,
        bases=moved.knowledge_bases,
        documents=moved.documents,
    )
    output.say(messages.ERASED, **deleted.erased.to_json())
    output.emit(deleted.to_json())
