"""``agentex kb reindex``: other settings for a knowledge base that stays searchable."""

import asyncio
import shlex
from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from cli.client.api import ApiClient
from cli.client.schemas import JsonObject, KnowledgeBaseRecord, Record
from cli.command import JsonOption, LanguageOption, Options, UrlOption, run
from cli.errors import ExitCode
from cli.ui.i18n import kb as messages
from cli.ui.i18n.common import Language
from cli.ui.output import Output

_POLL_SECONDS = 1


class ReindexAction(StrEnum):
    """What to do about a re-index."""

    START = "start"
    STATUS = "status"
    CUTOVER = "cutover"
    CANCEL = "cancel"
    ROLLBACK = "rollback"


class SettingsRecord(Record):
    """Settings of one generation."""

    embedding_model: str
    splitter: str
    chunk_size: int
    chunk_overlap: int
    kept_until: datetime | None = None

    def __str__(self) -> str:
        sizes = f"{self.chunk_size} / {self.chunk_overlap}"
        return f"{self.splitter}, {sizes}, {self.embedding_model}"


class CountsRecord(Record):
    """Searchable documents of a knowledge base, and re-indexed ones."""

    total: int
    done: int
    failed: int
    left: int


class FiguresRecord(Record):
    """Retrieval figures of the saved questions."""

    recall_5: float
    mrr_10: float


class RecallRecord(Record):
    """Figures of the present settings and of the new ones."""

    questions: int
    present: FiguresRecord
    target: FiguresRecord


class WordsRecord(Record):
    """An explanation in both languages."""

    message: str
    message_zh: str


class ReindexRecord(Record):
    """State of a re-index."""

    state: str
    percent: int
    eta_seconds: float | None
    documents: CountsRecord
    present: SettingsRecord
    target: SettingsRecord | None
    previous: SettingsRecord | None
    edited_chunks: int
    paused: bool
    waiting: WordsRecord | None = None
    recall: RecallRecord | None = None
    recall_missing: WordsRecord | None = None
    outcome: str | None = None


def reindex(
    knowledge_base: Annotated[str, typer.Argument(metavar="NAME|ID", help="Its name or its id.")],
    action: Annotated[ReindexAction, typer.Argument(help="What to do about the re-index.")] = ReindexAction.START,
    splitter: Annotated[str | None, typer.Option(help="How documents are cut.")] = None,
    chunk_size: Annotated[int | None, typer.Option(help="Tokens per chunk.")] = None,
    chunk_overlap: Annotated[int | None, typer.Option(help="Tokens that neighbouring chunks share.")] = None,
    model: Annotated[str | None, typer.Option(help="Embedding model.")] = None,
    manual: Annotated[bool, typer.Option("--manual", help="Wait for `cutover` once all documents are done.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Make all documents anew with the same settings.")] = False,
    without_failed: Annotated[
        bool, typer.Option("--without-failed", help="With cutover: lose documents that failed.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Show the progress until it is over.")] = False,
    url: UrlOption = None,
    json_only: JsonOption = False,
    language: LanguageOption = None,
) -> None:
    """Change splitter, sizes or model of a knowledge base while it stays searchable."""
    wishes: JsonObject = {
        "splitter": splitter,
        "chunk_size": chunk_size,
        "chunk_overlap": chunk_overlap,
        "embedding_model": model,
    }
    settings = {key: value for key, value in wishes.items() if value is not None}
    bodies: dict[ReindexAction, JsonObject] = {
        ReindexAction.START: {**settings, "cutover": "manual" if manual else "auto", "force": force},
        ReindexAction.CUTOVER: {"without_failed": without_failed},
    }

    async def body(output: Output, client: ApiClient) -> ExitCode:
        base = await client.find_knowledge_base(knowledge_base)
        talk = _ReindexDialog(output, client, base)
        record = await talk.send(action, bodies.get(action, {}))
        talk.tell(action, record)
        if wait and record.state == "running":
            record = await talk.watch(record)
            talk.tell_end(record)
        output.emit(record.to_json())
        return ExitCode.FAILED if record.state in {"blocked", "held"} else ExitCode.OK

    run(Options(json_only, language, url), body)


class _ReindexDialog:
    def __init__(self, output: Output, client: ApiClient, base: KnowledgeBaseRecord) -> None:
        self._output = output
        self._client = client
        self._base = base
        self._quoted = shlex.quote(base.name)

    async def send(self, action: ReindexAction, body: JsonObject) -> ReindexRecord:
        path = "" if action in {ReindexAction.START, ReindexAction.STATUS} else f"/{action}"
        method = "GET" if action is ReindexAction.STATUS else "POST"
        return await self._client.reindex(ReindexRecord, method, f"{self._base.id}/reindex{path}", body)

    def tell(self, action: ReindexAction, record: ReindexRecord) -> None:
        telling: dict[ReindexAction, Callable[[ReindexRecord], None]] = {
            ReindexAction.START: self._tell_start,
            ReindexAction.STATUS: self._tell_status,
            ReindexAction.CANCEL: lambda _: self._output.say(messages.CANCELLED, name=self._base.name),
            ReindexAction.CUTOVER: self.tell_end,
            ReindexAction.ROLLBACK: self._tell_rollback,
        }
        telling[action](record)

    def _tell_start(self, record: ReindexRecord) -> None:
        say, name = self._output.say, self._base.name
        if record.outcome == "applied":
            say(messages.APPLIED, name=name)
            return
        if record.outcome == "unchanged":
            say(messages.UNCHANGED, name=name)
            return
        say(messages.STARTED, name=name, count=record.documents.total)
        if record.edited_chunks:
            say(messages.EDITS_LOST, count=record.edited_chunks)
        say(messages.HOW_TO_WATCH, quoted=self._quoted)

    def _tell_rollback(self, record: ReindexRecord) -> None:
        if record.state == "none":
            self.tell_end(record)
        else:
            self._output.say(messages.GOING_BACK, left=record.documents.left)

    def _tell_status(self, record: ReindexRecord) -> None:
        output = self._output
        if record.target is None:
            output.say(messages.NONE, name=self._base.name)
            self._tell_way_back(record)
            return
        counts = record.documents
        documents = output.render(messages.PROGRESS, done=counts.done, total=counts.total)
        output.facts(
            (
                (messages.STATE, f"{record.state}, {record.percent} %"),
                (messages.DOCUMENTS, documents),
                (messages.PRESENT, str(record.present)),
                (messages.TARGET, str(record.target)),
                (messages.EDITS, str(record.edited_chunks)),
            )
        )
        self._tell_pause(record)
        if record.waiting is not None:
            self._tell_words(record.waiting)
        if record.state != "running":
            self.tell_end(record)

    def _tell_pause(self, record: ReindexRecord) -> None:
        if record.paused:
            self._output.say(messages.PAUSED)

    def tell_end(self, record: ReindexRecord) -> None:
        """Report the outcome, and the possible next steps."""
        say = self._output.say
        if record.recall is not None:
            before, after = record.recall.present, record.recall.target
            say(
                messages.RECALL,
                count=record.recall.questions,
                recall=f"{before.recall_5:.3f} -> {after.recall_5:.3f}",
                mrr=f"{before.mrr_10:.3f} -> {after.mrr_10:.3f}",
            )
        if record.recall_missing is not None:
            self._tell_words(record.recall_missing)
        if record.state == "held":
            say(messages.HELD, quoted=self._quoted)
        elif record.state == "blocked":
            say(messages.BLOCKED, count=record.documents.failed, quoted=self._quoted)
        elif record.state == "ready":
            say(messages.READY, quoted=self._quoted)
        elif record.state == "none":
            say(messages.IN_FORCE, name=self._base.name, settings=record.present)
            self._tell_way_back(record)

    def _tell_words(self, words: WordsRecord) -> None:
        is_chinese = self._output.language is Language.ZH and words.message_zh
        self._output.print(words.message_zh if is_chinese else words.message)

    def _tell_way_back(self, record: ReindexRecord) -> None:
        if record.previous is not None and record.previous.kept_until is not None:
            until = f"{record.previous.kept_until:%Y-%m-%d %H:%M} UTC"
            self._output.say(messages.WAY_BACK, until=until, quoted=self._quoted)

    async def watch(self, record: ReindexRecord) -> ReindexRecord:
        """Draw the progress until nothing is left to do, or it is paused."""
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            console=self._output.remarks,
            transient=True,
            disable=not self._output.lively,
        )
        with progress:
            line = progress.add_task("", total=100)
            # An automatic cut-over follows within a moment of the last document.
            while not record.paused and _goes_on(record):
                counts = record.documents
                text = self._output.render(messages.PROGRESS, done=counts.done, total=counts.total)
                progress.update(line, completed=record.percent, description=text)
                await asyncio.sleep(_POLL_SECONDS)
                record = await self.send(ReindexAction.STATUS, {})
        self._tell_pause(record)
        return record


def _goes_on(record: ReindexRecord) -> bool:
    cuts_over = record.to_json().get("cutover") == "auto"
    return record.state == "running" or (record.state == "ready" and cuts_over)
