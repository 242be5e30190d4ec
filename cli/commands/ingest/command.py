"""``agentex ingest``: files and folders into a knowledge base."""

import asyncio
import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import JsonValue

from cli.client.api import ApiClient
from cli.client.schemas import QUEUED, JsonObject, KnowledgeBaseRecord
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.commands.ingest.archives import send_archives
from cli.commands.ingest.local_files import Found, LeftOut, find_files
from cli.commands.ingest.progress import IngestProgress
from cli.commands.ingest.run import Choices, IngestRun, Item, OnConflict, State
from cli.commands.kb.manage import create_and_tell
from cli.errors import CommandFailed, ExitCode, exit_code
from cli.ui.i18n import common as messages
from cli.ui.i18n import kb
from cli.ui.i18n.common import Message
from cli.ui.output import Output
from core.errors.auth import ReadOnly
from core.errors.requests import InvalidRequest

_LISTED = 20
_COUNTS = {
    State.COMPLETED: messages.COUNT_COMPLETED,
    State.UPLOADED: messages.COUNT_UPLOADED,
    State.PRESENT: messages.COUNT_PRESENT,
    State.FAILED: messages.COUNT_FAILED,
    State.WAITING: messages.COUNT_OPEN,
    State.UPLOADING: messages.COUNT_OPEN,
}
_OUTCOMES = {"replaced": kb.REPLACED, "retried": kb.RETRIED}


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders or glob patterns.")
    ],
    knowledge_base: Annotated[
        str, typer.Option("--kb", metavar="NAME|ID", help="The knowledge base.")
    ],
    create: Annotated[
        bool, typer.Option("--create", help="Create the knowledge base if it is not there.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until each document is processed.")
    ] = True,
    on_conflict: Annotated[
        OnConflict,
        typer.Option("--on-conflict", help="What to do with a changed file of a taken name."),
    ] = OnConflict.REPLACE,
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
        found = find_files(paths)
        if not found.files and not found.archives and not found.left_out:
            raise CommandFailed(InvalidRequest("path", "empty"), messages.NO_FILES)
        base = await _target(output, client, knowledge_base, create=create)
        choices = Choices(wait=wait, on_conflict=on_conflict, language=output.language)
        return await _ingest(output, client, base, found, choices)

    run(Options(json_only, language, url), body)


async def _ingest(
    output: Output, client: ApiClient, base: KnowledgeBaseRecord, found: Found, choices: Choices
) -> ExitCode:
    items = [Item(file) for file in found.files]
    report = Report(output, base, items, found)
    try:
        items += await send_archives(client, base.id, found, choices)
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


async def _target(
    output: Output, client: ApiClient, wanted: str, *, create: bool
) -> KnowledgeBaseRecord:
    try:
        base = await client.find_knowledge_base(wanted)
    except CommandFailed as problem:
        if exit_code(problem.code) is not ExitCode.NOT_FOUND:
            raise
        if not create:
            output.remark(messages.KB_UNKNOWN_CREATE)
            raise
        return await create_and_tell(output, client, {"name": wanted}, emit=False)
    if not base.can_write:
        raise CommandFailed(ReadOnly(), messages.KB_READ_ONLY, name=base.name)
    return base


class Report:
    """What became of the files.

    Args:
        output: the command's.
        base: where they went.
        items: those that were to be ingested.
        found: also those that were left out.
    """

    def __init__(
        self,
        output: Output,
        base: KnowledgeBaseRecord,
        items: Sequence[Item],
        found: Found,
    ) -> None:
        self._output = output
        self._base = base
        self._items = items
        self._found = found

    def show(self, *, interrupted: bool = False) -> ExitCode:
        """Print it and give the exit code."""
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
        failed = counts[State.FAILED.value] or any(one.asked_for for one in self._found.left_out)
        return ExitCode.FAILED if failed else ExitCode.OK

    def show_words(self, *, interrupted: bool = False) -> None:
        """Print it for people."""
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
        """Why documents that are there rest; whose turn has not come needs no word."""
        documents = (
            item.document
            for item in self._items
            if item.state in (State.UPLOADED, State.PRESENT) and item.document
        )
        return Counter(
            document.waiting.explain(self._output.language)
            for document in documents
            if document.waiting and document.waiting.reason != QUEUED
        )

    def _show_reasons(self) -> None:
        language = self._output.language
        lines = [
            (f"  ✗ {item.file.path}: {item.reason}", "red")
            for item in self._items
            if item.state is State.FAILED
        ]
        lines += [
            (f"  - {one.path}: {one.reason.render(language)}", "red" if one.asked_for else "dim")
            for one in self._found.left_out
        ]
        for text, style in lines[:_LISTED]:
            self._output.print(text, style)
        if len(lines) > _LISTED:
            rest = self._output.render(messages.AND_MORE, count=len(lines) - _LISTED)
            self._output.print(f"  … {rest}", "dim")

    def _skip_json(self, one: LeftOut) -> JsonValue:
        return {
            "path": str(one.path),
            "status": "skipped",
            "reason": one.reason.render(self._output.language),
        }


def _item_json(item: Item) -> JsonValue:
    document = item.document
    return {
        "path": str(item.file.path),
        "name": item.file.name,
        "status": item.state.value,
        "outcome": item.outcome or None,
        "reason": item.reason or None,
        "document": document.to_json() if document else None,
    }
