"""``agentex ingest``: files and folders into a knowledge base."""

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Annotated, Self

import typer
from pydantic import JsonValue
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from cli.client.api import ApiClient
from cli.client.schemas import QUEUED, ArchiveMemberRecord, JsonObject, KnowledgeBaseRecord
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.ingest.local_files import LocalFile, LocalFiles, SkippedFile, find_files
from cli.commands.ingest.run import (
    ABOUT_THE_FILE,
    IngestItem,
    IngestOptions,
    IngestRun,
    IngestState,
    UploadConflictPolicy,
)
from cli.commands.kb.manage import create_and_tell
from cli.errors import CommandFailed, ExitCode, ServerRefused, exit_code
from cli.ui.i18n import common as messages
from cli.ui.i18n import kb
from cli.ui.i18n.common import REASON_UNREADABLE, Message
from cli.ui.output import Output, printable
from core.errors.auth import ReadOnly
from core.errors.requests import InvalidRequest

_LISTED = 20
_COUNTS = {
    IngestState.COMPLETED: messages.COUNT_COMPLETED,
    IngestState.UPLOADED: messages.COUNT_UPLOADED,
    IngestState.PRESENT: messages.COUNT_PRESENT,
    IngestState.FAILED: messages.COUNT_FAILED,
    IngestState.WAITING: messages.COUNT_OPEN,
    IngestState.UPLOADING: messages.COUNT_OPEN,
}
_OUTCOMES = {"replaced": kb.REPLACED, "retried": kb.RETRIED}


def ingest(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders or glob patterns.")],
    knowledge_base: Annotated[str, typer.Option("--kb", metavar="NAME|ID", help="The knowledge base.")],
    create: Annotated[bool, typer.Option("--create", help="Create the knowledge base if it is not there.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until each document is processed.")] = True,
    on_conflict: Annotated[
        UploadConflictPolicy, typer.Option("--on-conflict", help="What to do with a changed file of a taken name.")
    ] = UploadConflictPolicy.REPLACE,
    parser: Annotated[
        str | None, typer.Option(help="Reads the formats that it can, in place of the knowledge base's parser.")
    ] = None,
    strategy: Annotated[str | None, typer.Option(help="How that parser reads, e.g. fast or hi_res.")] = None,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Upload files and wait until they can be searched.

    Folders are searched to the bottom; hidden files, links that lead out of
    the folder and kinds of files that can't be read are left out. A file below
    a named folder becomes a document named like "part › page.html". Of a zip
    file each member that can be read becomes a document named like
    "papers.zip › part › page.html".

    What is already there with the same name and content is not sent again, so
    the same command goes on after an interruption. A changed file replaces the
    document of its name; what was indexed is found until the new text is.

    Exit code 1 means that a file failed.
    """

    async def body(output: Output, client: ApiClient) -> ExitCode:
        local_files = find_files(paths)
        if not local_files.files and not local_files.archives and not local_files.left_out:
            raise CommandFailed(InvalidRequest("path", "empty"), messages.NO_FILES)
        base = await _target(output, client, knowledge_base, create=create)
        choices = IngestOptions(
            wait=wait, on_conflict=on_conflict, language=output.language, parser=parser, strategy=strategy
        )
        return await _ingest(output, client, base, local_files, choices)

    run(Options(json_only, language, url), body)


async def _ingest(
    output: Output, client: ApiClient, base: KnowledgeBaseRecord, local_files: LocalFiles, choices: IngestOptions
) -> ExitCode:
    items = [IngestItem(file) for file in local_files.files]
    report = IngestReport(output, base, items, local_files)
    try:
        items += await send_archives(client, base.id, local_files, choices)
        with IngestProgress(output, len(items)) as progress:
            work = IngestRun(client, base.id, items, choices=choices, changed=progress.change)
            await work.run()
    except asyncio.CancelledError:
        report.show(interrupted=True)
        raise
    except Exception:
        # The error itself is this command's JSON; people also want to know how far it came.
        report.show_words()
        raise
    return report.show()


async def _target(output: Output, client: ApiClient, name: str, *, create: bool) -> KnowledgeBaseRecord:
    try:
        base = await client.find_knowledge_base(name)
    except CommandFailed as problem:
        if exit_code(problem.code) is not ExitCode.NOT_FOUND:
            raise
        if not create:
            output.remark(messages.KB_UNKNOWN_CREATE)
            raise
        return await create_and_tell(output, client, {"name": name}, emit=False)
    if not base.can_write:
        raise CommandFailed(ReadOnly(), messages.KB_READ_ONLY, name=base.name)
    return base


class IngestReport:
    """Outcome of an ingestion.

    Args:
        items: the files to ingest.
        found: also has the skipped files.
    """

    def __init__(
        self, output: Output, base: KnowledgeBaseRecord, items: Sequence[IngestItem], local_files: LocalFiles
    ) -> None:
        self._output = output
        self._base = base
        self._items = items
        self._found = local_files

    def show(self, *, interrupted: bool = False) -> ExitCode:
        """Print it and return the exit code."""
        counts = Counter[str](item.state.value for item in self._items)
        counts["skipped"] = len(self._found.left_out)
        summary: JsonObject = {
            "knowledge_base": {"id": self._base.id, "name": self._base.name},
            "interrupted": interrupted,
            "counts": {name: count for name, count in counts.items() if count},
            "files": [*map(_item_json, self._items), *map(self._skip_json, self._found.left_out)],
        }
        self._output.emit(summary)
        self.show_words(interrupted=interrupted)
        failed = counts[IngestState.FAILED.value] or any(skipped.asked_for for skipped in self._found.left_out)
        return ExitCode.FAILED if failed else ExitCode.OK

    def show_words(self, *, interrupted: bool = False) -> None:
        """Print it as text."""
        say = self._output.say
        say(messages.SUMMARY, name=self._base.name)
        counts = Counter[Message](_COUNTS[item.state] for item in self._items)
        counts[messages.COUNT_SKIPPED] = len(self._found.left_out)
        for label in dict.fromkeys((*_COUNTS.values(), messages.COUNT_SKIPPED)):
            if counts[label]:
                self._output.print(f"  {counts[label]:>6} {self._output.render(label)}")
        self._show_reasons()
        outcomes = Counter(item.outcome for item in self._items)
        for outcome, words in _OUTCOMES.items():
            if outcomes[outcome]:
                say(words, count=outcomes[outcome])
        for why, count in self._waiting().items():
            say(kb.AT_REST, count=count, why=why)
        if interrupted:
            say(messages.INTERRUPTED)
        elif counts[messages.COUNT_COMPLETED] and self._output.screen.is_terminal:
            say(messages.ASK_IT, quoted=shlex.quote(self._base.name))

    def _waiting(self) -> Counter[str]:
        """Reasons why stored documents wait, without those that only wait for their turn."""
        documents = (
            item.document
            for item in self._items
            if item.state in (IngestState.UPLOADED, IngestState.PRESENT) and item.document
        )
        return Counter(
            document.waiting.explain(self._output.language)
            for document in documents
            if document.waiting and document.waiting.reason != QUEUED
        )

    def _show_reasons(self) -> None:
        language = self._output.language
        lines = [
            (f"  ✗ {item.file.path}: {item.reason}", "red") for item in self._items if item.state is IngestState.FAILED
        ]
        lines += [
            (f"  - {skipped.path}: {skipped.reason.render(language)}", "red" if skipped.asked_for else "dim")
            for skipped in self._found.left_out
        ]
        for text, style in lines[:_LISTED]:
            self._output.print(text, style)
        if len(lines) > _LISTED:
            rest = self._output.render(messages.AND_MORE, count=len(lines) - _LISTED)
            self._output.print(f"  … {rest}", "dim")

    def _skip_json(self, skipped: SkippedFile) -> JsonValue:
        return {"path": str(skipped.path), "status": "skipped", "reason": skipped.reason.render(self._output.language)}


def _item_json(item: IngestItem) -> JsonValue:
    document = item.document
    return {
        "path": str(item.file.path),
        "name": item.file.name,
        "status": item.state.value,
        "outcome": item.outcome or None,
        "reason": item.reason or None,
        "document": document.to_json() if document else None,
    }


async def send_archives(
    client: ApiClient, knowledge_base_id: str, local_files: LocalFiles, choices: IngestOptions
) -> list[IngestItem]:
    """Upload the archives; their members are followed or become skipped files."""
    items: list[IngestItem] = []
    for archive in local_files.archives:
        try:
            members = await client.upload_archive(
                knowledge_base_id, archive.path, archive.name, choices.query(choices.on_conflict)
            )
        except OSError:
            local_files.left_out.append(SkippedFile(archive.path, REASON_UNREADABLE, archive.asked_for))
        except ServerRefused as refusal:
            if refusal.code // 100 not in ABOUT_THE_FILE:
                raise
            reason = refusal.explain(choices.language)
            local_files.left_out.append(SkippedFile(archive.path, _as_said(reason, reason), archive.asked_for))
        else:
            for member in members:
                _sort(archive, member, items, local_files)
    return items


def _sort(archive: LocalFile, member: ArchiveMemberRecord, items: list[IngestItem], local_files: LocalFiles) -> None:
    # Only shown: no path of a member is ever opened.
    path = Path(f"{archive.path}/{member.path}")
    if member.document is not None:
        file = LocalFile(path, member.document.name, asked_for=False)
        items.append(IngestItem(file, document=member.document, outcome=member.document.outcome))
    elif member.error is not None:
        why = member.error.details.get("reason")
        more = f" ({why})" if why else ""
        error = member.error
        reason = _as_said(f"{error.message}{more}", f"{error.message_zh}{more}")
        local_files.left_out.append(SkippedFile(path, reason))


def _as_said(en: str, zh: str) -> Message:
    """The server's text as a message: braces in it are no placeholders."""
    return Message(*(text.replace("{", "{{").replace("}", "}}") for text in (en, zh)))


# With few files each keeps its line; with many only active ones have one.
_FEW = 8
_LONGEST_NAME = 48
_STAGES = {
    "queued": messages.STAGE_QUEUED,
    "parsing": messages.STAGE_PARSING,
    "splitting": messages.STAGE_SPLITTING,
    "embedding": messages.STAGE_EMBEDDING,
    "done": messages.STAGE_DONE,
}


class IngestProgress:
    """Progress display, on terminals only."""

    def __init__(self, output: Output, total: int) -> None:
        self._output = output
        self._total = total
        self._done = 0
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[stage]}", style="dim", markup=False),
            console=output.remarks,
            transient=True,
            disable=not output.lively,
        )
        self._all = self._progress.add_task(self._count(), total=total, stage="")
        self._tasks: dict[int, TaskID] = {}

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def change(self, item: IngestItem) -> None:
        if not self._output.lively:
            return
        if item.settled or (item.state is IngestState.UPLOADED and self._is_queued(item)):
            self._retire(item)
        else:
            percent, stage = self._position(item)
            self._progress.update(self._line(item), completed=percent, stage=stage)
        if item.settled:
            self._done += 1
            self._progress.update(self._all, completed=self._done, description=self._count())

    def _retire(self, item: IngestItem) -> None:
        if self._total > _FEW or item.state is IngestState.PRESENT:
            task = self._tasks.pop(id(item), None)
            if task is not None:
                self._progress.remove_task(task)
            return
        percent, stage = self._position(item)
        self._progress.update(self._line(item), completed=percent, stage=stage)

    def _line(self, item: IngestItem) -> TaskID:
        if id(item) not in self._tasks:
            name = printable(item.file.name)
            short = name if len(name) <= _LONGEST_NAME else f"…{name[1 - _LONGEST_NAME :]}"
            self._tasks[id(item)] = self._progress.add_task(f"  {short}", total=100, stage="")
        return self._tasks[id(item)]

    def _position(self, item: IngestItem) -> tuple[float, str]:
        if item.state is IngestState.FAILED:
            return 100, self._output.render(messages.COUNT_FAILED)
        if item.document is not None:
            stage = _STAGES.get(item.document.stage)
            return item.document.progress, self._output.render(stage) if stage else ""
        size = max(item.file.path.stat().st_size, 1)
        return min(100 * item.sent / size, 100), self._output.render(messages.UPLOADING)

    def _is_queued(self, item: IngestItem) -> bool:
        return item.document is not None and item.document.status == "pending"

    def _count(self) -> str:
        return self._output.render(messages.INGESTING, done=self._done, total=self._total)
