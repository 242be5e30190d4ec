"""Rules and events in JSON files, or on standard input."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.arguments import read_json
from cli.client.schemas import JsonObject
from cli.commands.skills.local_files import STDIN, reading
from cli.errors import CommandFailed
from cli.ui.i18n import rules as messages
from cli.ui.i18n.common import PATH_MISSING, Message
from core.errors.requests import InvalidRequest

FileArgument = Annotated[str, typer.Argument(metavar="FILE|-", help="The rule as JSON; - reads standard input.")]
EXPORT_FORMAT = "agentex.rule"
# What only the server says of a rule, so that what `show --json` prints can be given back.
_OF_SERVER = (
    "id", "owner_id", "owner_name", "access", "source_name", "trigger_count", "last_triggered_at", "due_at",
    "created_at", "updated_at",
)  # fmt: skip


def read_rule(path: str) -> JsonObject:
    """A rule as requests have it, without what only the server says of one."""
    fields = read_object(path, messages.NO_RULE)
    if fields.get("format") == EXPORT_FORMAT:
        raise CommandFailed(InvalidRequest("file", "an export"), messages.IS_EXPORT, path=path)
    return {name: value for name, value in fields.items() if name not in _OF_SERVER}


def read_object(path: str, otherwise: Message) -> JsonObject:
    """The JSON object of a file; ``otherwise``, with its ``{path}``, says that there is none."""
    return parse_object(_content(path), path, otherwise)


def parse_object(content: bytes, path: str, otherwise: Message) -> JsonObject:
    """The JSON object that bytes are; ``path`` names them in errors."""
    try:
        value = read_json(content.decode("utf-8-sig"))
    except ValueError as error:
        problem = InvalidRequest("file", "no JSON")
        raise CommandFailed(problem, messages.NO_JSON, path=path, reason=str(error)) from error
    if not isinstance(value, dict):
        raise CommandFailed(InvalidRequest("file", "no object"), otherwise, path=path)
    return value


def _content(argument: str) -> bytes:
    if argument == STDIN:
        return sys.stdin.buffer.read()
    path = Path(argument)
    with reading(path):
        if not path.exists():
            raise CommandFailed(InvalidRequest("file", argument), PATH_MISSING, path=argument)
        return path.read_bytes()
