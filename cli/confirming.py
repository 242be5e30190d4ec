"""A last question before something is gone."""

import sys

import typer

from cli import messages
from cli.output import Output
from cli.problems import CommandFailed
from core.errors import InvalidRequest


def confirmed(output: Output, question: str) -> bool:
    """Whether the person at the terminal says yes.

    Raises:
        CommandFailed: there is nobody to ask.
    """
    if output.json_only or not sys.stdin.isatty():
        raise CommandFailed(InvalidRequest("yes", "required"), messages.CONFIRM_NEEDED)
    return typer.confirm(question, err=True)
