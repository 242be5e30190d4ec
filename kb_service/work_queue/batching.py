"""Batches of small documents that are processed together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from sqlalchemy import bindparam
from sqlmodel import col, select
from sqlmodel.sql.expression import Select

from core.db.unit_of_work import UnitOfWork
from kb_service.models import Document, DocumentStatus
from kb_service.work_queue import leases


@dataclass(frozen=True)
class BatchPolicy:
    """Which documents are small enough to be batched; ``total_bytes`` includes the first one."""

    media_types: Sequence[str]
    documents: int
    total_bytes: int


async def acquire_batch(
    work: UnitOfWork, first: Document, policy: BatchPolicy, *, owner: str, seconds: float
) -> list[Document]:
    """Lease small waiting documents to process with the one just leased; none if that is not small.

    Takes the oldest of the same knowledge base that were never tried: a document that may have killed a worker is tried
    alone.
    """
    room = policy.total_bytes - first.file_size
    if room <= 0 or first.media_type not in policy.media_types:
        return []
    params = {
        "base": first.knowledge_base_id,
        "made_for": first.generation,
        "media_types": list(policy.media_types),
        "most": policy.documents,
    }
    sizes = (await work.session.exec(_untried(), params=params)).all()
    chosen: list[str] = []
    for document_id, size in sizes:
        room -= size
        if room < 0:
            break
        chosen.append(document_id)
    if not chosen:
        return []
    documents = await leases.acquire(work, chosen, owner=owner, seconds=seconds)
    return sorted(documents, key=lambda document: (document.created_at, document.id))


@cache
def _untried() -> Select[str, int]:
    query = select(Document.id, Document.file_size).where(
        col(Document.status) == DocumentStatus.PENDING.value,
        col(Document.knowledge_base_id) == bindparam("base"),
        col(Document.generation) == bindparam("made_for"),
        col(Document.media_type).in_(bindparam("media_types", expanding=True)),
        col(Document.deleted_at).is_(None),
        col(Document.lease_owner).is_(None),
        # Never tried before.
        col(Document.started_at).is_(None),
    )
    query = query.order_by(col(Document.created_at), col(Document.id)).limit(bindparam("most"))
    # A row that is locked is being changed by something more important.
    return query.with_for_update(skip_locked=True)
