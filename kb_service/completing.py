"""The end of a try that made a new revision: its chunks, and the flip that shows them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any, cast

from sqlalchemy import (
    Delete,
    Insert,
    Integer,
    Table,
    Update,
    bindparam,
    delete,
    insert,
    or_,
    update,
)
from sqlalchemy import inspect as mapper_of
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import Select

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
    flip = await _place(work.session, lease)
    if flip is None or not await _finish(work.session, lease, outcome, flip):
        return None
    written = {
        "of_document": lease.document_id,
        "of_revision": lease.revision,
        "shown": sorted(flip.shown),
    }
    await work.session.exec(_superseded(), params=written)
    await _insert(work.session, outcome.chunks)
    return flip


async def _place(session: AsyncSession, lease: Lease) -> Flip | None:
    """Where the new revision belongs; no cut-over comes between this and the commit."""
    found = (await session.exec(_standing(), params={"of_document": lease.document_id})).first()
    if found is None:
        return None
    active, made_for, generation, target = found
    if made_for == generation:
        # A shadow or a kept revision is of the content before.
        return Flip(False, target is not None, frozenset({lease.revision}))
    if target is not None and made_for == target["generation"]:
        return Flip(True, True, frozenset({lease.revision} | ({active} if active else set())))
    return None


# Built once: building them takes longer than carrying them out, and each document needs them.
@cache
def _standing() -> Select[*tuple[Any, ...]]:
    columns = (
        col(Document.active_revision),
        col(Document.generation),
        col(KnowledgeBase.generation),
        col(KnowledgeBase.target),
    )
    query = cast("Select[*tuple[Any, ...]]", select(*columns))
    query = query.join(KnowledgeBase, col(KnowledgeBase.id) == col(Document.knowledge_base_id))
    query = query.where(Document.id == bindparam("of_document"))
    return query.with_for_update(read=True, key_share=True, of=KnowledgeBase)


async def _finish(session: AsyncSession, lease: Lease, outcome: Outcome, flip: Flip) -> bool:
    values = {
        **held_by(lease),
        "now": await database_now(session),
        "of_revision": lease.revision,
        "its_count": outcome.chunk_count,
        "its_encoding": outcome.encoding,
        "its_pages": outcome.pages,
        "its_warnings": list(outcome.warnings),
    }
    statement = _finished_shadow() if flip.is_shadow else _finished()
    return (await session.exec(statement, params=values)).rowcount > 0


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
        .execution_options(synchronize_session=False)
    )


@cache
def _superseded() -> Delete:
    return (
        delete(Chunk)
        .where(
            col(Chunk.document_id) == bindparam("of_document"),
            or_(
                col(Chunk.revision) == bindparam("of_revision", type_=Integer()),
                col(Chunk.revision).not_in(bindparam("shown", expanding=True)),
            ),
        )
        .execution_options(synchronize_session=False)
    )


async def _insert(session: AsyncSession, chunks: Iterable[Mapping[str, object]]) -> None:
    connection = await session.connection()
    remaining = iter(chunks)
    while rows := list(islice(remaining, _CHUNKS_PER_INSERT)):
        await connection.execute(_new_chunks(), rows)


@cache
def _new_chunks() -> Insert:
    # The table, not the class: nothing is to be made of the rows here.
    return insert(cast(Table, mapper_of(Chunk).local_table))
