"""``agentex rule source``: addresses that take signed events."""

from typing import Annotated

import typer

from cli.client.api import ApiClient
from cli.command import client_command
from cli.commands.rules.source_names import SOURCES_PATH, EventSourceRecord, list_event_sources, show_drops
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from cli.ui.prompts import DeletionPrompt, YesOption, confirm, delete_with_prompt
from core.errors.auth import EventSourceNotFound

_LISTED = 12
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Its name or its id.")]


class _NewEventSource(EventSourceRecord):
    secret: str


@client_command
async def list_sources(output: Output, client: ApiClient) -> ExitCode:
    """List your event sources, the oldest first."""
    sources = await list_event_sources(client)
    output.emit({"items": [source.to_json() for source in sources], "total": len(sources)})
    if not sources and output.screen.is_terminal:
        output.say(messages.NO_SOURCES)
        return ExitCode.OK
    columns = (messages.NAME, messages.ADDRESS, messages.ID)
    output.table(columns, [(source.name, _address(client, source), source.id) for source in sources])
    show_drops(output, [drop for source in sources for drop in source.drops], {row.id: row.name for row in sources})
    return ExitCode.OK


@client_command
async def create(
    output: Output, client: ApiClient, name: Annotated[str, typer.Argument(help="To tell sources apart.")]
) -> ExitCode:
    """Make an event source; its secret is shown once, alone on standard output."""
    made = client.read(_NewEventSource, await client.call("POST", SOURCES_PATH, body={"name": name}))
    output.remark(messages.SOURCE_MADE, name=made.name, id=made.id, url=_address(client, made))
    _show_secret(output, made)
    return ExitCode.OK


@client_command
async def rotate(output: Output, client: ApiClient, source: SourceArgument, yes: YesOption = False) -> ExitCode:
    """Give an event source another secret, which is shown once; what the old one signs is refused at once."""
    row = await _find(client, source)
    if not confirm(output, yes, messages.ROTATE_SECRET, name=row.name):
        return ExitCode.FAILED
    made = client.read(_NewEventSource, await client.call("POST", f"{SOURCES_PATH}/{row.id}/rotate"))
    output.remark(messages.SECRET_ROTATED, name=made.name)
    _show_secret(output, made)
    return ExitCode.OK


@client_command
async def delete(output: Output, client: ApiClient, source: SourceArgument, yes: YesOption = False) -> ExitCode:
    """Delete an event source; rules that name it get no more events."""
    row = await _find(client, source)
    words = (messages.DELETE_SOURCE, messages.SOURCE_DELETED)
    return await delete_with_prompt(output, client, DeletionPrompt(SOURCES_PATH, row.id, row.name), yes, words=words)


def _show_secret(output: Output, made: _NewEventSource) -> None:
    output.print(made.secret)
    output.emit(made.to_json())


async def _find(client: ApiClient, name: str) -> EventSourceRecord:
    sources = await list_event_sources(client)
    row = next((source for source in sources if name in (source.id, source.name)), None)
    if row is None:
        names = ", ".join(source.name for source in sources[:_LISTED]) or "-"
        raise CommandFailed(EventSourceNotFound(), messages.SOURCE_UNKNOWN, wanted=name, names=names)
    return row


def _address(client: ApiClient, source: EventSourceRecord) -> str:
    return f"{client.transport.url}{source.url}"
