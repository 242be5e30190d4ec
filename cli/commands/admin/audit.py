"""``agentex admin audit``: the audit log."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import httpx
import typer

from cli.client.api import ApiClient
from cli.client.downloads import download, require_free
from cli.client.schemas import JsonObject, Record
from cli.command import client_command
from cli.errors import ExitCode
from cli.ui.i18n import admin as messages
from cli.ui.output import Output

_PATH = "/api/v1/system/audit"


class _AuditEntry(Record):
    created_at: datetime
    action: str
    actor_name: str = ""
    object_type: str = ""
    object_id: str = ""
    object_name: str = ""
    address: str = ""


class _AuditPage(Record):
    items: list[_AuditEntry]
    total: int


@client_command
async def audit(
    output: Output,
    client: ApiClient,
    search: Annotated[str, typer.Option(help="Part of an action, name, id, address or request id.")] = "",
    action: Annotated[list[str] | None, typer.Option(help="Such as login.failed; may come many times.")] = None,
    actor: Annotated[str, typer.Option(help="Who acted: a user name or an id.")] = "",
    since: Annotated[str, typer.Option(help="Not before, such as 2026-11-01T00:00:00Z.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="Acts to show.")] = 20,
    csv: Annotated[Path | None, typer.Option(help="Write all that fit into this file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> ExitCode:
    """Show the audit log, the newest act first, or write it to a CSV file."""
    filters = {"q": search, "actor": actor, "since": since}
    query: dict[str, str | list[str]] = {name: text for name, text in filters.items() if text}
    if action:
        query["action"] = action
    if csv is not None:
        require_free(csv, force=force)
        path = f"{_PATH}/export?{httpx.QueryParams(query)}"
        size, digest = await download(client, path, csv)
        facts: JsonObject = {"path": str(csv), "size": size, "sha256": digest}
        output.say(messages.AUDIT_WRITTEN, path=csv, size=size)
        output.emit(facts)
        return ExitCode.OK
    path = f"{_PATH}?{httpx.QueryParams({**query, 'page_size': str(limit)})}"
    acts = client.read(_AuditPage, await client.call("GET", path))
    output.emit(acts.to_json())
    columns = (messages.WHEN, messages.ACTION, messages.ACTOR, messages.OBJECT, messages.ADDRESS)
    output.table(columns, [_row(act) for act in acts.items])
    if acts.total > len(acts.items):
        output.remark(messages.MORE_ACTS, shown=len(acts.items), total=acts.total)
    return ExitCode.OK


def _row(act: _AuditEntry) -> tuple[str, ...]:
    on = act.object_name or act.object_id
    return (
        f"{act.created_at:%Y-%m-%d %H:%M:%S}",
        act.action,
        act.actor_name or "-",
        f"{act.object_type} {on}".strip() or "-",
        act.address or "-",
    )
