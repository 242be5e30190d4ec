"""Prompts: confirmations, passwords and secrets."""

import sys
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client.api import ApiClient
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import ASK_PASSWORD, PASSWORD_NEEDED, SECRET_EMPTY, Message
from cli.ui.output import Output
from core.errors.requests import InvalidRequest

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@dataclass(frozen=True)
class DeletionPrompt:
    """An object to delete; ``path`` is that of its list."""

    path: str
    id: str
    name: str


async def delete_with_prompt(
    output: Output, client: ApiClient, thing: DeletionPrompt, yes: bool, *, words: tuple[Message, Message]
) -> ExitCode:
    """Delete an object after confirmation, and report it.

    Args:
        yes: ``--yes`` was given.
        words: the question and the report; each with ``{name}``.
    """
    question, done = words
    if not confirm(output, yes, question, name=thing.name):
        return ExitCode.FAILED
    await client.call("DELETE", f"{thing.path}/{quote(thing.id, safe='')}")
    output.say(done, name=thing.name)
    output.emit({"id": thing.id, "name": thing.name, "deleted": True})
    return ExitCode.OK


def confirm(output: Output, yes: bool, question: Message, **values: object) -> bool:
    """Whether the person agrees, by ``--yes`` or at the terminal."""
    if yes:
        return True
    if output.json_only or not sys.stdin.isatty():
        raise CommandFailed(InvalidRequest("yes", "required"), messages.CONFIRM_NEEDED)
    if typer.confirm(output.render(question, **values), err=True):
        return True
    output.say(messages.NOTHING_DONE)
    return False


def ask_password(
    output: Output,
    question: Message = ASK_PASSWORD,
    otherwise: Message = PASSWORD_NEEDED,
    *,
    default: str | None = None,
    **values: object,
) -> str:
    """Ask for a password or a key at the terminal, without echo; with a default the answer may be empty."""
    need_terminal("password", otherwise)
    text = output.render(question, **values)
    answer: str = typer.prompt(text, default=default, show_default=False, hide_input=True, err=True)
    return answer


def need_terminal(field: str, message: Message) -> None:
    """Refuse if there is no terminal to ask at."""
    if not sys.stdin.isatty():
        raise usage_error(field, message)


def read_secret() -> str:
    """The first line of standard input."""
    secret = sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise usage_error("stdin", SECRET_EMPTY)
    return secret


def usage_error(field: str, message: Message) -> CommandFailed:
    """The failure of a wrong invocation."""
    return CommandFailed(InvalidRequest(field, message.en), message)
