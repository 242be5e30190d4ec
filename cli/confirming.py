"""A last question before something is gone."""

import sys
from typing import Annotated

import typer

from cli import messages
from cli.messages import Message
from cli.output import Output
from cli.problems import CommandFailed
from core.errors import InvalidRequest

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def agreed(output: Output, yes: bool, question: Message, **values: object) -> bool:
    """Whether it may be done: said already, or by the person at the terminal now.

    Args:
        output: tells that nothing was done where the answer is no.
        yes: ``--yes`` was given.
        question: to ask, with its ``values``.

    Raises:
        CommandFailed: there is nobody to ask.
    """
    if yes:
        return True
    if output.json_only or not sys.stdin.isatty():
        raise CommandFailed(InvalidRequest("yes", "required"), messages.CONFIRM_NEEDED)
    if typer.confirm(output.render(question, **values), err=True):
        return True
    output.say(messages.NOTHING_DELETED)
    return False
