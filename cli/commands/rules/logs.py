"""``agentex rule logs``: what a rule decided at events and what its actions did."""

import asyncio
import json
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from urllib.parse import quote

import typer
from pydantic import JsonValue, TypeAdapter

from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.command import client_command
from cli.commands.rules.manage import PATH, RuleArgument, find, moment_text
from cli.commands.rules.trace import RuleLogRecord, fault_of, show_results, show_verdicts, status_text
from cli.errors import CommandFailed, ExitCode, exit_code
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from cli.ui.prompts import usage_error
from core.sse import ServerSentEvent, read_events

_JSON = TypeAdapter[JsonValue](JsonValue)
_PAUSE_SECONDS = 2.0


class LogStatus(StrEnum):
    """What became of a rule at an event."""

    NOT_MET = "not_met"
    COOLDOWN = "cooldown"
    LOOP = "loop"
    LIMIT = "limit"
    PENDING = "pending"
    RUNNING = "running"
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILED = "failed"
    UNKNOWN = "unknown"


class _LogList(Record):
    items: list[RuleLogRecord]
    total: int


@client_command
async def logs(
    output: Output,
    client: ApiClient,
    rule: RuleArgument,
    entry: Annotated[
        str | None, typer.Argument(metavar="ENTRY", help="The id of one entry, to see the whole of it.")
    ] = None,
    status: Annotated[LogStatus | None, typer.Option(help="Only entries with this status.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Not before this (UTC), such as 2027-01-31.")] = None,
    until: Annotated[datetime | None, typer.Option(help="Not after this (UTC).")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with entries as they are written.")] = False,
) -> ExitCode:
    """Show what a rule decided and did, the newest first.

    With --follow, entries from now on as they are written and once more when their actions have ended, until Ctrl-C.
    """
    if follow and (entry is not None or since is not None or until is not None):
        raise usage_error("follow", messages.FOLLOW_ALONE)
    row = await find(client, rule)
    path = f"{PATH}/{row.id}/logs"
    if entry is not None:
        answer = await client.call("GET", f"{path}/{quote(entry, safe='')}")
        _show_entry(output, client.read(RuleLogRecord, answer))
        return ExitCode.OK
    if follow:
        return await _Follower(output, client, f"{path}/stream", status).follow()
    query: dict[str, str | int] = {"page_size": limit}
    if status is not None:
        query["status"] = status.value
    bounds = (("start_time", since), ("end_time", until))
    query |= {name: f"{moment.isoformat()}Z" for name, moment in bounds if moment is not None}
    listed = client.read(_LogList, await client.call("GET", path, query=query))
    output.emit(listed.to_json())
    if not listed.items and output.screen.is_terminal:
        output.say(messages.NO_ENTRIES)
        return ExitCode.OK
    columns = (messages.TIME, messages.STATUS, messages.EVENT, messages.TOOK_MS, messages.FAULT, messages.ID)
    output.table(columns, [_row(output, item) for item in listed.items])
    return ExitCode.OK


class _Follower:
    """Prints the entries of a stream, and goes on where it broke off."""

    def __init__(self, output: Output, client: ApiClient, path: str, status: LogStatus | None) -> None:
        self._output = output
        self._client = client
        self._path = path
        self._status = status
        self._place = ""
        self._has_begun = False

    async def follow(self) -> ExitCode:
        """Print entries until the rule is gone."""
        while True:
            try:
                if await self._read():
                    self._output.remark(messages.RULE_GONE)
                    return ExitCode.OK
            except CommandFailed as failure:
                if not self._has_begun or exit_code(failure.code) is not ExitCode.UNREACHABLE:
                    raise
                self._output.remark(messages.BROKE_OFF)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _read(self) -> bool:
        """Read one stream to its end; whether that is because the rule is gone."""
        path = f"{self._path}?after={self._place}" if self._place else self._path
        async with self._client.stream("GET", path) as response:
            if not self._has_begun:
                self._output.hint(messages.FOLLOWING)
            self._has_begun = True
            async for event in read_events(response.aiter_bytes()):
                self._place = event.id or self._place
                if event.event == "log":
                    self._print(event)
                elif event.event == "end":
                    return '"deleted"' in event.data
        return False

    def _print(self, event: ServerSentEvent) -> None:
        entry = self._client.read(RuleLogRecord, _JSON.validate_json(event.data))
        if self._status is not None and entry.status != self._status:
            return
        self._output.emit(entry.to_json())
        line = "\t".join(" ".join(cell.split()) for cell in _row(self._output, entry))
        self._output.print(line.expandtabs(4) if self._output.screen.is_terminal else line)


def _row(output: Output, entry: RuleLogRecord) -> tuple[str, ...]:
    return (
        moment_text(entry.executed_at),
        status_text(output, entry.status),
        entry.event_type,
        str(entry.execution_time),
        fault_of(output, entry),
        entry.id,
    )


def _show_entry(output: Output, entry: RuleLogRecord) -> None:
    output.emit(entry.to_json())
    output.facts(
        (
            (messages.STATUS, status_text(output, entry.status)),
            (messages.TIME, moment_text(entry.executed_at)),
            (messages.EVENT, f"{entry.event_type} ({entry.event_id})"),
            (messages.COOLDOWN_KEY, entry.cooldown_key or "-"),
            (messages.TOOK_MS, str(entry.execution_time)),
        )
    )
    if entry.problem:
        output.print(fault_of(output, entry), "red")
    output.print(f"\n{output.render(messages.EVENT_DATA)}", "bold")
    output.print(json.dumps(entry.event_data, ensure_ascii=False, indent=2))
    output.print(f"\n{output.render(messages.CONDITIONS)}", "bold")
    show_verdicts(output, entry.conditions)
    if entry.actions_result:
        output.print(f"\n{output.render(messages.ACTIONS)}", "bold")
        show_results(output, entry.actions_result)
