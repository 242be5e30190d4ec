"""``agentex rule types``: what rules may be triggered by."""

import json
from datetime import datetime
from typing import Annotated

import typer
from pydantic import Field, JsonValue

from cli.client.api import ApiClient, Query
from cli.client.schemas import Record
from cli.command import client_command
from cli.commands.rules.manage import moment_text
from cli.commands.rules.source_names import EventDropRecord, find_source_id, show_drops, source_names
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.i18n.common import NO, YES
from cli.ui.output import Output
from core.errors.base import AgentexError
from core.errors.requests import InvalidRequest

_LISTED = 20


class _EventTypeRecord(Record):
    type: str
    description: str = ""
    shape: JsonValue = Field(default=None, alias="schema")
    source_id: str = ""
    example: JsonValue = None
    declared: bool = False
    count: int = 0
    last_seen_at: datetime | None = None


class _EventTypeListRecord(Record):
    event_types: list[_EventTypeRecord]
    drops: list[EventDropRecord] = Field(default_factory=list[EventDropRecord])


@client_command
async def types(
    output: Output,
    client: ApiClient,
    name: Annotated[
        str | None, typer.Argument(metavar="TYPE", help="Show the shape and an example of this type.")
    ] = None,
    source: Annotated[
        str | None, typer.Option(help="Of this event source or MCP connection (name or id), or platform.")
    ] = None,
) -> ExitCode:
    """List the types of events that your rules may be triggered by, declared or seen."""
    query: Query = {} if source is None else {"source_id": await find_source_id(client, source)}
    answer = await client.call("GET", "/api/v1/rules/event-types", query=query)
    answered = client.read(_EventTypeListRecord, answer)
    listed = answered.event_types
    if name is not None:
        matches = [item for item in listed if item.type == name]
        if not matches:
            names = ", ".join(dict.fromkeys(item.type for item in listed[:_LISTED])) or "-"
            problem: AgentexError = InvalidRequest("type", "unknown")
            raise CommandFailed(problem, messages.TYPE_UNKNOWN, wanted=name, names=names)
        listed = matches
    output.emit(answered.model_copy(update={"event_types": listed}).model_dump(mode="json", by_alias=True))
    names = {} if output.json_only else await source_names(client)
    if name is not None:
        for item in listed:
            _show(output, item, names)
        return ExitCode.OK
    columns = (messages.TYPE, messages.SOURCE, messages.DECLARED, messages.SEEN, messages.LAST, messages.DESCRIPTION)
    output.table(columns, [_row(output, item, names) for item in listed])
    show_drops(output, answered.drops, names)
    return ExitCode.OK


def _row(output: Output, item: _EventTypeRecord, names: dict[str, str]) -> tuple[str, ...]:
    return (
        item.type,
        names.get(item.source_id, item.source_id),
        output.render(YES if item.declared else NO),
        str(item.count),
        moment_text(item.last_seen_at),
        item.description,
    )


def _show(output: Output, item: _EventTypeRecord, names: dict[str, str]) -> None:
    output.facts(
        (
            (messages.TYPE, item.type),
            (messages.SOURCE, names.get(item.source_id, item.source_id)),
            (messages.DESCRIPTION, item.description or "-"),
            (messages.SEEN, str(item.count)),
        )
    )
    for heading, value in ((messages.SHAPE, item.shape), (messages.EXAMPLE, item.example)):
        if value is not None:
            output.print(f"\n{output.render(heading)}", "bold")
            output.print(json.dumps(value, ensure_ascii=False, indent=2))
    output.print("")
