"""``agentex notifications``: what the caller's rules have to say."""

from datetime import datetime
from typing import Annotated
from urllib.parse import quote

import typer

from cli.client.api import ApiClient
from cli.client.schemas import Record
from cli.command import client_command, command_group
from cli.errors import ExitCode
from cli.ui.i18n import rules as messages
from cli.ui.output import Output
from cli.ui.prompts import DeletionPrompt, YesOption, delete_with_prompt, usage_error

_PATH = "/api/v1/notifications"
_STYLES = {"error": "red", "warning": "yellow"}
NotificationArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of the notification.")]


class _NotificationRecord(Record):
    id: str
    level: str = "info"
    title: str
    text: str = ""
    created_at: datetime
    read_at: datetime | None = None


class _NotificationList(Record):
    items: list[_NotificationRecord]
    total: int
    unread: int = 0


@client_command
async def list_notifications(
    output: Output,
    client: ApiClient,
    unread: Annotated[bool, typer.Option("--unread", help="Only those that were not read.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many at most.")] = 20,
) -> ExitCode:
    """List the messages of your rules, the newest first."""
    query = {"unread": str(unread).lower(), "page_size": limit}
    listed = client.read(_NotificationList, await client.call("GET", _PATH, query=query))
    output.emit(listed.to_json())
    if not listed.items and output.screen.is_terminal:
        output.say(messages.NO_NOTIFICATIONS)
        return ExitCode.OK
    columns = (messages.TIME, messages.LEVEL, messages.READ, messages.TITLE, messages.ID)
    output.table(columns, [_row(output, item) for item in listed.items])
    output.hint(messages.UNREAD, count=listed.unread)
    return ExitCode.OK


@client_command
async def read(
    output: Output,
    client: ApiClient,
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Their ids.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that were not read.")] = False,
) -> ExitCode:
    """Print messages of your rules, and mark them as read."""
    if bool(ids) == everything:
        raise usage_error("ids", messages.IDS_OR_ALL)
    chosen = [*(ids or ())]
    if everything:
        # Of a list that shrinks as it is read, the second page would be another one.
        pages = client.pages(_PATH, {"unread": "true"})
        chosen = [client.read(_NotificationRecord, item).id async for page in pages for item in page]
    marked: list[_NotificationRecord] = []
    for notification_id in chosen:
        answer = await client.call("PUT", f"{_PATH}/{quote(notification_id, safe='')}/read")
        row = client.read(_NotificationRecord, answer)
        marked.append(row)
        output.print(row.title, f"bold {_STYLES.get(row.level, '')}".strip())
        if row.text:
            output.print(row.text)
    output.emit({"items": [row.to_json() for row in marked], "total": len(marked)})
    if not marked:
        output.say(messages.NO_NOTIFICATIONS)
    return ExitCode.OK


@client_command
async def delete(
    output: Output, client: ApiClient, notification: NotificationArgument, yes: YesOption = False
) -> ExitCode:
    """Delete a message of your rules."""
    words = (messages.DELETE_NOTIFICATION, messages.NOTIFICATION_DELETED)
    thing = DeletionPrompt(_PATH, notification, notification)
    return await delete_with_prompt(output, client, thing, yes, words=words)


def _row(output: Output, item: _NotificationRecord) -> tuple[str, ...]:
    level = messages.LEVELS.get(item.level)
    return (
        f"{item.created_at:%Y-%m-%d %H:%M} UTC",
        output.render(level) if level else item.level,
        f"{item.read_at:%Y-%m-%d %H:%M} UTC" if item.read_at else "-",
        item.title,
        item.id,
    )


app = command_group(
    "List, read and delete the messages of your rules.",
    {"list": list_notifications, "read": read, "delete": delete},
)
