"""Documents from their bytes to their chunks: parse, split, embed and index, flip.

Small ones are worked on together, as one bundle: one request to the encoder, one to the index and
one transaction for all. Each keeps a lease and an end of its own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.logging import get_logger
from core.threads import StopFlag, run_stoppable
from ingestion import reindex
from ingestion.attempts.claim import ClaimedDocument, claim
from ingestion.attempts.failures import LeaseLost, fail_as_poison, is_outage, record_failure
from ingestion.attempts.lease_heartbeat import renew_while
from ingestion.context import WorkerContext
from ingestion.parsers.model import ParsedDocument
from ingestion.parsers.sandbox.pool import parse_limits
from ingestion.parsers.sandbox.protocol import ParseRequest
from ingestion.parsers.text.charset import no_text_failure
from ingestion.splitters import SPLITTERS
from ingestion.splitters.base import Piece, SplitSizes
from ingestion.vectorize import PointOrigin, embed_points
from kb_service.documents import queries as document_queries
from kb_service.embedding_spaces import EmbeddingSpace
from kb_service.models import Document, DocumentStage
from kb_service.text.term_hashes import pack_terms
from kb_service.vector_index.protocol import point_id
from kb_service.work_queue import completion, leases
from kb_service.work_queue.completion import RevisionResult, RevisionSwitch
from kb_service.work_queue.leases import Lease

log = get_logger(__name__)

_BATCH = 64
_PROGRESS_SECONDS = 0.25


async def ingest(context: WorkerContext, document_id: str) -> None:
    """Process one document if it waits; the outcome is on its row.

    Args:
        context: the worker's connections.
        document_id: what to process; doing it twice or on two workers has one effect.
    """
    await process_documents(context, await claim(context, document_id, alone=True))


async def process_documents(context: WorkerContext, bundle: Sequence[ClaimedDocument]) -> None:
    """Process documents whose leases were just taken; the outcomes are on their rows.

    Args:
        context: the worker's connections.
        bundle: of one knowledge base and made with the same settings.
    """
    tried = [one for one in bundle if one.document.attempt > context.settings.ingest_attempts]
    for one in tried:
        await fail_as_poison(context, one.lease)
    sound = [one for one in bundle if one not in tried]
    if sound:
        await _process_batch(context, sound)


async def _process_batch(context: WorkerContext, bundle: Sequence[ClaimedDocument]) -> None:
    try:
        ends = await renew_while(
            _run_stages(context, bundle),
            partial(_renew, context, bundle),
            seconds=context.settings.lease_seconds,
            lost=LeaseLost,
        )
    except asyncio.CancelledError:
        for one in bundle:
            async with unit_of_work(context.database) as work:
                await leases.release_for_retry(work, one.lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every end is on the row
        if len(bundle) > 1 and not isinstance(error, LeaseLost) and not is_outage(error):
            await _process_separately(context, bundle)
            return
        ends = [error] * len(bundle)
    await _record_results(context, bundle, ends)


async def _process_separately(context: WorkerContext, bundle: Sequence[ClaimedDocument]) -> None:
    """Process documents one by one that failed together: one of them may be why."""
    for one in bundle:
        # It may also be done: then the others must not touch what is searched.
        if await _renew(context, [one]):
            await _process_batch(context, [one.again()])
        else:
            await record_failure(context, one.lease, one.document, LeaseLost())


async def _renew(context: WorkerContext, bundle: Sequence[ClaimedDocument]) -> bool:
    """Renew the leases; False when none is left."""
    return await _advance(context, bundle)


async def _advance(
    context: WorkerContext,
    bundle: Sequence[ClaimedDocument],
    stage: DocumentStage | None = None,
    percent: int | None = None,
) -> bool:
    held, seconds = [one.lease for one in bundle], context.settings.lease_seconds
    async with unit_of_work(context.database) as work:
        return await leases.advance_each(work, held, seconds=seconds, stage=stage, progress=percent)


class _ProgressWriter:
    """Writes how far a try is, but no more often than a person could follow."""

    def __init__(self, context: WorkerContext, bundle: Sequence[ClaimedDocument]) -> None:
        self._context = context
        self._bundle = bundle
        self._written = time.monotonic()

    async def reach(self, stage: DocumentStage, percent: int) -> None:
        """Say where the work is now.

        Raises:
            LeaseLost: the work is another worker's, all of it.
        """
        if time.monotonic() - self._written < _PROGRESS_SECONDS:
            return
        if not await _advance(self._context, self._bundle, stage, percent):
            raise LeaseLost
        self._written = time.monotonic()

    async def hear_parsing(self, percent: int) -> None:
        """Say how far a document is that is read page by page.

        Raises:
            LeaseLost: as above.
        """
        try:
            await self.reach(DocumentStage.PARSING, percent)
        except (AgentexError, OSError) as error:
            # Ten minutes of reading are not given up for a number that somebody may look at.
            log.warning("document.progress_not_written", cause=type(error).__name__)


@dataclass(frozen=True)
class _SplitDocument:
    """A document that was read and cut."""

    taken: ClaimedDocument
    parsed: ParsedDocument
    pieces: Sequence[Piece]


_AttemptResult = RevisionSwitch | Exception


async def _run_stages(
    context: WorkerContext, bundle: Sequence[ClaimedDocument]
) -> list[_AttemptResult]:
    """Process documents together; how each ended, in their order."""
    progress = _ProgressWriter(context, bundle)
    space = context.spaces.of(bundle[0].making.embedding_model)
    parsed = await _parse_each(context, progress, [one.document for one in bundle])
    await progress.reach(DocumentStage.SPLITTING, 0)
    splits = await _split_each(space, list(zip(bundle, parsed, strict=True)))
    ready = [one for one in splits if isinstance(one, _SplitDocument)]
    if not ready:
        return [one for one in splits if isinstance(one, Exception)]
    outcomes = await _embed_and_index(space, progress, ready)
    tries = [(split.taken.lease, one) for split, one in zip(ready, outcomes, strict=True)]
    flips = await _commit(context, tries)
    return [
        one if isinstance(one, Exception) else flips[one.taken.document.id] or LeaseLost()
        for one in splits
    ]


async def _commit(
    context: WorkerContext, tries: Sequence[tuple[Lease, RevisionResult]]
) -> dict[str, RevisionSwitch | None]:
    async with unit_of_work(context.database) as work:
        flips = await completion.commit_revisions(work, tries)
    for lease, outcome in tries:
        if lease.document_id not in flips:
            # Somebody has its row in hand: alone, it can wait for that.
            async with unit_of_work(context.database) as work:
                flips[lease.document_id] = await completion.complete(work, lease, outcome)
    return flips


async def _split_each(
    space: EmbeddingSpace, parsed: Sequence[tuple[ClaimedDocument, ParsedDocument | Exception]]
) -> list[_SplitDocument | Exception]:
    # What is deleted or taken back meanwhile is of use to nobody, and may take a minute.
    return await run_stoppable(
        lambda stop: [_split(stop, space, taken, one) for taken, one in parsed]
    )


def _split(
    stop: StopFlag,
    space: EmbeddingSpace,
    taken: ClaimedDocument,
    parsed: ParsedDocument | Exception,
) -> _SplitDocument | Exception:
    if isinstance(parsed, Exception):
        return parsed
    splitting = taken.making.splitting
    sizes = SplitSizes(splitting.chunk_size, splitting.chunk_overlap)
    split = SPLITTERS[splitting.splitter]
    try:
        pieces = list(stop.until(split(parsed, sizes=sizes, counter=space.counter)))
    except Exception as error:  # noqa: BLE001 - one that can't be split ends by itself
        return error
    if not pieces:
        return no_text_failure(parsed.warnings, taken.document.chosen_encoding)
    return _SplitDocument(taken, parsed, pieces)


async def _record_results(
    context: WorkerContext, bundle: Sequence[ClaimedDocument], ends: Sequence[_AttemptResult]
) -> None:
    ended = list(zip(bundle, ends, strict=True))
    completed = [(one, end) for one, end in ended if isinstance(end, RevisionSwitch)]
    if completed:
        # One line for all: what is written of each is a part of a small one's work.
        log.info("documents.completed", document_ids=[one.document.id for one, _ in completed])
    for one, end in ended:
        if isinstance(end, Exception):
            await record_failure(context, one.lease, one.document, end)
    for one, flip in completed:
        await _try_follow_up(one.document, partial(_remove_superseded, context, one.document, flip))
    if any(flip.is_reindexing for _, flip in completed):
        base = bundle[0].document.knowledge_base_id
        await _try_follow_up(bundle[0].document, partial(reindex.advance, context, base))


async def _try_follow_up(document: Document, act: Callable[[], Awaitable[None]]) -> None:
    """What a completed try leads to; the sweep and the reconciler do what can't be done now."""
    try:
        await act()
    except (AgentexError, OSError) as error:
        log.warning("document.not_tidied", document_id=document.id, error=type(error).__name__)


async def _remove_superseded(
    context: WorkerContext, document: Document, flip: RevisionSwitch
) -> None:
    """Remove the points and files that the new revision made superfluous."""
    gone = [number for number in range(1, document.revision) if number not in flip.shown]
    if gone:
        await context.spaces.delete_documents([document.id], revisions=gone)
    if not flip.is_shadow:
        for key in document.superseded_keys:
            await context.store.delete(key)


async def _parse_each(
    context: WorkerContext, progress: _ProgressWriter, documents: Sequence[Document]
) -> list[ParsedDocument | Exception]:
    limits = parse_limits(context.settings)
    requests: dict[str, ParseRequest] = {}
    parsed: dict[str, ParsedDocument | Exception] = {}
    async with AsyncExitStack() as copies:
        for one in documents:
            try:
                copy = context.store.local_copy(one.storage_key)
                path = await copies.enter_async_context(copy)
            except Exception as error:  # noqa: BLE001 - one whose file is away ends by itself
                parsed[one.id] = error
            else:
                requests[one.id] = ParseRequest(path, one.media_type, limits, one.chosen_encoding)
        if requests:
            wanted = list(requests.values())
            outcomes = await context.parser.parse_each(wanted, heard=progress.hear_parsing)
            parsed |= zip(requests, outcomes, strict=True)
    return [parsed[one.id] for one in documents]


async def _embed_and_index(
    space: EmbeddingSpace, progress: _ProgressWriter, splits: Sequence[_SplitDocument]
) -> list[RevisionResult]:
    """Embed and write the pieces in batches; a batch that was written before is written over.

    Returns:
        What is to be written of each document, with the rerank's tokens of each piece: those are
        made while the engine embeds.
    """
    for document in (one.taken.document for one in splits if not one.taken.is_untouched):
        # A try that was cut short may have left more pieces than this one has.
        gone = document_queries.unused_revisions(document)
        await space.index.delete_documents([document.id], revisions=gone)
    placed = [
        (origin, piece)
        for origin, pieces in ((PointOrigin.of(one.taken.document), one.pieces) for one in splits)
        for piece in pieces
    ]
    terms: list[bytes] = []
    for start in range(0, len(placed), _BATCH):
        await progress.reach(DocumentStage.EMBEDDING, 100 * start // len(placed))
        batch = placed[start : start + _BATCH]
        points, packed = await asyncio.gather(
            embed_points(space, batch, account=splits[0].taken.account),
            to_thread.run_sync(_pack_terms, batch),
        )
        await space.index.upsert(points)
        terms += packed
    following = iter(terms)
    return [_revision_result(one, [next(following) for _ in one.pieces]) for one in splits]


def _pack_terms(placed: Sequence[tuple[PointOrigin, Piece]]) -> list[bytes]:
    return [pack_terms(piece.text) for _, piece in placed]


def _revision_result(split: _SplitDocument, terms: Sequence[bytes]) -> RevisionResult:
    return RevisionResult(
        chunks=map(partial(_chunk_row, split.taken.document), split.pieces, terms),
        chunk_count=len(split.pieces),
        encoding=split.parsed.encoding,
        pages=split.parsed.pages,
        warnings=split.parsed.warnings,
    )


def _chunk_row(document: Document, piece: Piece, terms: bytes) -> dict[str, object]:
    return {
        "id": point_id(document.id, document.revision, piece.index),
        "document_id": document.id,
        "knowledge_base_id": document.knowledge_base_id,
        "revision": document.revision,
        "position": piece.index,
        "content": piece.text,
        "heading_path": list(piece.heading_path),
        "page": piece.page,
        "char_start": piece.char_start,
        "char_end": piece.char_end,
        "token_count": piece.token_count,
        "enabled": True,
        "version": 1,
        "terms": terms,
    }
