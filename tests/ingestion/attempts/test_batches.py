"""Batches of small documents: claimed together, each with its own end."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import col, select

from core.db.unit_of_work import unit_of_work
from core.errors.server import EmbeddingsRefused, EngineUnavailable
from ingestion.attempts.claim import ClaimedDocument, claim
from ingestion.context import WorkerContext
from ingestion.pipeline import process_documents
from ingestion.worker.deletion import erase_document
from kb_service.documents import actions as document_actions
from kb_service.documents.actions import ActionName
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.protocol import Vectors
from kb_service.models import Chunk, Document
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, reread, upload

pytestmark = pytest.mark.anyio
BUNDLE_BYTES = 64 * 1024


def text(word: str, size: int = 0) -> bytes:
    return f"# About\n\nThe {word} sleeps at noon. ".encode().ljust(size, b".")


async def base(context: WorkerContext) -> str:
    async with unit_of_work(context.database) as work:
        return (await add_knowledge_base(work)).id


async def fill(context: WorkerContext, kb_id: str, *contents: bytes) -> list[str]:
    return [
        (await upload(context, content, name=f"{number}.md", kb_id=kb_id)).id for number, content in enumerate(contents)
    ]


def ids(taken: list[ClaimedDocument]) -> list[str]:
    return [one.document.id for one in taken]


async def rows(context: WorkerContext, document_ids: list[str]) -> list[Document]:
    return [await reread(context.database, id_) for id_ in document_ids]


async def check_whole(context: WorkerContext, document_id: str) -> None:
    row = await reread(context.database, document_id)
    query = select(Chunk.id).where(Chunk.document_id == document_id, col(Chunk.revision) == row.active_revision)
    async with context.database.reading() as session:
        chunks = (await session.exec(query)).all()
    assert row.status == "completed"
    assert len(chunks) == row.chunk_count > 0
    assert await context.spaces.default.index.count(document_id=document_id) == row.chunk_count


class Spoiling:
    """An encoder that fails where a text has a word in it.

    Args:
        inner: does the work.
        word: which.
        error: with what.
    """

    def __init__(self, inner: Any, word: str, error: Exception) -> None:
        self._inner, self._word, self._error = inner, word, error

    async def embed_passages(self, texts: list[str], *, account: str = "") -> Vectors:
        if any(self._word in one for one in texts):
            raise self._error
        return await self._inner.embed_passages(texts, account=account)


def with_failing_encoder(context: WorkerContext, word: str, error: Exception) -> WorkerContext:
    space = context.spaces.default
    encoder: Any = Spoiling(space.encoder, word, error)
    return replace(context, spaces=EmbeddingSpaces([replace(space, encoder=encoder)]))


async def test_small_documents_are_taken_and_finished_together(context: WorkerContext):
    kb_id = await base(context)
    small = await fill(context, kb_id, *(text(f"okapi{n}") for n in range(4)))
    taken = await claim(context, small[0])
    assert ids(taken) == small
    assert [one.is_untouched for one in taken] == [False, True, True, True]
    assert {row.status for row in await rows(context, small)} == {"processing"}
    assert await claim(context, small[1]) == []
    await process_documents(context, taken)
    for document_id in small:
        await check_whole(context, document_id)
        assert (await reread(context.database, document_id)).attempt == 1


async def test_bundle_has_so_many_documents_and_so_many_bytes(context: WorkerContext):
    kb_id, other = await base(context), await base(context)
    many = await fill(context, kb_id, *(text("okapi") for _ in range(70)))
    assert ids(await claim(context, many[0])) == many[:64]
    large = await fill(context, other, *(text("okapi", BUNDLE_BYTES // 3) for _ in range(4)))
    assert ids(await claim(context, large[0])) == large[:3]


@one_database
@pytest.mark.parametrize(
    "changes",
    [
        {"started_at": "now", "attempt": 1},
        {"lease_owner": "another"},
        {"status": "paused"},
        {"generation": 2},
        {"media_type": "application/pdf"},
    ],
)
async def test_documents_that_are_worked_on_alone(context: WorkerContext, changes: dict[str, Any]):
    kb_id, other = await base(context), await base(context)
    first, second = await fill(context, kb_id, text("okapi"), text("zebra"))
    [elsewhere] = await fill(context, other, text("quagga"))
    if "started_at" in changes:
        changes = {**changes, "started_at": (await reread(context.database, first)).created_at}
    await edit(context.database, second, **changes)
    assert ids(await claim(context, first)) == [first]
    assert (await reread(context.database, elsewhere)).status == "pending"


@one_database
async def test_document_whose_worker_died_is_taken_without_others(context: WorkerContext):
    kb_id = await base(context)
    first, second = await fill(context, kb_id, text("okapi"), text("zebra"))
    await edit(context.database, first, attempt=1, lease_owner="dead")
    assert ids(await claim(context, first)) == [first]
    assert ids(await claim(context, second)) == [second]


@one_database
async def test_document_that_cannot_be_read_fails_alone(context: WorkerContext):
    kb_id = await base(context)
    good, empty, gone, last = await fill(context, kb_id, text("okapi"), b" \n" * 5000, text("a"), text("b"))
    await context.store.delete((await reread(context.database, gone)).storage_key)
    await process_documents(context, await claim(context, good))
    for document_id in (good, last):
        await check_whole(context, document_id)
    failures = [row.failure or {} for row in await rows(context, [empty, gone])]
    assert [one["reason"] for one in failures] == ["empty_text", "file_missing"]


async def test_those_that_somebody_took_away_meanwhile_do_not_end_with_the_others(
    context: WorkerContext,
):
    kb_id = await base(context)
    good, paused, replaced, last = await fill(context, kb_id, *(text(f"okapi{n}") for n in range(4)))
    taken = await claim(context, good)
    await edit(context.database, paused, status="paused", lease_until=None)
    await edit(context.database, replaced, revision=2)
    await process_documents(context, taken)
    for document_id in (good, last):
        await check_whole(context, document_id)
    states = [(row.status, row.active_revision) for row in await rows(context, [paused, replaced])]
    assert states == [("paused", None), ("processing", None)]
    # Nobody goes on with that revision; the paused one's next try writes over its points.
    assert await context.spaces.default.index.count(document_id=replaced) == 0


@one_database
async def test_document_that_the_encoder_refuses_fails_alone(context: WorkerContext):
    kb_id = await base(context)
    small = await fill(context, kb_id, text("okapi"), text("zebra"), text("quagga"))
    broken = with_failing_encoder(context, "zebra", EmbeddingsRefused())
    await process_documents(broken, await claim(broken, small[0]))
    for document_id in (small[0], small[2]):
        await check_whole(context, document_id)
        assert (await reread(context.database, document_id)).attempt == 1
    refused = await reread(context.database, small[1])
    assert (refused.status, (refused.failure or {})["reason"]) == ("failed", "embedding_refused")


@one_database
async def test_all_wait_for_a_part_that_is_away(context: WorkerContext):
    kb_id = await base(context)
    small = await fill(context, kb_id, text("okapi"), text("zebra"))
    broken = with_failing_encoder(context, "zebra", EngineUnavailable(reason="it is away"))
    await process_documents(broken, await claim(broken, small[0]))
    for row in await rows(context, small):
        assert (row.status, row.attempt, row.lease_owner) == ("pending", 0, None)
        assert (row.failure or {})["reason"] == "engine_unavailable"
        await edit(context.database, row.id, retry_at=None)
        await ingest(context, row.id)
        await check_whole(context, row.id)


@pytest.mark.parametrize("action", [ActionName.DELETE, ActionName.CANCEL, ActionName.PAUSE])
async def test_one_that_is_taken_away_does_not_stop_the_others(context: WorkerContext, action: ActionName):
    kb_id = await base(context)
    small = await fill(context, kb_id, text("okapi"), text("zebra"), text("quagga"))
    taken = await claim(context, small[0])
    async with unit_of_work(context.database) as work:
        await document_actions.apply_action(work, SYSTEM_VIEWER, action, kb_id, small[1])
    await process_documents(context, taken)
    for document_id in (small[0], small[2]):
        await check_whole(context, document_id)
    row = await reread(context.database, small[1])
    assert (row.lease_owner, row.active_revision) == (None, None)
    async with context.database.reading() as session:
        query = select(Chunk.id).where(Chunk.document_id == small[1])
        assert (await session.exec(query)).all() == []
    if action is ActionName.DELETE:
        await erase_document(context, small[1])
    if action is not ActionName.PAUSE:
        assert await context.spaces.default.index.count(document_id=small[1]) == 0


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_document_whose_row_is_being_changed_keeps_no_other_waiting(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    # How far it is, is written at every step: on that row too.
    monkeypatch.setattr("ingestion.pipeline._PROGRESS_SECONDS", 0)
    kb_id = await base(context)
    small = await fill(context, kb_id, *(text(f"okapi{n}") for n in range(3)))
    taken = await claim(context, small[0])
    async with context.database.writing() as session:
        held = select(Document).where(Document.id == small[1]).with_for_update()
        (await session.exec(held)).one()
        working = asyncio.create_task(process_documents(context, taken))
        async with asyncio.timeout(60):
            pair = [small[0], small[2]]
            while {row.status for row in await rows(context, pair)} != {"completed"}:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.05)
        assert not working.done()
    await working
    for document_id in small:
        await check_whole(context, document_id)
        assert (await reread(context.database, document_id)).attempt == 1
