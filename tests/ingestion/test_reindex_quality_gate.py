"""The quality gate: saved questions asked of both index versions before a cut-over."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from sqlalchemy import update
from sqlmodel import col

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import EmbeddingsUnavailable, EngineUnavailable
from ingestion.context import WorkerContext
from ingestion.reindex import maintain, maintain_all, run_reindex
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT
from kb_service.models import Chunk, Document, KnowledgeBase, Question
from kb_service.reindex import service as reindex_service
from kb_service.reindex import status as reindex_status
from kb_service.reindex.service import Cutover
from kb_service.reindex.status import ReindexStatus, State
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.knowledge.reindex_steps import (
    KEEP,
    check_whole,
    chunk_ids,
    decide,
    leave_its_model,
    new_base,
    reindexed,
    row_of,
    shown_chunk_ids,
)

pytestmark = pytest.mark.anyio


async def save_question(context: WorkerContext, kb_id: str) -> None:
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, kb_id)
        passage = {"document": "okapi.md", "text": "okapi number 3 sleeps at noon"}
        work.session.add(Question(knowledge_base_id=row.id, text="Where sleeps okapi 3?", expected=[passage]))


async def test_saved_questions_are_asked_before_new_settings_come_into_force(
    context: WorkerContext,
):
    kb_id = await new_base(context, "okapi", "zebra")
    await save_question(context, kb_id)
    await reindexed(context, kb_id)
    assert (await row_of(context, kb_id)).generation == 1
    await run_reindex(context, kb_id)
    row = await row_of(context, kb_id)
    assert (row.generation, row.chunk_size) == (2, 40)
    async with context.database.reading() as session:
        recall = (await reindex_status.get_status(session, SYSTEM_VIEWER, row)).recall
    assert recall is not None
    assert recall["questions"] == 1
    assert recall["present"]["recall_5"] == recall["target"]["recall_5"] == 1
    await check_whole(context, kb_id)


async def told_of(context: WorkerContext, kb_id: str) -> ReindexStatus:
    async with context.database.reading() as session:
        row = await session.get_one(KnowledgeBase, kb_id)
        return await reindex_status.get_status(session, SYSTEM_VIEWER, row)


def break_encoder(patch: pytest.MonkeyPatch, context: WorkerContext, error: AgentexError) -> None:
    async def fail(_: Sequence[str]) -> None:
        raise error

    patch.setattr(context.spaces.default.encoder, "embed_queries", fail)


async def test_model_that_is_not_served_any_more_is_left_without_a_comparison(
    two_models: WorkerContext,
):
    context = two_models
    kb_id = await new_base(context, "okapi")
    await save_question(context, kb_id)
    await leave_its_model(context, kb_id)
    only_second = replace(context, spaces=EmbeddingSpaces([context.spaces["second"]]))
    await run_reindex(only_second, kb_id)
    report = await told_of(context, kb_id)
    assert (report.state, report.present.embedding_model) == (State.NONE, "second")
    assert report.recall is None
    assert report.recall_missing is not None
    assert report.recall_missing["reason"] == "embedding_model_not_configured"
    assert await shown_chunk_ids(only_second, kb_id)


async def test_manual_cut_over_still_waits_where_nothing_can_be_compared(
    two_models: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    context = two_models
    kb_id = await new_base(context, "okapi")
    await save_question(context, kb_id)
    await leave_its_model(context, kb_id)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, kb_id)
        row.target = {**(row.target or {}), "cutover": Cutover.MANUAL.value}
    break_encoder(monkeypatch, context, EmbeddingsUnavailable())
    await run_reindex(context, kb_id)
    report = await told_of(context, kb_id)
    assert (report.state, report.recall_missing is None) == (State.READY, False)


async def test_outage_of_the_engine_is_waited_for_before_the_measurement(
    two_models: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    context = two_models
    kb_id = await new_base(context, "okapi")
    await save_question(context, kb_id)
    await leave_its_model(context, kb_id)
    with monkeypatch.context() as patch:
        break_encoder(patch, context, EngineUnavailable())
        with pytest.raises(EngineUnavailable):
            await run_reindex(context, kb_id)
        await maintain(context, kb_id)
        report = await told_of(context, kb_id)
        assert (report.state, report.recall_missing) == (State.READY, None)
        assert report.waiting is not None
        assert report.waiting["reason"] == "engine_unavailable"
    await run_reindex(context, kb_id)
    report = await told_of(context, kb_id)
    assert (report.state, report.recall is None) == (State.NONE, False)


async def test_model_that_is_kept_is_waited_for_before_the_measurement(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    kb_id = await new_base(context, "okapi")
    await save_question(context, kb_id)
    await reindexed(context, kb_id)
    with monkeypatch.context() as patch:
        break_encoder(patch, context, EmbeddingsUnavailable(model=DEFAULT.name))
        with pytest.raises(EmbeddingsUnavailable):
            await run_reindex(context, kb_id)
    report = await told_of(context, kb_id)
    assert (report.state, report.recall_missing) == (State.READY, None)
    # Whoever looks is told why the new settings are not in force yet.
    assert report.waiting is not None
    assert report.waiting["reason"] == "embedding_endpoint_unavailable"
    assert DEFAULT.name in report.waiting["message"]
    await run_reindex(context, kb_id)
    report = await told_of(context, kb_id)
    assert (report.state, report.waiting) == (State.NONE, None)


async def test_settings_that_find_less_wait_for_a_person(context: WorkerContext):
    kb_id = await new_base(context, "okapi", "zebra")
    old = await shown_chunk_ids(context, kb_id)
    await save_question(context, kb_id)
    await reindexed(context, kb_id)
    new = await chunk_ids(context, kb_id, col(Document.shadow_revision))
    async with unit_of_work(context.database) as work:
        await work.session.exec(
            update(Chunk)
            .where(col(Chunk.id).in_(new), col(Chunk.content).contains("okapi"))
            .values(content="nothing of the kind", terms=None, version=2)
        )
    await run_reindex(context, kb_id)
    await run_reindex(context, kb_id)
    await maintain_all(context)
    row = await row_of(context, kb_id)
    async with context.database.reading() as session:
        report = await reindex_status.get_status(session, SYSTEM_VIEWER, row)
    assert (report.state, row.generation) == (State.HELD, 1)
    assert await shown_chunk_ids(context, kb_id) == old
    await decide(context, kb_id, reindex_service.cut_over, keep=KEEP)
    assert (await row_of(context, kb_id)).generation == 2
