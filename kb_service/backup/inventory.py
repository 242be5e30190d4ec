"""What the rows of a snapshot refer to outside of SQL: files, and points of revisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col

from kb_service.models import Attachment, Chunk, Document, DocumentStatus, KnowledgeBase, Transfer
from kb_service.transfer.jobs import IMPORT

_UNFINISHED = (DocumentStatus.PENDING.value, DocumentStatus.PROCESSING.value)


class RevisionKey(NamedTuple):
    """A revision of a document that is searched, or ready for a cut-over or a rollback."""

    document_id: str
    revision: int


@dataclass(frozen=True)
class RevisionFacts:
    """The model and the chunks of a revision.

    ``fingerprint`` is equal while its points are: it changes with each edit of a chunk, and with the file.
    """

    model: str
    chunks: int
    fingerprint: str


@dataclass(frozen=True)
class Inventory:
    """The files and revisions of a snapshot.

    Args:
        documents: how many there are.
        required: storage keys of files without which a row is worth nothing.
        optional: files that are deleted before the row forgets them.
    """

    documents: int
    required: frozenset[str]
    optional: frozenset[str]
    revisions: Mapping[RevisionKey, RevisionFacts]


async def take_inventory(connection: AsyncConnection) -> Inventory:
    """List what the rows of a snapshot refer to; what is being deleted is left out."""
    query = (
        select(
            col(Document.id),
            col(Document.active_revision),
            col(Document.shadow_revision),
            col(Document.storage_key),
            col(Document.superseded_keys),
            col(Document.sha256),
            col(Document.completed_at),
            col(KnowledgeBase.embedding_model),
            col(KnowledgeBase.target),
            col(KnowledgeBase.previous),
        )
        .join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
        .where(col(Document.deleted_at).is_(None), col(KnowledgeBase.deleted_at).is_(None))
    )
    chunks = await _chunks(connection)
    revisions: dict[RevisionKey, RevisionFacts] = {}
    required, optional, documents = set[str](), set[str](), 0
    for row in await connection.execute(query):
        documents += 1
        required.add(row.storage_key)
        optional.update(row.superseded_keys)
        other = row.target or row.previous
        models = {row.active_revision: row.embedding_model}
        if row.shadow_revision is not None and other:
            models.setdefault(row.shadow_revision, other["embedding_model"])
        for revision, model in models.items():
            key = RevisionKey(row.id, revision)
            if key in chunks:
                count, versions = chunks[key]
                marks = (count, versions, row.storage_key, row.sha256, row.completed_at)
                revisions[key] = RevisionFacts(model, count, ":".join(map(str, marks)))
    required |= await _other_files(connection)
    return Inventory(documents, frozenset(required), frozenset(optional - required), revisions)


async def _chunks(connection: AsyncConnection) -> dict[RevisionKey, tuple[int, int]]:
    """The number of chunks of each revision, and a number that grows with each edit of them."""
    query = select(col(Chunk.document_id), col(Chunk.revision), func.count(), func.sum(col(Chunk.version))).group_by(
        col(Chunk.document_id), col(Chunk.revision)
    )
    rows: Any = await connection.execute(query)
    return {RevisionKey(id_, revision): (count, int(versions)) for id_, revision, count, versions in rows}


async def _other_files(connection: AsyncConnection) -> set[str]:
    attachments = select(col(Attachment.storage_key)).where(
        col(Attachment.stored_at).is_not(None), col(Attachment.deleted_at).is_(None)
    )
    imports = select(col(Transfer.source)).where(col(Transfer.status).in_(_UNFINISHED), col(Transfer.kind) == IMPORT)
    return {key for query in (attachments, imports) for (key,) in await connection.execute(query)}
