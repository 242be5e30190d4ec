"""``agentex login`` and ``agentex logout``."""

from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.client.credentials import Login
from cli.client.sso import sign_on
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.errors import CommandFailed, ExitCode, ServerRefused
from cli.ui.i18n.common import (
    ASK_USERNAME,
    BOOTSTRAPPED,
    LOGGED_IN,
    LOGGED_OUT,
    ONE_SECRET,
    PASSWORD_NEEDED,
    WAS_LOGGED_OUT,
)
from cli.ui.output import Output
from cli.ui.prompts import ask_password, need_terminal, read_secret, usage_error
from core.settings import get_settings


def login(
    username: Annotated[str | None, typer.Option(help="User name or e-mail address.")] = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
    api_key_stdin: Annotated[
        bool, typer.Option("--api-key-stdin", help="Read an API key from standard input.")
    ] = False,
    sso: Annotated[bool, typer.Option("--sso", help="Log in with a browser, at the identity provider.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Log in to a server and remember it for the commands that follow.

    With --url, the commands that follow go to that server until you log out.

    On the machine of a fresh server, without a user name, this logs in as the
    first administrator with the password file in the data folder.
    """

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if password_stdin + api_key_stdin + sso > 1:
            raise usage_error("api_key_stdin", ONE_SECRET)
        if sso:
            await sign_on(output, client)
        elif api_key_stdin:
            client.sign_in.login = Login(api_key=read_secret())
        elif username is None and not password_stdin and await _log_in_as_first(output, client):
            pass
        else:
            name = username or _ask_username(output, client)
            password = read_secret() if password_stdin else ask_password(output)
            await client.sign_in.log_in(client.transport, name, password)
        await _confirm(output, client, is_explicit=url is not None)
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def logout(url: UrlOption = None, json_only: JsonOption = False, language: LanguageOption = None) -> None:
    """Log out of a server and forget its login."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        sign_in = client.sign_in
        stored = sign_in.store.load(sign_in.url)
        present = stored is not None and stored.usable
        if stored is not None and stored.access_token:
            await _end(client, stored)
        sign_in.keep(Login())
        if sign_in.store.server == sign_in.url:
            sign_in.store.remember_server(None)
        output.say(LOGGED_OUT if present else WAS_LOGGED_OUT, url=sign_in.url)
        output.emit({"url": sign_in.url, "logged_out": present})
        return ExitCode.OK

    run(Options(json_only, language, url), body)


async def _log_in_as_first(output: Output, client: ApiClient) -> bool:
    bootstrap = client.sign_in.bootstrap
    if bootstrap is None:
        return False
    try:
        password = bootstrap.file.read_text(encoding="utf-8").strip()
        await client.sign_in.log_in(client.transport, bootstrap.username, password)
    except (OSError, ServerRefused):
        return False
    output.remark(BOOTSTRAPPED, url=client.sign_in.url, username=bootstrap.username, file=bootstrap.file)
    return True


async def _confirm(output: Output, client: ApiClient, *, is_explicit: bool) -> None:
    account = await client.me()
    login = client.sign_in.login or Login()
    client.sign_in.keep(login.model_copy(update={"username": account.username}))
    if is_explicit:
        client.sign_in.store.remember_server(client.sign_in.url)
    output.say(LOGGED_IN, url=client.sign_in.url, username=account.username)
    output.emit({"url": client.sign_in.url, "user": account.to_json()})


async def _end(client: ApiClient, stored: Login) -> None:
    client.sign_in.login = stored
    try:
        await client.log_out()
    except (CommandFailed, ServerRefused):
        # Its tokens are forgotten here in any case, and end by themselves there.
        return


def _ask_username(output: Output, client: ApiClient) -> str:
    need_terminal("username", PASSWORD_NEEDED)
    stored = client.sign_in.store.load(client.sign_in.url)
    default = (stored.username if stored else "") or get_settings().admin_username
    answer: str = typer.prompt(output.render(ASK_USERNAME), default=default, err=True)
    return answer
