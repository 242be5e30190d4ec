"""The ingestion pipeline: parse, split, embed and index documents, then show the new revision.

Small documents are processed as a batch, with one request to the encoder, one to the index and one transaction. Each
document keeps its own lease and result.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from itertools import islice

from anyio import to_thread

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from core.threads import StopFlag, run_stoppable
from ingestion import reindex
from ingestion.attempts.claim import ClaimedDocument
from ingestion.attempts.failures import LeaseLost, fail_as_poison, is_outage, record_failure
from ingestion.attempts.lease_heartbeat import renew_while
from ingestion.context import WorkerContext
from ingestion.page_index import PageIndex
from ingestion.parsers.boxes import BoxIndex
from ingestion.parsers.choice import choice_for
from ingestion.parsers.file_type import ending_of
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.client import parse_limits
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.parsers.text.charset import no_text_failure
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.splitters.encoding import blocking_embed
from ingestion.vectorize import PointOrigin, embed_points
from kb_service.documents import queries as document_queries
from kb_service.documents import source_permissions
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.models import Document, DocumentStage
from kb_service.text.tokenizer import pack_terms
from kb_service.vector_index.protocol import point_id
from kb_service.work_queue import completion, leases
from kb_service.work_queue.completion import RevisionResult, RevisionSwitch
from kb_service.work_queue.leases import Lease

log = get_logger(__name__)

_BATCH = 64
_PROGRESS_SECONDS = 0.25


async def process_documents(context: WorkerContext, batch: Sequence[ClaimedDocument]) -> None:
    """Process claimed documents of one knowledge base and generation; results go to their rows."""
    remaining: list[ClaimedDocument] = []
    for claimed in batch:
        if claimed.document.attempt > context.settings.ingest_attempts:
            await fail_as_poison(context, claimed.lease)
        else:
            remaining.append(claimed)
    if remaining:
        await _process_batch(context, remaining)


async def _process_batch(context: WorkerContext, batch: Sequence[ClaimedDocument]) -> None:
    try:
        results = await renew_while(
            _run_stages(context, batch),
            partial(_renew, context, batch),
            seconds=context.settings.lease_seconds,
            lost=LeaseLost,
        )
    except asyncio.CancelledError:
        for claimed in batch:
            async with unit_of_work(context.database) as work:
                await leases.release_for_retry(work, claimed.lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every result is on the row
        if len(batch) > 1 and not isinstance(error, LeaseLost) and not is_outage(error):
            await _process_separately(context, batch)
            return
        results = [error] * len(batch)
    await _record_results(context, batch, results)


async def _process_separately(context: WorkerContext, batch: Sequence[ClaimedDocument]) -> None:
    """Process a failed batch one document at a time: one of them may be the cause."""
    for claimed in batch:
        # A document without a lease may be complete: its points must not be touched.
        if await _renew(context, [claimed]):
            await _process_batch(context, [claimed.as_retried()])
        else:
            await record_failure(context, claimed.lease, claimed.document, LeaseLost())


async def _renew(
    context: WorkerContext,
    batch: Sequence[ClaimedDocument],
    stage: DocumentStage | None = None,
    percent: int | None = None,
) -> bool:
    held_leases, seconds = [claimed.lease for claimed in batch], context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        return await leases.renew(work, held_leases, seconds=seconds, stage=stage, progress=percent)


class _ProgressWriter:
    """Writes the progress of an attempt, at most every ``_PROGRESS_SECONDS``."""

    def __init__(self, context: WorkerContext, batch: Sequence[ClaimedDocument]) -> None:
        self._context = context
        self._batch = batch
        self._written = time.monotonic()

    async def reach(self, stage: DocumentStage, percent: int) -> None:
        """Write stage and percent; LeaseLost when no lease is left."""
        if time.monotonic() - self._written < _PROGRESS_SECONDS:
            return
        if not await _renew(self._context, self._batch, stage, percent):
            raise LeaseLost
        self._written = time.monotonic()

    async def report_parsing(self, percent: int) -> None:
        """Write the progress of a document that is parsed page by page; failures are ignored."""
        try:
            await self.reach(DocumentStage.PARSING, percent)
        except (AgentexError, OSError) as error:
            # A failed progress update must not cost ten minutes of parsing.
            log.warning("document.progress_not_written", cause=type(error).__name__)


@dataclass(frozen=True)
class _SplitDocument:
    claimed: ClaimedDocument
    parsed: ParsedDocument
    pieces: Sequence[Piece]


_AttemptResult = RevisionSwitch | Exception


async def _run_stages(context: WorkerContext, batch: Sequence[ClaimedDocument]) -> list[_AttemptResult]:
    progress = _ProgressWriter(context, batch)
    space = context.spaces.of(batch[0].generation.embedding_model)
    parsed = await _parse_each(context, progress, batch)
    await progress.reach(DocumentStage.SPLITTING, 0)
    # The thread can be stopped: splitting a document that was deleted may take a minute.
    splits = await run_stoppable(
        lambda stop: [_split(stop, space, claimed, document) for claimed, document in zip(batch, parsed, strict=True)]
    )
    ready = [split for split in splits if isinstance(split, _SplitDocument)]
    if not ready:
        return [split for split in splits if isinstance(split, Exception)]
    outcomes = await _embed_and_index(space, progress, ready)
    attempts = [(split.claimed.lease, outcome) for split, outcome in zip(ready, outcomes, strict=True)]
    flips = await _commit(context, attempts)
    return [
        split if isinstance(split, Exception) else flips[split.claimed.document.id] or LeaseLost() for split in splits
    ]


async def _commit(
    context: WorkerContext, attempts: Sequence[tuple[Lease, RevisionResult]]
) -> dict[str, RevisionSwitch | None]:
    async with unit_of_work(context.database) as work:
        flips = await completion.commit_revisions(work, attempts)
    for lease, outcome in attempts:
        if lease.document_id not in flips:
            # Another transaction has locked its row: a single document can wait for that.
            async with unit_of_work(context.database) as work:
                flips |= await completion.commit_revisions(work, [(lease, outcome)])
    return flips


def _split(
    stop: StopFlag, space: EmbeddingSpace, claimed: ClaimedDocument, parsed: ParsedDocument | Exception
) -> _SplitDocument | Exception:
    if isinstance(parsed, Exception):
        return parsed
    splitting = claimed.generation.splitting
    sizes = SplitSizes(splitting.chunk_size, splitting.chunk_overlap)
    embed = blocking_embed(space.encoder, stop, account=claimed.account)
    split = SPLITTERS[splitting.splitter].splitter(embed)
    try:
        pieces = list(stop.until(split(parsed, sizes=sizes, counter=space.counter)))
    except Exception as error:  # noqa: BLE001 - a document that can't be split fails by itself
        return error
    if not pieces:
        return no_text_failure(parsed.warnings, claimed.document.chosen_encoding)
    return _SplitDocument(claimed, parsed, pieces)


async def _record_results(
    context: WorkerContext, batch: Sequence[ClaimedDocument], results: Sequence[_AttemptResult]
) -> None:
    pairs = list(zip(batch, results, strict=True))
    completed = [(claimed.document, flip) for claimed, flip in pairs if isinstance(flip, RevisionSwitch)]
    if completed:
        # One log line per batch: a line each would be a notable part of a small document's work.
        log.info("documents.completed", document_ids=[document.id for document, _ in completed])
    for claimed, error in pairs:
        if isinstance(error, Exception):
            await record_failure(context, claimed.lease, claimed.document, error)
    for document, flip in completed:
        if document.superseded_keys and not flip.is_shadow:
            await _try_follow_up(document, partial(_settle_readers, context, document))
        await _try_follow_up(document, partial(_remove_superseded, context, document, flip))
    if any(flip.is_reindexing for _, flip in completed):
        first = batch[0].document
        advance = partial(reindex.advance, context, first.knowledge_base_id)
        await _try_follow_up(first, advance)


async def _try_follow_up(document: Document, act: Callable[[], Awaitable[None]]) -> None:
    """Do what follows a completed attempt; the sweep and the reconciler repeat failures."""
    try:
        await act()
    except (AgentexError, OSError) as error:
        log.warning("document.not_tidied", document_id=document.id, error=type(error).__name__)


async def _settle_readers(context: WorkerContext, document: Document) -> None:
    """Drop lists of readers that belong to the text before; if that fails, the next sync of its source does."""
    async with context.database.reading() as session:
        if not await source_permissions.has_next_readers(session, document.id):
            return
    async with unit_of_work(context.database) as work:
        await source_permissions.settle_readers(work, document.id)


async def _remove_superseded(context: WorkerContext, document: Document, flip: RevisionSwitch) -> None:
    gone = [number for number in range(1, document.revision) if number not in flip.visible_revisions]
    if gone:
        await context.spaces.delete_documents([document.id], revisions=gone)
    if not flip.is_shadow:
        for key in document.superseded_keys:
            await context.store.delete(key)


async def _parse_each(
    context: WorkerContext, progress: _ProgressWriter, batch: Sequence[ClaimedDocument]
) -> list[ParsedDocument | Exception]:
    limits = parse_limits(context.settings)
    requests: dict[str, ParseRequest] = {}
    parsed: dict[str, ParsedDocument | Exception] = {}
    async with AsyncExitStack() as copies:
        for document in (claimed.document for claimed in batch):
            try:
                choice = choice_for(context.settings, document.media_type, document, batch[0].parser)
                copy = context.store.local_copy(document.storage_key)
                path = await copies.enter_async_context(copy)
            except Exception as error:  # noqa: BLE001 - a document whose file is missing fails by itself
                parsed[document.id] = error
            else:
                requests[document.id] = ParseRequest(
                    path,
                    document.media_type,
                    limits,
                    document.chosen_encoding,
                    choice.parser,
                    choice.strategy,
                    ending_of(document.name),
                )
        if requests:
            outcomes = await context.parser.parse_each(list(requests.values()), listener=progress.report_parsing)
            parsed |= zip(requests, outcomes, strict=True)
    return [parsed[claimed.document.id] for claimed in batch]


async def _embed_and_index(
    space: EmbeddingSpace, progress: _ProgressWriter, splits: Sequence[_SplitDocument]
) -> list[RevisionResult]:
    """Embed and upsert the pieces in batches; the rerank's tokens are made while the engine embeds."""
    for document in (split.claimed.document for split in splits if not split.claimed.is_untouched):
        # An interrupted attempt may have left more pieces than this one has.
        gone = document_queries.unused_revisions(document)
        await space.index.delete_documents([document.id], revisions=gone)
    placed = [
        (origin, piece)
        for split in splits
        for origin in (PointOrigin.of(split.claimed.document),)
        for piece in split.pieces
    ]
    terms: list[bytes] = []
    for start in range(0, len(placed), _BATCH):
        await progress.reach(DocumentStage.EMBEDDING, 100 * start // len(placed))
        batch = placed[start : start + _BATCH]
        points, packed = await asyncio.gather(
            embed_points(space, batch, account=splits[0].claimed.account), to_thread.run_sync(_pack_terms, batch)
        )
        await space.index.upsert(points)
        terms += packed
    remaining = iter(terms)
    return [_revision_result(split, list(islice(remaining, len(split.pieces)))) for split in splits]


def _pack_terms(placed: Sequence[tuple[PointOrigin, Piece]]) -> list[bytes]:
    return [pack_terms(piece.text) for _, piece in placed]


def _revision_result(split: _SplitDocument, terms: Sequence[bytes]) -> RevisionResult:
    pages, boxes = PageIndex(split.parsed.elements), BoxIndex(split.parsed.boxes)
    return RevisionResult(
        chunks=map(partial(_chunk_row, split.claimed.document, pages, boxes), split.pieces, terms),
        chunk_count=len(split.pieces),
        parsed={name: getattr(split.parsed, name) for name in Document.PARSED_FIELDS},
    )


def _chunk_row(document: Document, pages: PageIndex, boxes: BoxIndex, piece: Piece, terms: bytes) -> dict[str, object]:
    return {
        "id": point_id(document.id, document.revision, piece.index),
        "document_id": document.id,
        "knowledge_base_id": document.knowledge_base_id,
        "revision": document.revision,
        "position": piece.index,
        "content": piece.text,
        "heading_path": list(piece.heading_path),
        "page": piece.page,
        "later_pages": pages.within(piece.char_start, piece.char_end) or None,
        "char_start": piece.char_start,
        "char_end": piece.char_end,
        "token_count": piece.token_count,
        "enabled": True,
        "version": 1,
        "terms": terms,
        "boxes": boxes.within(piece.char_start, piece.char_end) or None,
    }
