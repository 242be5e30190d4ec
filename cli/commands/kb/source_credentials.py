"""Credentials of sources: from a file, standard input or the terminal, never from the command line itself."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import Field, TypeAdapter, ValidationError

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, Record
from cli.ui.i18n import knowledge_sources as messages
from cli.ui.output import Output
from cli.ui.prompts import ask_password, usage_error

CredentialsFileOption = Annotated[
    Path | None,
    typer.Option(
        "--credentials-file",
        metavar="FILE|-",
        help='File with the credentials as a JSON object, - for standard input: {"password": "TOKEN"}.',
    ),
]
AskCredentialsOption = Annotated[
    bool, typer.Option("--ask-credentials", help="Ask for the credentials at the terminal, without echo.")
]
_OBJECT = TypeAdapter(JsonObject)
_KEY_BEGIN, _KEY_END, _MOST_KEY_LINES = "-----BEGIN ", "-----END ", 300


class _CredentialsSchema(Record):
    properties: JsonObject = Field(default_factory=JsonObject)
    required: list[str] = Field(default_factory=list[str])


class _ConnectorRecord(Record):
    name: str
    credentials_schema: _CredentialsSchema | None = None


async def read_credentials(
    output: Output, client: ApiClient, connector: str, *, file: Path | None, asks: bool
) -> JsonObject | None:
    """The credentials that a person gives for a source; None where no way is named."""
    if file is not None and asks:
        raise usage_error("credentials", messages.NAME_ONE_WAY)
    if file is not None:
        return _read(file)
    return await _ask(output, client, connector) if asks else None


def _read(file: Path) -> JsonObject:
    try:
        content = sys.stdin.read() if str(file) == "-" else file.expanduser().read_text(encoding="utf-8")
        return _OBJECT.validate_json(content)
    except (OSError, UnicodeDecodeError, ValidationError):
        # What is in it is not for the terminal.
        raise usage_error("credentials", messages.CREDENTIALS_UNREADABLE) from None


async def _ask(output: Output, client: ApiClient, connector: str) -> JsonObject:
    """One answer for each credential of the connector; optional ones may stay empty."""
    answer = await client.call("GET", "/api/v1/knowledge-connectors")
    records = [client.read(_ConnectorRecord, item) for item in answer] if isinstance(answer, list) else []
    schema = next((record.credentials_schema for record in records if record.name == connector), None)
    if schema is None:
        raise usage_error("credentials", messages.NO_CREDENTIALS)
    secrets: JsonObject = {}
    for name in schema.properties:
        is_required = name in schema.required
        question = messages.ASK_CREDENTIAL if is_required else messages.ASK_OPTIONAL_CREDENTIAL
        otherwise, default = messages.CREDENTIALS_NEED_TERMINAL, None if is_required else ""
        if value := ask_password(output, question, otherwise, default=default, name=name):
            secrets[name] = value + _further_lines(output, value)
    return secrets


def _further_lines(output: Output, value: str) -> str:
    """The rest of a key that is pasted in several lines, which would go to the shell otherwise."""
    if not value.startswith(_KEY_BEGIN) or _KEY_END in value:
        return ""
    lines: list[str] = []
    while len(lines) < _MOST_KEY_LINES and _KEY_END not in "".join(lines[-1:]):
        lines.append(ask_password(output, messages.ASK_KEY_LINE, messages.CREDENTIALS_NEED_TERMINAL, default=""))
    return "".join(f"\n{line}" for line in lines)
