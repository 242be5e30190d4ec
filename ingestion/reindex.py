"""Progress of re-indexes: next documents, measurement, cut-over and cleanup."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Any

from sqlalchemy import Text, cast
from sqlmodel import col, or_, select

from core.db.unit_of_work import unit_of_work
from core.errors.base import AgentexError
from core.errors.server import EmbeddingModelUnusable
from core.logging import get_logger
from ingestion.context import WorkerContext
from kb_service import questions
from kb_service.evaluation.runner import SavedQuestion, bind_search, evaluate, questions_from_rows
from kb_service.failures import MODEL_ERRORS, Outage, describe_model_outage, describe_outage
from kb_service.knowledge_bases import index_version
from kb_service.models import KnowledgeBase
from kb_service.query_translation.translator import open_translator
from kb_service.reindex import cleanup as reindex_cleanup
from kb_service.reindex import quality_gate as reindex_quality_gate
from kb_service.reindex import service as reindex_service
from kb_service.reindex import status as reindex_status
from kb_service.reindex.service import WINDOW, Cutover
from kb_service.reindex.status import State
from kb_service.retrieval.service import Searcher
from kb_service.vector_index.protocol import index_scope
from kb_service.visibility import SYSTEM_VIEWER

log = get_logger(__name__)


async def advance(context: WorkerContext, knowledge_base_id: str) -> None:
    """Queue the next documents of a re-index, or cut over when all are done."""
    async with context.database.reading() as session:
        row = await session.get(KnowledgeBase, knowledge_base_id)
        if row is None or row.deleted_at is not None or row.target is None:
            return
        tally = await reindex_status.count_documents(session, row)
    if tally.left and (row.paused or tally.at_work > WINDOW // 2):
        return
    if tally.left == 0 and tally.failed:
        return
    async with unit_of_work(context.database, context.queue.push) as work:
        locked = await reindex_service.get_for_update(work.session, knowledge_base_id)
        if locked is None or locked.target is None:
            return
        await reindex_service.start_next_documents(work, locked)
        if (await reindex_status.count_documents(work.session, locked)).state() is not State.READY:
            return
        if not reindex_quality_gate.is_measured(locked):
            saved_questions = await questions.list_all(work.session, SYSTEM_VIEWER, locked)
            if saved_questions:
                reindex_service.enqueue_reindex(work, knowledge_base_id)
                return
        if locked.target["cutover"] == Cutover.AUTO and not reindex_quality_gate.is_held(locked):
            keep = timedelta(hours=(await context.live.read(work.session)).reindex_keep_hours)
            await reindex_service.cut_over(work, locked, keep=keep)
            log.info("reindex.cut_over", knowledge_base_id=locked.id, generation=locked.generation)


async def run_reindex(context: WorkerContext, knowledge_base_id: str) -> None:
    """Measure a finished re-index by the saved questions, then ``maintain`` it."""
    async with context.database.reading() as session:
        row = await session.get(KnowledgeBase, knowledge_base_id)
        if row is None or row.deleted_at is not None:
            return
        tally = await reindex_status.count_documents(session, row)
        saved_questions = questions_from_rows(await questions.list_all(session, SYSTEM_VIEWER, row))
    is_ready = row.target is not None and tally.state() is State.READY
    if is_ready and saved_questions and not reindex_quality_gate.is_measured(row):
        try:
            await _measure(context, row, saved_questions)
        except AgentexError as error:
            await _record_outage(context, row, describe_outage(error))
            raise
    await maintain(context, knowledge_base_id)


async def _measure(context: WorkerContext, row: KnowledgeBase, saved_questions: list[SavedQuestion]) -> None:
    longest = context.settings.max_query_characters
    # As in the searches of people, whose quality is measured.
    translator = await asyncio.to_thread(open_translator, context.settings.cache_dir)
    searcher = Searcher(context.database, context.spaces, max_query_characters=longest, translator=translator)
    try:
        present = (await evaluate(bind_search(searcher, SYSTEM_VIEWER, row), saved_questions)).quality
    except MODEL_ERRORS as error:
        if not _changes_model(row):
            raise
        # An unavailable model can't be searched anyway, and leaving it is the remedy.
        missing = describe_model_outage(error, row.embedding_model)
        log.warning("reindex.not_compared", knowledge_base_id=row.id, reason=missing.reason)
        await _record_recall(context, row, None, missing=missing)
        return
    target = (await evaluate(bind_search(searcher, SYSTEM_VIEWER, row, shadow=True), saved_questions)).quality
    figures = {"questions": len(saved_questions), "present": vars(present), "target": vars(target)}
    await _record_recall(context, row, figures)


def _changes_model(row: KnowledgeBase) -> bool:
    aim = index_version.target(row)
    return aim is not None and aim.embedding_model != row.embedding_model


async def _record_recall(
    context: WorkerContext, row: KnowledgeBase, recall: dict[str, Any] | None, *, missing: Outage | None = None
) -> None:
    number = (row.target or {}).get("generation", 0)
    async with unit_of_work(context.database) as work:
        locked = await reindex_service.get_for_update(work.session, row.id)
        if locked is not None:
            reindex_quality_gate.record_recall(work, locked, number, recall, missing=missing)


async def _record_outage(context: WorkerContext, row: KnowledgeBase, outage: Outage) -> None:
    async with unit_of_work(context.database) as work:
        locked = await reindex_service.get_for_update(work.session, row.id)
        if locked is not None:
            number = (row.target or {}).get("generation", 0)
            reindex_quality_gate.record_wait(work, locked, number, outage)


async def maintain(context: WorkerContext, knowledge_base_id: str) -> None:
    """Advance a re-index and delete unused generations."""
    await advance(context, knowledge_base_id)
    async with context.database.reading() as session:
        row = await session.get(KnowledgeBase, knowledge_base_id)
    if row is None or row.deleted_at is not None:
        return
    if reindex_service.is_previous_expired(row):
        row = await _close_way_back(context, row)
    for entry in row.retired:
        await _delete_generation(context, knowledge_base_id, entry["generation"], entry["embedding_model"])


async def _close_way_back(context: WorkerContext, row: KnowledgeBase) -> KnowledgeBase:
    async with unit_of_work(context.database) as work:
        locked = await reindex_service.get_for_update(work.session, row.id)
        if locked is not None and reindex_service.is_previous_expired(locked):
            await reindex_service.discard_previous(work, locked)
        return locked or row


async def _delete_generation(context: WorkerContext, knowledge_base_id: str, number: int, model: str) -> None:
    space = context.spaces.get(model)
    # Points of models not served or loaded are unreachable.
    if space is not None:
        with suppress(EmbeddingModelUnusable):
            await space.index.delete_knowledge_base(index_scope(knowledge_base_id, number))
    more = True
    while more:
        async with unit_of_work(context.database) as work:
            more = await reindex_cleanup.delete_unused_chunks(work, knowledge_base_id)
    async with unit_of_work(context.database) as work:
        await reindex_cleanup.remove_retired(work, knowledge_base_id, number)
    log.info("reindex.cleared", knowledge_base_id=knowledge_base_id, generation=number)


async def maintain_all(context: WorkerContext) -> None:
    """Maintain every knowledge base that has a re-index or its leftovers."""
    concerned = select(KnowledgeBase.id).where(
        col(KnowledgeBase.deleted_at).is_(None),
        or_(
            col(KnowledgeBase.target).is_not(None),
            col(KnowledgeBase.previous).is_not(None),
            cast(col(KnowledgeBase.retired), Text) != "[]",
        ),
    )
    async with context.database.reading() as session:
        ids = (await session.exec(concerned)).all()
    for id_ in ids:
        try:
            await maintain(context, id_)
        except AgentexError as error:
            # Others may lie in another index.
            log.warning("reindex.postponed", knowledge_base_id=id_, code=error.code)
        except OSError as error:
            log.warning("reindex.postponed", knowledge_base_id=id_, cause=type(error).__name__)
        except Exception:
            # One failure must not block the others.
            log.exception("reindex.crashed", knowledge_base_id=id_)
