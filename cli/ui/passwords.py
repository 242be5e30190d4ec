"""Passwords and keys from a terminal or from standard input."""

import sys

import typer

from cli.errors import CommandFailed
from cli.ui.i18n.common import ASK_PASSWORD, PASSWORD_NEEDED, SECRET_EMPTY, Message
from cli.ui.output import Output
from core.errors import InvalidRequest


def ask_password(
    output: Output,
    question: Message = ASK_PASSWORD,
    otherwise: Message = PASSWORD_NEEDED,
    **values: object,
) -> str:
    """Ask for a password or a key at the terminal, without showing it.

    Raises:
        CommandFailed: there is no terminal; ``otherwise`` says what to do instead.
    """
    need_terminal("password", otherwise)
    answer: str = typer.prompt(output.render(question, **values), hide_input=True, err=True)
    return answer


def need_terminal(field: str, message: Message) -> None:
    """Pass where somebody can be asked.

    Raises:
        CommandFailed: nobody can; ``message`` says what to do instead.
    """
    if not sys.stdin.isatty():
        raise usage(field, message)


def read_secret() -> str:
    """The first line of standard input.

    Raises:
        CommandFailed: it is empty.
    """
    secret = sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise usage("stdin", SECRET_EMPTY)
    return secret


def usage(field: str, message: Message) -> CommandFailed:
    """A command that was given wrongly."""
    return CommandFailed(InvalidRequest(field, message.en), message)
