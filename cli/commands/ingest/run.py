"""One run of ``agentex ingest``: comparison, uploads, and the wait for the documents."""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeVar

from cli.client.api import ApiClient
from cli.client.schemas import BatchFileRecord, BatchRecord, BatchRefusal, DocumentRecord
from cli.client.uploads import BatchUploadBody
from cli.commands.ingest.local_files import CountedFile, LocalFile, sha256
from cli.commands.kb.manage import explain_failure
from cli.errors import ServerRefused
from cli.ui.i18n.common import REASON_TWIN, REASON_UNREADABLE, REASON_VANISHED, Language
from core.errors.base import AgentexError

# Small enough for a quick response and visible progress.
_MOST_FILES = 32
_SMALL_BYTES = 64 * 1024
_MOST_BYTES = 512 * 1024


class _SizedFile(Protocol):
    @property
    def size(self) -> int | None:
        """Size in bytes; None if unknown."""
        ...


_T = TypeVar("_T", bound=_SizedFile)


@dataclass(frozen=True)
class OutgoingFile:
    """A file to upload; ``on_progress`` is called with the bytes sent so far."""

    path: Path
    name: str
    on_progress: Callable[[int], None]


def grouped(items: Sequence[_T], senders: int) -> Iterator[list[_T]]:
    """Groups of items to send together, in order; a large one goes alone, and each sender gets some."""
    most = min(_MOST_FILES, max(1, len(items) // senders))
    group, weight = list[_T](), 0
    for item in items:
        size = item.size
        if size is None or size > _SMALL_BYTES:
            yield [item]
            continue
        if len(group) == most or weight + size > _MOST_BYTES:
            yield group
            group, weight = [], 0
        group.append(item)
        weight += size
    if group:
        yield group


async def upload_together(
    client: ApiClient, knowledge_base_id: str, files: Sequence[OutgoingFile], query: Mapping[str, str | int]
) -> list[DocumentRecord | ServerRefused]:
    """Upload at most 1,000 files in one request; idempotent.

    Returns for each file its document, or why it was refused; raises ``OSError`` if one can't be read.

    Args:
        query: their options.
    """
    path = f"/api/v1/knowledge-bases/{knowledge_base_id}/documents/batch"
    with ExitStack() as stack:
        opened = [(file.name, stack.enter_context(CountedFile(file.path, file.on_progress))) for file in files]
        answer = await client.send_files(BatchUploadBody(path, opened, query))
    return [_document_of(item) for item in client.read(BatchRecord, answer).items]


def _document_of(item: BatchFileRecord) -> DocumentRecord | ServerRefused:
    if item.document is not None:
        return item.document
    error = item.error or BatchRefusal(code=AgentexError.code)
    return ServerRefused(error.code, error.message, error.details or {})


UPLOADS_AT_ONCE = 4
"""Requests with files that are under way at a time."""

_FIRST_PAUSE, _LONGEST_PAUSE, _SLOWER = 0.1, 1.0, 1.3
# Two transactions of the server may become visible in another order than their times say.
_CLOCK_MARGIN = timedelta(seconds=5)
_QUIET_SECONDS = 10.0
# What the server has where only a parser was chosen.
_OWN_STRATEGY = "auto"
_PATIENCE = 60.0
# Refusals that concern only this file; any other would hit the next file too.
ABOUT_THE_FILE = {400, 409, 413, 422}


class UploadConflictPolicy(StrEnum):
    """What the server does with a changed file whose name is taken."""

    REPLACE = "replace"
    KEEP_BOTH = "keep_both"
    REFUSE = "refuse"


class IngestState(StrEnum):
    """State of a file."""

    WAITING = "waiting"
    UPLOADING = "uploading"
    UPLOADED = "uploaded"
    COMPLETED = "completed"
    PRESENT = "present"
    FAILED = "failed"


@dataclass
class IngestItem:
    """A file and its progress.

    Attributes:
        sent: uploaded bytes.
        document: the server's record; None before the upload.
        outcome: the server's outcome of the upload.
    """

    file: LocalFile
    state: IngestState = IngestState.WAITING
    sent: int = 0
    document: DocumentRecord | None = None
    reason: str = ""
    outcome: str = ""

    @property
    def settled(self) -> bool:
        """Whether this run has nothing more to do for it."""
        return self.state in (IngestState.COMPLETED, IngestState.PRESENT, IngestState.FAILED)


@dataclass(frozen=True)
class IngestOptions:
    """How to ingest.

    Args:
        wait: whether to wait until each document is processed.
        on_conflict: what becomes of a changed file whose name is taken.
        parser: for these files; None for the knowledge base's.
    """

    wait: bool
    on_conflict: UploadConflictPolicy
    language: Language
    parser: str | None = None
    strategy: str | None = None

    def query(self, on_conflict: UploadConflictPolicy) -> dict[str, str | int]:
        """The query of an upload."""
        chosen = {"on_conflict": on_conflict.value, "parser": self.parser, "strategy": self.strategy}
        return {name: value for name, value in chosen.items() if value is not None}

    def is_read_so(self, document: DocumentRecord) -> bool:
        """Whether a document has the parser that is chosen here, if one is."""
        if self.parser is None:
            return True
        return (document.chosen_parser, document.chosen_strategy) == (self.parser, self.strategy or _OWN_STRATEGY)


class IngestRun:
    """Uploads files into one knowledge base and follows their processing; ``changed`` gets each changed item."""

    def __init__(
        self,
        client: ApiClient,
        knowledge_base_id: str,
        items: Sequence[IngestItem],
        *,
        choices: IngestOptions,
        changed: Callable[[IngestItem], None],
    ) -> None:
        self._client = client
        self._base_id = knowledge_base_id
        self._items = items
        self._choices = choices
        self._changed = changed
        self._present: defaultdict[str, list[DocumentRecord]] = defaultdict(list)
        self._taken: set[tuple[str, str]] = set()
        self._followed: dict[str, IngestItem] = {}
        self._since: datetime | None = None

    async def run(self) -> None:
        await self._learn_present()
        # The connection has worked once, so a restart of the server is waited out.
        self._client.transport.patience = _PATIENCE
        items_by_name: defaultdict[str, list[IngestItem]] = defaultdict(list)
        for item in self._items:
            items_by_name[item.file.name].append(item)
        queue = grouped([_SameNameFiles(items) for items in items_by_name.values()], UPLOADS_AT_ONCE)
        try:
            async with asyncio.TaskGroup() as group:
                uploads = [group.create_task(self._upload_next(queue)) for _ in range(UPLOADS_AT_ONCE)]
                if self._choices.wait:
                    group.create_task(self._follow(uploads))
        except ExceptionGroup as problems:
            raise problems.exceptions[0] from None

    async def _learn_present(self) -> None:
        async for page in self._client.document_pages(self._base_id):
            for document in page:
                self._present[document.sha256].append(document)

    async def _upload_next(self, queue: Iterator[Sequence["_SameNameFiles"]]) -> None:
        for group in queue:
            if len(group) > 1:
                await self._try_together([same_name.items[0] for same_name in group])
                continue
            # Files of one name go one after the other: the first may replace a document, the
            # others must find it there and stand beside it.
            for item in group[0].items:
                await self._try_upload(item, beside=item is not group[0].items[0])

    async def _try_upload(self, item: IngestItem, *, beside: bool) -> None:
        with self._failing(item):
            if not await self._is_needless(item, beside=beside):
                await self._take(item, await self._upload(item, beside=beside))

    async def _try_together(self, items: Sequence[IngestItem]) -> None:
        pending: list[IngestItem] = []
        for item in items:
            with self._failing(item):
                if not await self._is_needless(item, beside=False):
                    pending.append(item)
        try:
            answers = await self._upload_together(pending) if pending else []
        except (OSError, ServerRefused) as problem:
            if isinstance(problem, ServerRefused) and not _is_about_files(problem):
                raise
            # One of them is refused: send each alone.
            answers = []
        for number, item in enumerate(pending):
            with self._failing(item):
                if number >= len(answers):
                    await self._take(item, await self._upload(item, beside=False))
                    continue
                answer = answers[number]
                if isinstance(answer, ServerRefused):
                    raise answer
                await self._take(item, answer)

    @contextmanager
    def _failing(self, item: IngestItem) -> Generator[None]:
        """Record errors that concern one file on its item; others are raised."""
        try:
            yield
        except OSError:
            self._settle(item, IngestState.FAILED, REASON_UNREADABLE.render(self._choices.language))
        except ServerRefused as refusal:
            if not _is_about_files(refusal):
                raise
            self._settle(item, IngestState.FAILED, refusal.explain(self._choices.language))

    async def _is_needless(self, item: IngestItem, *, beside: bool) -> bool:
        """Whether a file need not be sent; it is then settled, or followed."""
        if item.document is not None:
            # A member of an archive is already on the server.
            await self._take(item, item.document)
            return True
        key = (item.file.name, await asyncio.to_thread(sha256, item.file.path))
        if key in self._taken:
            self._settle(item, IngestState.PRESENT, REASON_TWIN.render(self._choices.language))
            return True
        self._taken.add(key)
        present = self._find_present(*key, beside=beside)
        if present is not None:
            await self._accept(item, present, IngestState.PRESENT)
        return present is not None

    async def _take(self, item: IngestItem, document: DocumentRecord) -> None:
        item.outcome = item.outcome or document.outcome
        is_there = item.outcome == "unchanged"
        await self._accept(item, document, IngestState.PRESENT if is_there else IngestState.UPLOADED)

    def _find_present(self, name: str, digest: str, *, beside: bool) -> DocumentRecord | None:
        """A document that makes sending the file unnecessary."""
        numbered = beside or self._choices.on_conflict is UploadConflictPolicy.KEEP_BOTH
        for document in self._present[digest]:
            same = document.name == name or (numbered and _is_numbered(document.name, name))
            if same and document.status not in ("failed", "cancelled") and self._choices.is_read_so(document):
                return document
        return None

    async def _upload(self, item: IngestItem, *, beside: bool) -> DocumentRecord:
        choice = UploadConflictPolicy.KEEP_BOTH if beside else self._choices.on_conflict
        outgoing = self._outgoing(item)
        return await self._client.upload(
            self._base_id, outgoing.path, outgoing.name, outgoing.on_progress, self._choices.query(choice)
        )

    async def _upload_together(self, items: Sequence[IngestItem]) -> list[DocumentRecord | ServerRefused]:
        files = [self._outgoing(item) for item in items]
        query = self._choices.query(self._choices.on_conflict)
        return await upload_together(self._client, self._base_id, files, query)

    def _outgoing(self, item: IngestItem) -> OutgoingFile:
        def on_progress(sent: int) -> None:
            item.sent = sent
            self._changed(item)

        item.state = IngestState.UPLOADING
        return OutgoingFile(item.file.path, item.file.name, on_progress)

    async def _accept(self, item: IngestItem, document: DocumentRecord, state: IngestState) -> None:
        item.document = document
        if document.settled or not self._choices.wait:
            self._settle(item, state)
            return
        if self._since is None:
            self._since = document.updated_at
        item.state = IngestState.UPLOADED
        self._followed[document.id] = item
        self._changed(item)

    def _settle(self, item: IngestItem, state: IngestState, reason: str = "") -> None:
        item.state, item.reason = state, reason
        self._changed(item)

    async def _follow(self, uploads: Sequence[asyncio.Task[None]]) -> None:
        pause, heard = _FIRST_PAUSE, time.monotonic()
        while self._followed or not all(upload.done() for upload in uploads):
            await asyncio.sleep(pause)
            pause = min(pause * _SLOWER, _LONGEST_PAUSE)
            if not self._followed:
                continue
            if await self._look_at_recent():
                heard = time.monotonic()
            elif time.monotonic() - heard > _QUIET_SECONDS:
                await self._look_at_each()
                heard = time.monotonic()

    async def _look_at_recent(self) -> bool:
        """Read the documents that changed since the last call; return whether one of ours did."""
        since, news = self._since, False
        oldest_wanted = since - _CLOCK_MARGIN if since else None
        query = {"sort_by": "updated_at", "sort_order": "desc"}
        async for page in self._client.document_pages(self._base_id, query):
            for document in page:
                news = await self._note(document) or news
            times = [document.updated_at for document in page if document.updated_at]
            if times and (self._since is None or max(times) > self._since):
                self._since = max(times)
            if times and oldest_wanted is not None and min(times) < oldest_wanted:
                break
        return news

    async def _look_at_each(self) -> None:
        """Fetch each open document: somebody may have deleted it."""
        for document_id, item in list(self._followed.items()):
            document = await self._client.get_document(self._base_id, document_id)
            if document is not None:
                await self._note(document)
            else:
                del self._followed[document_id]
                self._settle(item, IngestState.FAILED, REASON_VANISHED.render(self._choices.language))

    async def _note(self, document: DocumentRecord) -> bool:
        item = self._followed.get(document.id)
        if item is None or item.document == document:
            return False
        item.document = document
        if not document.settled:
            self._changed(item)
            return True
        del self._followed[document.id]
        if document.status == "completed":
            self._settle(item, IngestState.COMPLETED)
        elif document.status == "pending":
            # Its knowledge base is paused: it is stored, and continues when that does.
            self._settle(item, IngestState.UPLOADED)
        else:
            self._settle(item, IngestState.FAILED, explain_failure(document, self._choices.language))
        return True


@dataclass(frozen=True)
class _SameNameFiles:
    items: Sequence[IngestItem]

    @property
    def size(self) -> int | None:
        """Size of a file that may be grouped; None if it must not."""
        (first, *others) = self.items
        if others or first.document is not None:
            return None
        try:
            return first.file.path.stat().st_size
        except OSError:
            return None


def _is_about_files(refusal: ServerRefused) -> bool:
    return refusal.code // 100 in ABOUT_THE_FILE


def _is_numbered(present: str, name: str) -> bool:
    """Whether the server made a name from this one: ``name (2).ext``."""
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    middle = present.removeprefix(stem).removesuffix(dot + suffix)
    return re.fullmatch(r" \(\d+\)", middle) is not None
