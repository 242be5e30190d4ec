"""``agentex kb source``: the knowledge sources of a knowledge base."""

import asyncio
import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from urllib.parse import unquote, urlsplit

import typer
from pydantic import Field, JsonValue, TypeAdapter, ValidationError

from cli.client.api import ApiClient
from cli.client.schemas import AdviceRecord, JsonObject, KnowledgeBaseRecord, Record
from cli.command import client_command
from cli.commands.kb.manage import KnowledgeBaseArgument
from cli.commands.kb.source_credentials import AskCredentialsOption, CredentialsFileOption, read_credentials
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import knowledge_sources as messages
from cli.ui.output import Output
from cli.ui.prompts import YesOption, confirm, usage_error
from core.errors.auth import KnowledgeSourceNotFound
from core.errors.requests import InvalidRequest

_POLL_SECONDS = 0.5
_OPEN = {"pending", "running"}
_ORDER = ("created", "updated", "renamed", "deleted", "failed", "skipped", "unchanged", "restricted", "opened")
# Counted besides what else became of an item.
_OF_READERS = {"restricted", "opened"}
_SHOWN_EXAMPLES = 20
_BUCKET = "s3://"
_READER = "llama_index:"
_DATABASES = ("postgresql://", "postgres://", "mysql://", "mariadb://")
# Nextcloud and ownCloud may stand below a folder of their own.
_NEXTCLOUD = re.compile(r".*/remote\.php/(web)?dav/")
# As git takes them: ssh://git@host/path, or git@host:path.
_SSH = re.compile(r"(git\+)?ssh://|[^\s/:@]+@[^\s/:@]+:\S")
_MAIL = {"imaps": "tls", "imap": "starttls"}
_OBJECT = TypeAdapter(JsonObject)
_CONNECTOR_HELP = (
    "web, rss, git, s3, sql, folder, sqlite, github_issues, confluence, feishu, notion or llama_index; by default git for "
    "an address that ends with .git or is one over SSH, web for another."
)
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="Its name or its id.")]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Do not wait until the server has finished.")]


class _SyncRecord(Record):
    id: str
    status: str
    is_preview: bool = False
    counts: dict[str, int] = Field(default_factory=dict[str, int])
    examples: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    is_cut: bool = False
    failure: AdviceRecord | None = None
    created_at: str = ""


class _SourceRecord(Record):
    id: str
    name: str
    connector: str
    place: str = ""
    settings: JsonObject = Field(default_factory=JsonObject)
    credentials_set: list[str] = Field(default_factory=list[str])
    sync_every_minutes: int | None = None
    documents: int = 0
    last_sync: _SyncRecord | None = None


@client_command
async def list_sources(output: Output, client: ApiClient, knowledge_base: KnowledgeBaseArgument) -> ExitCode:
    """List the sources of a knowledge base of yours, and their last syncs."""
    base = await client.find_knowledge_base(knowledge_base)
    rows = await _sources(client, base)
    output.emit({"items": [row.to_json() for row in rows], "total": len(rows)})
    if not rows and output.screen.is_terminal:
        output.say(messages.NO_SOURCES, name=shlex.quote(base.name))
        return ExitCode.OK
    columns = (
        messages.NAME,
        messages.CONNECTOR,
        messages.PLACE,
        messages.EVERY,
        messages.DOCUMENTS,
        messages.LAST_SYNC,
    )
    output.table(columns, [_line(output, row) for row in rows])
    return ExitCode.OK


@client_command
async def add(
    output: Output,
    client: ApiClient,
    knowledge_base: KnowledgeBaseArgument,
    place: Annotated[
        str,
        typer.Argument(
            help="An http(s) address, s3://BUCKET/PREFIX, imaps://HOST/FOLDER, postgresql://HOST/DATABASE, "
            "mysql://HOST/DATABASE, ssh://git@HOST/PATH, llama_index:MODULE.CLASS, or the path of a folder on the server."
        ),
    ],
    name: Annotated[str | None, typer.Option(help="To tell sources apart; by default the place.")] = None,
    connector: Annotated[str | None, typer.Option(help=_CONNECTOR_HELP)] = None,
    every: Annotated[int | None, typer.Option(help="Minutes between syncs; without it only on request.")] = None,
    mode: Annotated[str | None, typer.Option(help="Of a web site: page, sitemap or site.")] = None,
    branch: Annotated[str | None, typer.Option(help="Of a Git repository; by default its own default.")] = None,
    watch: Annotated[
        bool | None, typer.Option("--watch", help="Of a folder: read changes within seconds.", show_default=False)
    ] = None,
    include: Annotated[list[str] | None, typer.Option(help="Pattern of what to read; may come many times.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(help="Pattern of what to leave; may come many times.")] = None,
    settings: Annotated[str | None, typer.Option(help="Further settings of the connector, as JSON.")] = None,
    credentials_file: CredentialsFileOption = None,
    ask_credentials: AskCredentialsOption = False,
    no_wait: NoWaitOption = False,
) -> ExitCode:
    """Keep a knowledge base in step with a web site, repository, feed, bucket, database, wiki or a folder on the server."""
    base = await client.find_knowledge_base(knowledge_base)
    connector = connector or _connector_of(place)
    wishes = _place_settings(place)
    options: dict[str, JsonValue] = {
        "mode": mode,
        "branch": branch,
        "watch": watch,
        "include": [*(include or ())],
        "exclude": [*(exclude or ())],
    }
    wishes |= {key: value for key, value in options.items() if value}
    wishes |= _parse_settings(settings)
    body: JsonObject = {
        "name": name or _default_name(place),
        "connector": connector,
        "settings": wishes,
        "sync_every_minutes": every,
    }
    secrets = await read_credentials(output, client, connector, file=credentials_file, asks=ask_credentials)
    if secrets is not None:
        body["credentials"] = secrets
    row = client.read(_SourceRecord, await client.call("POST", _path(base), body=body))
    output.say(messages.ADDED, name=row.name, base=base.name)
    if row.last_sync is None or no_wait:
        output.emit(row.to_json())
        return ExitCode.OK
    return await _follow(output, client, base, row, row.last_sync)


@client_command
async def credentials(
    output: Output,
    client: ApiClient,
    knowledge_base: KnowledgeBaseArgument,
    source: SourceArgument,
    credentials_file: CredentialsFileOption = None,
    ask_credentials: AskCredentialsOption = False,
    clear: Annotated[bool, typer.Option("--clear", help="Forget them.")] = False,
) -> ExitCode:
    """Give a source other credentials, such as a new token, or forget them; they count from its next sync on."""
    base = await client.find_knowledge_base(knowledge_base)
    row = await _find(client, base, source)
    if sum((credentials_file is not None, ask_credentials, clear)) != 1:
        raise usage_error("credentials", messages.NAME_ONE_WAY)
    secrets = await read_credentials(output, client, row.connector, file=credentials_file, asks=ask_credentials)
    body: JsonObject = {
        "name": row.name,
        "connector": row.connector,
        "settings": row.settings,
        "sync_every_minutes": row.sync_every_minutes,
        "credentials": secrets,
    }
    changed = client.read(_SourceRecord, await client.call("PUT", f"{_path(base)}/{row.id}", body=body))
    output.emit(changed.to_json())
    output.say(messages.CREDENTIALS_CLEARED if clear else messages.CREDENTIALS_STORED, name=row.name)
    return ExitCode.OK


@client_command
async def sync(
    output: Output,
    client: ApiClient,
    knowledge_base: KnowledgeBaseArgument,
    source: SourceArgument,
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would come, change and go.")] = False,
    allow_deletions: Annotated[
        bool, typer.Option("--allow-deletions", help="Allow what the last sync waits with.")
    ] = False,
    no_wait: NoWaitOption = False,
) -> ExitCode:
    """Synchronize a source now, or go on with a sync that waits for a confirmation."""
    base = await client.find_knowledge_base(knowledge_base)
    row = await _find(client, base, source)
    path = f"{_path(base)}/{row.id}/syncs"
    if allow_deletions and row.last_sync is not None:
        answer = await client.call("POST", f"{path}/{row.last_sync.id}/confirm")
    else:
        answer = await client.call("POST", path, body={"preview": preview})
    begun = client.read(_SyncRecord, answer)
    if no_wait:
        output.emit(begun.to_json())
        output.say(messages.BEGUN, name=row.name)
        return ExitCode.OK
    return await _follow(output, client, base, row, begun)


@client_command
async def failures(
    output: Output, client: ApiClient, knowledge_base: KnowledgeBaseArgument, source: SourceArgument
) -> ExitCode:
    """List what the last sync of a source could not read, and why."""
    base = await client.find_knowledge_base(knowledge_base)
    row = await _find(client, base, source)
    path, query = f"{_path(base)}/{row.id}/items", {"failed": "true", "page_size": "100"}
    items = [item async for page in client.pages(path, query) for item in page]
    records = [client.read(_ItemRecord, item) for item in items]
    output.emit({"items": items, "total": len(items)})
    lines = [(item.key, item.failure.explain(output.language) if item.failure else "") for item in records]
    output.table((messages.KEY, messages.WHY), lines)
    return ExitCode.OK


class _ItemRecord(Record):
    key: str
    failure: AdviceRecord | None = None


@client_command
async def delete(
    output: Output,
    client: ApiClient,
    knowledge_base: KnowledgeBaseArgument,
    source: SourceArgument,
    documents: Annotated[bool, typer.Option("--documents", help="Delete its documents, too.")] = False,
    yes: YesOption = False,
) -> ExitCode:
    """Forget a source; its documents stay, unless they are to go with it."""
    base = await client.find_knowledge_base(knowledge_base)
    row = await _find(client, base, source)
    question = messages.DELETE_WITH_DOCUMENTS if documents else messages.DELETE
    if not confirm(output, yes, question, name=row.name, count=row.documents):
        return ExitCode.FAILED
    path = f"{_path(base)}/{row.id}?documents={json.dumps(documents)}"
    answer = await client.call("DELETE", path)
    output.emit(answer)
    output.say(messages.DELETED, name=row.name)
    return ExitCode.OK


def _path(base: KnowledgeBaseRecord) -> str:
    return f"/api/v1/knowledge-bases/{base.id}/sources"


async def _sources(client: ApiClient, base: KnowledgeBaseRecord) -> list[_SourceRecord]:
    answer = await client.call("GET", _path(base))
    return [client.read(_SourceRecord, item) for item in answer] if isinstance(answer, list) else []


async def _find(client: ApiClient, base: KnowledgeBaseRecord, name: str) -> _SourceRecord:
    rows = await _sources(client, base)
    row = next((row for row in rows if name in (row.id, row.name)), None)
    if row is None:
        names = ", ".join(row.name for row in rows) or "-"
        raise CommandFailed(KnowledgeSourceNotFound(), messages.UNKNOWN, source=name, names=names)
    return row


async def _follow(
    output: Output, client: ApiClient, base: KnowledgeBaseRecord, row: _SourceRecord, record: _SyncRecord
) -> ExitCode:
    """Wait for the end of a sync; Ctrl-C leaves it to the server."""
    with output.remarks.status(output.render(messages.RUNNING, done=0)) as status:
        while record.status in _OPEN:
            await asyncio.sleep(_POLL_SECONDS)
            record = client.read(_SyncRecord, await client.call("GET", f"{_path(base)}/{row.id}/syncs/{record.id}"))
            status.update(
                output.render(
                    messages.RUNNING,
                    done=sum(number for outcome, number in record.counts.items() if outcome not in _OF_READERS),
                )
            )
    output.emit(record.to_json())
    _show(output, base, row, record)
    return ExitCode.OK if record.status in {"completed", "confirm"} else ExitCode.FAILED


def _show(output: Output, base: KnowledgeBaseRecord, row: _SourceRecord, record: _SyncRecord) -> None:
    if record.failure is not None:
        output.print(record.failure.explain(output.language), "red" if record.status == "failed" else "yellow")
    if record.status != "failed" or record.counts:
        output.say(messages.PREVIEWED if record.is_preview else messages.RESULT, counts=_counts(output, record.counts))
    outcomes = [outcome for outcome in _ORDER if record.examples.get(outcome)]
    if record.is_preview or record.status == "confirm" or "failed" in outcomes:
        for outcome in outcomes:
            for name in record.examples[outcome][:_SHOWN_EXAMPLES]:
                output.say(messages.EXAMPLE, outcome=output.render(messages.OUTCOMES[outcome]), name=name)
    names = {"base": shlex.quote(base.name), "source": shlex.quote(row.name)}
    if record.counts.get("failed"):
        output.hint(messages.SEE_FAILURES, **names)
    if record.status == "confirm":
        output.say(messages.WAITS, count=record.counts.get("deleted", 0), **names)
    if record.is_cut:
        output.say(messages.CUT)


def _counts(output: Output, counts: Mapping[str, int]) -> str:
    parts = [
        f"{counts[outcome]} {output.render(messages.OUTCOMES[outcome])}" for outcome in _ORDER if counts.get(outcome)
    ]
    return ", ".join(parts) or output.render(messages.NOTHING)


def _line(output: Output, row: _SourceRecord) -> tuple[str, ...]:
    every = output.render(messages.MINUTES, count=row.sync_every_minutes) if row.sync_every_minutes else "-"
    last = row.last_sync
    state = "-" if last is None else output.render(messages.STATUSES[last.status])
    if last is not None and (last.counts or last.status != "failed"):
        state = f"{state}: {_counts(output, last.counts)}"
    return row.name, row.connector, row.place, every, str(row.documents), state


def _place_settings(place: str) -> JsonObject:
    if place.startswith(_BUCKET):
        bucket, _, prefix = place.removeprefix(_BUCKET).partition("/")
        return {"bucket": bucket, "prefix": prefix}
    if place.startswith(_READER):
        return {"reader": place.removeprefix(_READER)}
    if urlsplit(place).scheme in _MAIL:
        return _mailbox_settings(place)
    return {"url": place} if "://" in place or _SSH.match(place) else {"path": place}


def _mailbox_settings(place: str) -> JsonObject:
    parts = urlsplit(place)
    try:
        port = parts.port or 0
    except ValueError as error:
        raise CommandFailed(InvalidRequest("place", "a port from 1 to 65535"), messages.BAD_PORT) from error
    settings: JsonObject = {"host": parts.hostname or "", "port": port, "security": _MAIL[parts.scheme]}
    if folder := unquote(parts.path.strip("/")):
        settings["include"] = [folder]
    return settings


def _connector_of(place: str) -> str:
    if place.startswith(_READER):
        return "llama_index"
    if _SSH.match(place):
        return "git"
    if "://" not in place:
        return "folder"
    if place.startswith(_BUCKET):
        return "s3"
    if place.startswith(_DATABASES):
        return "sql"
    scheme, _, path, *_ = urlsplit(place)
    if scheme in _MAIL:
        return "imap"
    if _NEXTCLOUD.match(path):
        return "webdav"
    return "git" if path.rstrip("/").endswith(".git") else "web"


def _default_name(place: str) -> str:
    parts = urlsplit(place)
    return (f"{parts.netloc}{parts.path}".rstrip("/") if parts.netloc else Path(place).name) or place


def _parse_settings(text: str | None) -> JsonObject:
    try:
        return _OBJECT.validate_json(text) if text else {}
    except ValidationError as error:
        raise CommandFailed(InvalidRequest("settings", "a JSON object"), messages.BAD_SETTINGS) from error
