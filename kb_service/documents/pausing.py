"""Pausing and resuming all documents of a knowledge base at once."""

from sqlalchemy import update
from sqlmodel import col

from core.db.now import database_now
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from kb_service.models import Document, DocumentStage, DocumentStatus, KnowledgeBase


async def pause_all(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Let no document of a knowledge base be processed until it is resumed.

    What is in hand goes back to those that wait; its worker gives it up when it notices.
    """
    if knowledge_base.paused:
        return
    _set_paused(work, knowledge_base, to=True)
    await work.session.flush()
    await work.session.exec(
        update(Document)
        .where(
            col(Document.knowledge_base_id) == knowledge_base.id,
            col(Document.status) == DocumentStatus.PROCESSING.value,
            col(Document.deleted_at).is_(None),
        )
        .values(
            status=DocumentStatus.PENDING.value,
            stage=DocumentStage.QUEUED.value,
            progress=0,
            stage_since=None,
            updated_at=await database_now(work.session),
        )
    )


def resume_all(work: UnitOfWork, knowledge_base: KnowledgeBase) -> None:
    """Let the documents of a knowledge base go on."""
    if not knowledge_base.paused:
        return
    _set_paused(work, knowledge_base, to=False)
    work.wake_workers()


def _set_paused(work: UnitOfWork, knowledge_base: KnowledgeBase, *, to: bool) -> None:
    knowledge_base.paused, knowledge_base.updated_at = to, utc_now()
    work.session.add(knowledge_base)
