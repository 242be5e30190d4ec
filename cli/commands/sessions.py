"""``agentex sessions``: the caller's conversations."""

from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client.api import ApiClient, Query
from cli.client.downloads import download, require_free
from cli.client.schemas import Record
from cli.command import client_command, command_group
from cli.errors import ExitCode
from cli.ui.i18n import common as messages
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm

_PATH = "/api/v1/sessions"
SessionArgument = Annotated[str, typer.Argument(metavar="ID|THREAD", help="The id of the session, or of its thread.")]
ArchivedOption = Annotated[
    bool | None, typer.Option("--archived/--active", help="Only those in the archive, or only the others.")
]
LimitOption = Annotated[int, typer.Option(min=1, max=100, help="How many at most.")]


class FileFormat(StrEnum):
    """Format of an exported session."""

    MARKDOWN = "markdown"
    JSON = "json"


class _MessageMatch(Record):
    role: str
    excerpt: str


class _SessionRecord(Record):
    id: str
    thread_id: str = ""
    title: str = ""
    message_count: int = 0
    is_archived: bool = False
    last_message_at: datetime | None = None
    match: _MessageMatch | None = None


class _SessionList(Record):
    items: list[_SessionRecord]
    total: int


class _MessageRecord(Record):
    role: str
    content: str
    created_at: datetime


class _MessageList(Record):
    items: list[_MessageRecord]
    has_more: bool


@client_command
async def list_sessions(
    output: Output, client: ApiClient, archived: ArchivedOption = None, limit: LimitOption = 20
) -> ExitCode:
    """List your conversations, the latest first."""
    return await _list(output, client, _query(archived, limit))


@client_command
async def search(
    output: Output,
    client: ApiClient,
    words: Annotated[str, typer.Argument(help="Words as they stand in a title or a message.")],
    archived: ArchivedOption = None,
    limit: LimitOption = 20,
) -> ExitCode:
    """Find conversations by what was said in them."""
    return await _list(output, client, {**_query(archived, limit), "search": words})


@client_command
async def show(
    output: Output,
    client: ApiClient,
    session: SessionArgument,
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many messages.")] = 50,
) -> ExitCode:
    """Show the newest messages of a conversation, the oldest of them first."""
    row = await _find(client, session)
    answer = await client.call("GET", f"{_PATH}/{row.id}/messages", query={"limit": limit})
    listed = client.read(_MessageList, answer)
    output.emit({**row.to_json(), "messages": listed.to_json()})
    output.print(_title(output, row), "bold")
    if listed.has_more:
        output.hint(messages.OLDER)
    for message in listed.items:
        who = messages.USER if message.role == "user" else messages.ASSISTANT
        output.print(f"\n{output.render(who)} · {_moment(message.created_at)}", "bold cyan")
        output.print(message.content)
    return ExitCode.OK


@client_command
async def export(
    output: Output,
    client: ApiClient,
    session: SessionArgument,
    file: Annotated[Path, typer.Argument(help="Where to write it, such as talk.md or talk.json.")],
    file_format: Annotated[
        FileFormat | None, typer.Option("--format", help="By default JSON for names in .json, else Markdown.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> ExitCode:
    """Write a whole conversation into a file, with its sources and tool calls."""
    by_name = FileFormat.JSON if file.suffix.lower() == ".json" else FileFormat.MARKDOWN
    require_free(file, force=force)
    row = await _find(client, session)
    path = f"{_PATH}/{row.id}/export?format={file_format or by_name}"
    size, digest = await download(client, path, file)
    output.say(messages.CHAT_EXPORTED, title=_title(output, row), path=file, size=size)
    output.emit({"id": row.id, "file": str(file), "size": size, "sha256": digest})
    return ExitCode.OK


@client_command
async def archive(
    output: Output,
    client: ApiClient,
    session: SessionArgument,
    undo: Annotated[bool, typer.Option("--undo", help="Take it out of the archive.")] = False,
) -> ExitCode:
    """Put a conversation away: it can be read, but not asked in."""
    row = await _find(client, session)
    answer = await client.call("PUT", f"{_PATH}/{row.id}", body={"is_archived": not undo})
    row = client.read(_SessionRecord, answer)
    message = messages.TAKEN_OUT if undo else messages.PUT_AWAY
    output.say(message, title=_title(output, row), id=row.id)
    output.emit(row.to_json())
    return ExitCode.OK


@client_command
async def delete(output: Output, client: ApiClient, session: SessionArgument, yes: YesOption = False) -> ExitCode:
    """Delete a conversation with everything in it; a running answer is stopped."""
    row = await _find(client, session)
    title = _title(output, row)
    if not confirm(output, yes, messages.CONFIRM, title=title, count=row.message_count):
        return ExitCode.FAILED
    await client.call("DELETE", f"{_PATH}/{row.id}")
    output.say(messages.DELETED, title=title)
    output.emit({"id": row.id, "deleted": True})
    return ExitCode.OK


async def _find(client: ApiClient, session_id: str) -> _SessionRecord:
    return client.read(_SessionRecord, await client.call("GET", f"{_PATH}/{quote(session_id, safe='')}"))


def _query(archived: bool | None, limit: int) -> dict[str, str | int]:
    query: dict[str, str | int] = {"page_size": limit}
    if archived is not None:
        query["is_archived"] = str(archived).lower()
    return query


async def _list(output: Output, client: ApiClient, query: Query) -> ExitCode:
    listed = client.read(_SessionList, await client.call("GET", _PATH, query=query))
    output.emit(listed.to_json())
    if not listed.items and output.screen.is_terminal:
        output.say(messages.NONE)
        return ExitCode.OK
    columns = (messages.TITLE, messages.COUNT, messages.LAST, messages.ARCHIVED, messages.ID)
    match_column = (messages.FOUND,) if "search" in query else ()
    output.table((*columns, *match_column), [_row(output, row, bool(match_column)) for row in listed.items])
    return ExitCode.OK


def _row(output: Output, row: _SessionRecord, is_found: bool) -> tuple[str, ...]:
    columns = (
        _title(output, row),
        str(row.message_count),
        _moment(row.last_message_at),
        output.render(messages.YES if row.is_archived else messages.NO),
        row.id,
    )
    return (*columns, row.match.excerpt if row.match else "-") if is_found else columns


def _title(output: Output, row: _SessionRecord) -> str:
    return row.title or output.render(messages.UNTITLED)


def _moment(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC" if moment else "-"


app = command_group(
    "List, find, read, export and delete conversations.",
    {"list": list_sessions, "search": search, "show": show, "export": export, "archive": archive, "delete": delete},
)
