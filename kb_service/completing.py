"""The end of a try that made a new revision: its chunks, and the flip that shows them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import Any, cast

from sqlalchemy import (
    Delete,
    Insert,
    Integer,
    Select,
    String,
    Table,
    Update,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy import inspect as mapper_of
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col

from core.database.clock import database_now
from core.database.types import UtcDateTime
from core.database.unit_of_work import UnitOfWork
from kb_service.leases import Lease, held, held_by
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase

# Making and sending rows holds up the event loop: about 5 ms for this many.
_CHUNKS_PER_INSERT = 100


@dataclass(frozen=True)
class Outcome:
    """What a finished try knows about the document.

    Args:
        chunks: rows of ``Chunk`` by column, made one after the other as they are written.
        chunk_count: how many they are.
        encoding: of the file, if it is text.
        pages: of the file, if it has pages.
        warnings: codes of what may have gone wrong.
    """

    chunks: Iterable[Mapping[str, object]]
    chunk_count: int
    encoding: str | None
    pages: int | None
    warnings: Sequence[str]


@dataclass(frozen=True)
class Flip:
    """What the end of a try led to.

    Args:
        is_shadow: searches see the new revision only after a cut-over.
        is_reindexing: the knowledge base is on its way to another generation.
        shown: the document's revisions that searches see, or can after a cut-over.
    """

    is_shadow: bool
    is_reindexing: bool
    shown: frozenset[int]


async def complete(work: UnitOfWork, lease: Lease, outcome: Outcome) -> Flip | None:
    """Make the new revision the one that searches see, chunks and flip in one transaction.

    One that was made for a re-index becomes the document's shadow instead.

    Returns:
        None when the lease was lost or the document deleted meanwhile: nothing is written.
    """
    return (await complete_each(work, [(lease, outcome)]))[lease.document_id]


async def complete_each(
    work: UnitOfWork, tries: Sequence[tuple[Lease, Outcome]]
) -> dict[str, Flip | None]:
    """Complete several tries of documents of one knowledge base; see ``complete``.

    Returns:
        By document, what it led to; None where its lease was lost, which leaves the others as they
        are. Those of several that somebody else is just changing are absent, and nothing is written
        of them: who waits for one while it holds the others may be waited for.
    """
    connection = await work.session.connection()
    places = await _places(connection, [lease for lease, _ in tries])
    now = await database_now(work.session)
    flips: dict[str, Flip | None] = {}
    superseded: list[dict[str, object]] = []
    chunks: list[Iterable[Mapping[str, object]]] = []
    free = await _free(connection, list(places)) if len(tries) > 1 else set(places)
    for lease, outcome in tries:
        id_, flip = lease.document_id, places[lease.document_id]
        if id_ not in free:
            continue
        if flip is None or not await _finish(connection, lease, outcome, flip, now):
            flips[id_] = None
            continue
        flips[id_] = flip
        # Revisions are counted from 1.
        kept = max(flip.shown - {lease.revision}, default=0)
        superseded.append({"of_document": id_, "kept": kept})
        chunks.append(outcome.chunks)
    if superseded:
        await connection.execute(_superseded(), superseded)
        await _insert(connection, chain.from_iterable(chunks))
    return flips


async def _free(connection: AsyncConnection, document_ids: Sequence[str]) -> set[str]:
    """The documents that nobody else is changing; they stay so until the transaction ends."""
    found = await connection.execute(_unheld(), {"of_documents": document_ids})
    return set(found.scalars())


@cache
def _unheld() -> Select[str]:
    query = select(col(Document.id))
    query = query.where(col(Document.id).in_(bindparam("of_documents", expanding=True)))
    return query.with_for_update(skip_locked=True)


async def _places(connection: AsyncConnection, leases: Sequence[Lease]) -> dict[str, Flip | None]:
    """Where the new revisions belong; no cut-over comes between this and the commit."""
    asked = {"of_documents": [lease.document_id for lease in leases]}
    found = {row[0]: row for row in (await connection.execute(_standing(), asked)).all()}
    return {
        lease.document_id: _place(lease, *found.get(lease.document_id, _NOWHERE)[1:])
        for lease in leases
    }


def _place(
    lease: Lease, active: int | None, made_for: int, present: int, target: dict[str, Any] | None
) -> Flip | None:
    if made_for == present:
        # A shadow or a kept revision is of the content before.
        return Flip(False, target is not None, frozenset({lease.revision}))
    if target is not None and made_for == target["generation"]:
        return Flip(True, True, frozenset({lease.revision} | ({active} if active else set())))
    return None


# No generation has the number 0: what is not there belongs nowhere.
_NOWHERE: tuple[Any, ...] = (None, None, 0, -1, None)


# Built once: building them takes longer than carrying them out, and each document needs them.
@cache
def _standing() -> Select[*tuple[Any, ...]]:
    query = select(
        col(Document.id),
        col(Document.active_revision),
        col(Document.generation),
        col(KnowledgeBase.generation),
        col(KnowledgeBase.target),
    )
    query = query.join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
    query = query.where(col(Document.id).in_(bindparam("of_documents", expanding=True)))
    return query.with_for_update(read=True, key_share=True, of=KnowledgeBase)


async def _finish(
    connection: AsyncConnection, lease: Lease, outcome: Outcome, flip: Flip, now: datetime
) -> bool:
    values = {
        **held_by(lease),
        "now": now,
        "of_revision": lease.revision,
        "its_count": outcome.chunk_count,
        "its_encoding": outcome.encoding,
        "its_pages": outcome.pages,
        "its_warnings": list(outcome.warnings),
    }
    statement = _finished_shadow() if flip.is_shadow else _finished()
    return (await connection.execute(statement, values)).rowcount > 0


@cache
def _finished() -> Update:
    return _ended(
        active_revision=bindparam("of_revision", type_=Integer()),
        shadow_revision=None,
        superseded_keys=[],
        superseded_bytes=0,
        chunk_count=bindparam("its_count", type_=Integer()),
    )


@cache
def _finished_shadow() -> Update:
    return _ended(shadow_revision=bindparam("of_revision", type_=Integer()))


def _ended(**place: object) -> Update:
    now = bindparam("now", type_=UtcDateTime)
    return (
        update(Document)
        .where(*held())
        .values(
            status=DocumentStatus.COMPLETED.value,
            stage=DocumentStage.DONE.value,
            progress=100,
            encoding=bindparam("its_encoding"),
            pages=bindparam("its_pages"),
            warnings=bindparam("its_warnings"),
            failure=None,
            lease_owner=None,
            lease_until=None,
            completed_at=now,
            updated_at=now,
            **place,
        )
    )


@cache
def _superseded() -> Delete:
    chunk = _chunks().c
    of_document = bindparam("of_document", type_=String())
    kept = bindparam("kept", type_=Integer())
    return delete(_chunks()).where(chunk.document_id == of_document, chunk.revision != kept)


async def _insert(connection: AsyncConnection, chunks: Iterable[Mapping[str, object]]) -> None:
    remaining = iter(chunks)
    while rows := list(islice(remaining, _CHUNKS_PER_INSERT)):
        await connection.execute(_new_chunks(), rows)


@cache
def _new_chunks() -> Insert:
    return insert(_chunks())


def _chunks() -> Table:
    # The table, not the class: nothing is to be made of the rows here.
    return cast(Table, mapper_of(Chunk).local_table)
