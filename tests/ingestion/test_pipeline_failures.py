"""What a failed attempt leaves behind, and errors that are not tried again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import delete
from sqlmodel import col

from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors.server import EmbeddingsRefused
from ingestion.context import WorkerContext
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.models import Document, KnowledgeBase
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_document, add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest

pytestmark = pytest.mark.anyio
# More than one batch of small passages.
SMALL = {"chunk_size": 64, "chunk_overlap": 0}
TEXT = b"\n\n".join(b"## Part %d\n\n" % n + b"A zebra sleeps at noon. " * 7 for n in range(80))


async def put(context: WorkerContext) -> str:
    key = new_id()

    async def content():
        yield TEXT

    await context.store.write(key, content())
    async with unit_of_work(context.database) as work:
        kb_id = (await add_knowledge_base(work, **SMALL)).id
    fields = {"knowledge_base_id": kb_id, "storage_key": key, "file_size": len(TEXT)}
    return await add_document(context.database, **fields)


async def read(context: WorkerContext, document_id: str) -> Document:
    async with context.database.reading() as session:
        return await session.get_one(Document, document_id)


@dataclass
class FailingEncoder:
    """Encodes some batches, then does what it is told."""

    inner: object
    good: int
    blow: type[BaseException]

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> NDArray[np.float32]:
        self.good -= 1
        if self.good < 0:
            raise self.blow
        return await self.inner.embed_passages(texts, account=account)


def with_encoder(
    context: WorkerContext, kind: type[FailingEncoder], good: int, blow: type[BaseException]
) -> WorkerContext:
    space = context.spaces.default
    return replace(context, spaces=EmbeddingSpaces([replace(space, encoder=kind(space.encoder, good, blow))]))


@dataclass
class SlowEncoder:
    """Encodes so slowly that its document is erased meanwhile."""

    inner: object
    erase: Callable[[], Awaitable[None]]

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> NDArray[np.float32]:
        await self.erase()
        return await self.inner.embed_passages(texts, account=account)


async def test_points_written_after_the_document_was_erased_are_taken_back(context):
    document_id = await put(context)

    async def erase() -> None:
        async with unit_of_work(context.database) as work:
            await work.session.exec(delete(Document).where(col(Document.id) == document_id))

    space = context.spaces.default
    slow = EmbeddingSpaces([replace(space, encoder=SlowEncoder(space.encoder, erase))])
    await ingest(replace(context, spaces=slow), document_id)
    assert await space.index.count(document_id=document_id) == 0


@one_database
async def test_points_of_a_longer_try_are_gone_when_a_shorter_one_completes(context):
    document_id = await put(context)
    cut = with_encoder(context, FailingEncoder, 1, asyncio.CancelledError)
    with pytest.raises(asyncio.CancelledError):
        await ingest(cut, document_id)
    assert await context.spaces.default.index.count(document_id=document_id) == 64
    # Larger pieces from now on, hence fewer of them; the revision stays the same.
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(Document, document_id)
        knowledge_base = await work.session.get_one(KnowledgeBase, row.knowledge_base_id)
        knowledge_base.chunk_size = 2000
    await ingest(context, document_id)
    row = await read(context, document_id)
    assert (row.status, row.revision) == ("completed", 1)
    assert await context.spaces.default.index.count(document_id=document_id) == row.chunk_count < 64


@one_database
@pytest.mark.parametrize(
    ("error", "reason"), [(ValueError, "internal_error"), (EmbeddingsRefused, "embedding_refused")]
)
async def test_error_that_never_passes_fails_at_once_and_leaves_no_points(context, error, reason):
    document_id = await put(context)
    await ingest(with_encoder(context, FailingEncoder, 1, error), document_id)
    row = await read(context, document_id)
    assert (row.status, row.failure["reason"]) == ("failed", reason)
    assert await context.spaces.default.index.count(document_id=document_id) == 0


@one_database
async def test_vectors_that_do_not_fit_are_no_outage(context):
    @dataclass
    class Broken(FailingEncoder):
        async def embed_passages(self, texts: Sequence[str], *, account: str = "") -> NDArray[np.float32]:
            return np.full((len(texts), 384), np.nan, dtype=np.float32)

    document_id = await put(context)
    await ingest(with_encoder(context, Broken, 0, ValueError), document_id)
    row = await read(context, document_id)
    assert (row.status, row.failure["reason"]) == ("failed", "embedding_model_misfit")
