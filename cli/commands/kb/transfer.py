"""``agentex kb export``, ``import`` and ``copy``: whole knowledge bases."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn, TransferSpeedColumn

from cli.client.api import ApiClient
from cli.client.downloads import download, require_free
from cli.client.schemas import FailureRecord, JsonObject, Record
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.ingest.local_files import CountedFile, sha256
from cli.commands.kb.manage import KnowledgeBaseArgument
from cli.errors import CommandFailed, ExitCode
from cli.ui.i18n import common as messages
from cli.ui.i18n.common import PATH_MISSING, Language, Message
from cli.ui.output import Output
from core.errors.requests import InvalidRequest

_POLL_SECONDS = 0.3
_OPEN = {"pending", "processing"}
NameOption = Annotated[str | None, typer.Option(help="What the new knowledge base is called.")]
NoWaitOption = Annotated[bool, typer.Option("--no-wait", help="Do not wait until the server has finished.")]


class _ArchiveFacts(Record):
    name: str
    documents: int = 0
    embeds_anew: bool = False
    embedding_model: str = ""


class _TransferRecord(Record):
    id: str
    knowledge_base_id: str
    status: str
    progress: int = 0
    facts: _ArchiveFacts
    failure: FailureRecord | None = None


def export(
    knowledge_base: KnowledgeBaseArgument,
    file: Annotated[Path, typer.Argument(help="Where to write it, such as manuals.akb.")],
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Write a knowledge base into one file: documents, passages, vectors, settings, questions."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        require_free(file, force=force)
        base = await client.find_knowledge_base(knowledge_base)
        path = f"/api/v1/knowledge-bases/{base.id}/export"
        with _drawn(output, messages.EXPORTING, total=None) as on_progress:
            size, digest = await download(client, path, file, on_progress)
        output.say(messages.EXPORTED, name=base.name, path=file, size=size, sha256=digest)
        output.emit({"id": base.id, "file": str(file), "size": size, "sha256": digest})
        return ExitCode.OK

    run(Options(json_only, language, url), body)


def import_file(
    file: Annotated[Path, typer.Argument(help="A file that agentex kb export wrote.")],
    name: NameOption = None,
    no_wait: NoWaitOption = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Make a knowledge base of an exported file; it is yours and private."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        if not file.is_file():
            raise CommandFailed(InvalidRequest("file", str(file)), PATH_MISSING, path=str(file))
        digest = await asyncio.to_thread(sha256, file)
        output.remark(messages.FILE_DIGEST, sha256=digest)
        fields = {"name": name} if name else {}
        total = file.stat().st_size
        with _drawn(output, messages.UPLOADING, total=total) as on_progress, CountedFile(file, on_progress) as content:
            answer = await client.send_file("/api/v1/knowledge-bases/import", content, file.name, fields)
        transfer = client.read(_TransferRecord, answer)
        return await _follow(output, client, transfer, {"sha256": digest}, wait=not no_wait)

    run(Options(json_only, language, url), body)


def copy(
    knowledge_base: KnowledgeBaseArgument,
    name: NameOption = None,
    no_wait: NoWaitOption = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Copy a knowledge base that you may read; the copy is yours and private."""

    async def body(output: Output, client: ApiClient) -> ExitCode:
        base = await client.find_knowledge_base(knowledge_base)
        path = f"/api/v1/knowledge-bases/{base.id}/copy"
        transfer = client.read(_TransferRecord, await client.call("POST", path, body={"name": name} if name else {}))
        return await _follow(output, client, transfer, {}, wait=not no_wait)

    run(Options(json_only, language, url), body)


async def _follow(
    output: Output, client: ApiClient, transfer: _TransferRecord, facts: JsonObject, *, wait: bool
) -> ExitCode:
    if transfer.facts.embeds_anew:
        output.remark(messages.EMBEDS_ANEW, model=transfer.facts.embedding_model)
    if wait:
        reasons: set[str] = set()
        with _drawn(output, messages.TRANSFERRING, total=100) as on_progress:
            while transfer.status in _OPEN:
                on_progress(transfer.progress)
                if transfer.failure is not None and transfer.failure.reason not in reasons:
                    reasons.add(transfer.failure.reason)
                    output.remark(messages.TRANSFER_WAITS, why=_explained(transfer, output.language))
                await asyncio.sleep(_POLL_SECONDS)
                answer = await client.call("GET", f"/api/v1/transfers/{transfer.id}")
                transfer = client.read(_TransferRecord, answer)
    output.emit({**transfer.to_json(), **facts})
    if transfer.status == "completed":
        output.say(messages.TRANSFERRED, name=transfer.facts.name, count=transfer.facts.documents)
        return ExitCode.OK
    if transfer.status in _OPEN:
        output.say(messages.TRANSFER_BEGUN, name=transfer.facts.name)
        return ExitCode.OK
    output.print(_explained(transfer, output.language), "red")
    return ExitCode.FAILED


def _explained(transfer: _TransferRecord, language: Language) -> str:
    failure = transfer.failure
    if failure is None:
        return transfer.status
    if language is Language.ZH and failure.message_zh:
        return f"{failure.message_zh}。{failure.next_action_zh}"
    return f"{failure.message}. {failure.next_action}"


@contextmanager
def _drawn(output: Output, what: Message, *, total: int | None) -> Generator[Callable[[int], None]]:
    """Yield a function that draws progress, on terminals only."""
    columns = (
        (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
        if total is None
        else (TextColumn("{task.description}"), BarColumn(bar_width=24), TaskProgressColumn())
    )
    with Progress(*columns, console=output.remarks, transient=True, disable=not output.lively) as progress:
        task = progress.add_task(output.render(what), total=total)

        def on_progress(done: int) -> None:
            progress.update(task, completed=done)

        yield on_progress
