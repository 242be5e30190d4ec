"""One document from its bytes to its chunks: parse, split, embed and index, flip."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from anyio import to_thread

from core.database.unit_of_work import unit_of_work
from core.errors import AgentexError
from core.logging import get_logger
from ingestion import reindex
from ingestion.endings import POISON, LeaseLost, end_badly, fail
from ingestion.holding import hold
from ingestion.parsers.elements import Parsed
from ingestion.parsers.failure import FailureReason, ParseFailure
from ingestion.parsers.limits import Limits
from ingestion.points import Origin, points_of
from ingestion.splitters import SPLITTERS
from ingestion.splitters.protocol import Piece, SplitSizes
from ingestion.workbench import Workbench
from kb_service import completing, documents, generations, leases
from kb_service.completing import Flip, Outcome
from kb_service.generations import Generation
from kb_service.leases import Lease
from kb_service.models import Document, DocumentStage, KnowledgeBase
from kb_service.spaces import EmbeddingSpace
from kb_service.text.terms import pack_terms
from kb_service.vector_index.protocol import point_id

log = get_logger(__name__)

_BATCH = 64
_PROGRESS_SECONDS = 0.25


async def ingest(bench: Workbench, document_id: str) -> None:
    """Process one document if it waits; the outcome is on its row.

    Args:
        bench: the worker's connections.
        document_id: what to process; doing it twice or on two workers has one effect.
    """
    taken = await take(bench, document_id)
    if taken is not None:
        await work_on(bench, taken)


@dataclass(frozen=True)
class Taken:
    """A document whose lease was just taken, and the settings that it is made with."""

    document: Document
    making: Generation


async def take(bench: Workbench, document_id: str) -> Taken | None:
    """Take the lease on a document; None when another has it or there is nothing to do.

    The number of the settings it is made with is noted on what is returned.
    """
    async with unit_of_work(bench.database) as work:
        document = await leases.acquire(
            work, document_id, owner=bench.owner, seconds=bench.settings.lease_seconds
        )
        if document is None:
            return None
        knowledge_base = await work.session.get_one(KnowledgeBase, document.knowledge_base_id)
    making = generations.to_be_made(knowledge_base, document.generation)
    document.generation = making.number
    return Taken(document, making)


async def work_on(bench: Workbench, taken: Taken) -> None:
    """Process a document whose lease was just taken; the outcome is on its row."""
    document = taken.document
    lease = leases.lease_of(document)
    if document.attempt > bench.settings.ingest_attempts:
        await fail(bench, lease, POISON)
        return
    try:
        flip = await hold(
            _process(bench, lease, taken),
            partial(_renew, bench, lease),
            seconds=bench.settings.lease_seconds,
            lost=LeaseLost,
        )
    except asyncio.CancelledError:
        async with unit_of_work(bench.database) as work:
            await leases.hand_back(work, lease)
        raise
    except Exception as error:  # noqa: BLE001 - the edge of a job: every end is on the row
        await end_badly(bench, lease, document, error)
    else:
        log.info("document.completed", document_id=document.id)
        await _follow_up(bench, document, flip)


async def _renew(bench: Workbench, lease: Lease) -> bool:
    async with unit_of_work(bench.database) as work:
        return await leases.advance(work, lease, seconds=bench.settings.lease_seconds)


class _Progress:
    """Writes how far a try is, but no more often than a person could follow."""

    def __init__(self, bench: Workbench, lease: Lease) -> None:
        self._bench = bench
        self._lease = lease
        self._written = time.monotonic()

    async def reach(self, stage: DocumentStage, percent: int) -> None:
        """Say where the work is now.

        Raises:
            LeaseLost: the work is another worker's.
        """
        if time.monotonic() - self._written < _PROGRESS_SECONDS:
            return
        seconds = self._bench.settings.lease_seconds
        async with unit_of_work(self._bench.database) as work:
            held = await leases.advance(
                work, self._lease, seconds=seconds, stage=stage, progress=percent
            )
        if not held:
            raise LeaseLost
        self._written = time.monotonic()


async def _process(bench: Workbench, lease: Lease, taken: Taken) -> Flip:
    document, making = taken.document, taken.making
    progress = _Progress(bench, lease)
    parsed = await _parse(bench, document)
    await progress.reach(DocumentStage.SPLITTING, 0)
    sizes = SplitSizes(making.splitting.chunk_size, making.splitting.chunk_overlap)
    space = bench.spaces.of(making.embedding_model)
    split = SPLITTERS[making.splitting.splitter]
    pieces = await to_thread.run_sync(
        lambda: list(split(parsed, sizes=sizes, counter=space.counter))
    )
    if not pieces:
        raise ParseFailure(FailureReason.EMPTY_TEXT)
    terms = await _index(space, progress, document, pieces)
    outcome = Outcome(
        chunks=map(partial(_chunk, document), pieces, terms),
        chunk_count=len(pieces),
        encoding=parsed.encoding,
        pages=parsed.pages,
        warnings=parsed.warnings,
    )
    async with unit_of_work(bench.database) as work:
        flip = await completing.complete(work, lease, outcome)
    if flip is None:
        raise LeaseLost
    return flip


async def _follow_up(bench: Workbench, document: Document, flip: Flip) -> None:
    """What a completed try leads to; the sweep and the reconciler do what can't be done now."""
    try:
        await _tidy(bench, document, flip)
        if flip.is_reindexing:
            await reindex.go_on(bench, document.knowledge_base_id)
    except (AgentexError, OSError) as error:
        log.warning("document.not_tidied", document_id=document.id, error=type(error).__name__)


async def _tidy(bench: Workbench, document: Document, flip: Flip) -> None:
    """Remove the points and files that the new revision made superfluous."""
    gone = [number for number in range(1, document.revision) if number not in flip.shown]
    if gone:
        for space in bench.spaces.values():
            await space.index.delete_document(document.id, revisions=gone)
    if not flip.is_shadow:
        for key in document.superseded_keys:
            await bench.store.delete(key)


async def _parse(bench: Workbench, document: Document) -> Parsed:
    settings = bench.settings
    limits = Limits(
        seconds=settings.parse_timeout_seconds,
        memory_bytes=settings.parse_memory_bytes,
        output_characters=settings.parse_output_characters,
        recognition_seconds=settings.ocr_timeout_seconds,
    )
    async with bench.store.local_copy(document.storage_key) as path:
        return await bench.parser.parse(path, document.media_type, limits=limits)


async def _index(
    space: EmbeddingSpace, progress: _Progress, document: Document, pieces: Sequence[Piece]
) -> list[bytes]:
    """Embed and write the pieces in batches; a batch that was written before is written over.

    Returns:
        The rerank's tokens of each piece: they are made while the engine embeds.
    """
    # A try that was cut short may have left more pieces than this one has.
    await space.index.delete_document(document.id, revisions=documents.unshown_revisions(document))
    origin = Origin.of(document)
    terms: list[bytes] = []
    for start in range(0, len(pieces), _BATCH):
        percent = 100 * start // len(pieces)
        await progress.reach(DocumentStage.EMBEDDING, percent)
        batch = pieces[start : start + _BATCH]
        points, packed = await asyncio.gather(
            points_of(space, origin, batch), to_thread.run_sync(_pack_terms, batch)
        )
        await space.index.upsert(points)
        terms += packed
    return terms


def _pack_terms(pieces: Sequence[Piece]) -> list[bytes]:
    return [pack_terms(piece.text) for piece in pieces]


def _chunk(document: Document, piece: Piece, terms: bytes) -> dict[str, object]:
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
