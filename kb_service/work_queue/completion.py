"""Completing a new revision: writing its chunks and making it visible."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import Any, cast

from sqlalchemy import Delete, Insert, Integer, Select, String, Table, Update, bindparam, delete, insert, select, update
from sqlalchemy import inspect as mapper_of
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlmodel import col

from core.db.now import database_now
from core.db.types import UtcDateTime
from core.db.unit_of_work import UnitOfWork
from kb_service.models import Chunk, Document, DocumentStage, DocumentStatus, KnowledgeBase
from kb_service.work_queue.leases import Lease, any_held_condition, any_held_params, held_condition, held_params

# Building and sending this many rows blocks the event loop for about 5 ms.
_CHUNKS_PER_INSERT = 100


@dataclass(frozen=True)
class RevisionResult:
    """What a finished try knows about the document; chunk rows are by column and generated lazily."""

    chunks: Iterable[Mapping[str, object]]
    chunk_count: int
    parsed: Mapping[str, object]


@dataclass(frozen=True)
class RevisionSwitch:
    """The outcome of a completed try; searches see ``visible_revisions`` now or after a cut-over."""

    is_shadow: bool
    is_reindexing: bool
    visible_revisions: frozenset[int]


async def commit_revisions(
    work: UnitOfWork, tries: Sequence[tuple[Lease, RevisionResult]]
) -> dict[str, RevisionSwitch | None]:
    """Write new revisions' chunks and switch searches to them, in one transaction of one knowledge base.

    A revision made for a re-index becomes the document's shadow instead.

    Returns:
        The outcome by document; None if its lease was lost, which does not affect the others. Of several documents,
        those that another transaction has locked are absent and unchanged: waiting for one while holding the others
        could deadlock.
    """
    connection = await work.session.connection()
    leases = [lease for lease, _ in tries]
    places = await _places(connection, leases)
    now = await database_now(work.session)
    free = await _free(connection, leases) if len(tries) > 1 else set(places)
    held_ids = await _lock_held(connection, [lease for lease in leases if lease.document_id in free])
    done: list[tuple[Lease, RevisionResult, RevisionSwitch]] = []
    switches: dict[str, RevisionSwitch | None] = dict.fromkeys(free)
    for lease, result in tries:
        switch = places[lease.document_id]
        if switch is not None and lease.document_id in held_ids:
            switches[lease.document_id] = switch
            done.append((lease, result, switch))
    if done:
        await _finish(connection, done, now)
        await connection.execute(_superseded(), [_kept_revision(lease, switch) for lease, _, switch in done])
        await _insert(connection, chain.from_iterable(result.chunks for _, result, _ in done))
    return switches


def _kept_revision(lease: Lease, switch: RevisionSwitch) -> dict[str, object]:
    # Revisions are counted from 1.
    revision = max(switch.visible_revisions - {lease.revision}, default=0)
    return {"of_document": lease.document_id, "kept": revision}


async def _free(connection: AsyncConnection, leases: Sequence[Lease]) -> set[str]:
    """Lock and return the documents that no other transaction is changing."""
    params = {"of_documents": [lease.document_id for lease in leases]}
    return set((await connection.execute(_unlocked(), params)).scalars())


@cache
def _unlocked() -> Select[str]:
    query = select(col(Document.id))
    query = query.where(col(Document.id).in_(bindparam("of_documents", expanding=True)))
    return query.with_for_update(skip_locked=True)


async def _lock_held(connection: AsyncConnection, leases: Sequence[Lease]) -> set[str]:
    """Lock and return the documents whose leases still hold, so that nobody can take them over."""
    if not leases:
        return set()
    return set((await connection.execute(_in_hand(), any_held_params(leases))).scalars())


@cache
def _in_hand() -> Select[str]:
    return select(col(Document.id)).where(*any_held_condition()).with_for_update()


async def _places(connection: AsyncConnection, leases: Sequence[Lease]) -> dict[str, RevisionSwitch | None]:
    """Where the new revisions belong; locked so that no cut-over comes before the commit."""
    params = {"of_documents": [lease.document_id for lease in leases]}
    rows = {row[0]: row for row in (await connection.execute(_standing(), params)).all()}
    return {lease.document_id: _place(lease, *rows.get(lease.document_id, _NOWHERE)[1:]) for lease in leases}


def _place(
    lease: Lease, active: int | None, made_for: int, present: int, target: dict[str, Any] | None
) -> RevisionSwitch | None:
    if made_for == present:
        # A shadow or kept revision has outdated content.
        return RevisionSwitch(False, target is not None, frozenset({lease.revision}))
    if target is not None and made_for == target["generation"]:
        return RevisionSwitch(True, True, frozenset({lease.revision} | ({active} if active else set())))
    return None


# Placeholder for missing rows: no generation has the number 0.
_NOWHERE: tuple[Any, ...] = (None, None, 0, -1, None)


# Cached: building them takes longer than executing them, and each document needs them.
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
    connection: AsyncConnection, done: Sequence[tuple[Lease, RevisionResult, RevisionSwitch]], now: datetime
) -> None:
    shadows = [_values(lease, result, now) for lease, result, switch in done if switch.is_shadow]
    others = [_values(lease, result, now) for lease, result, switch in done if not switch.is_shadow]
    if shadows:
        await connection.execute(_finished_shadow(), shadows)
    if others:
        await connection.execute(_finished(), others)


def _values(lease: Lease, result: RevisionResult, now: datetime) -> dict[str, object]:
    return {
        **held_params(lease),
        "now": now,
        "of_revision": lease.revision,
        "its_count": result.chunk_count,
        **{f"its_{name}": result.parsed[name] for name in Document.PARSED_FIELDS},
    }


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
        .where(*held_condition())
        .values(
            status=DocumentStatus.COMPLETED.value,
            stage=DocumentStage.DONE.value,
            progress=100,
            failure=None,
            lease_owner=None,
            lease_until=None,
            completed_at=now,
            updated_at=now,
            **{name: bindparam(f"its_{name}") for name in Document.PARSED_FIELDS},
            **place,
        )
    )


@cache
def _superseded() -> Delete:
    chunk = _chunks().c
    of_document = bindparam("of_document", type_=String())
    kept_revision = bindparam("kept", type_=Integer())
    return delete(_chunks()).where(chunk.document_id == of_document, chunk.revision != kept_revision)


async def _insert(connection: AsyncConnection, chunks: Iterable[Mapping[str, object]]) -> None:
    remaining = iter(chunks)
    while rows := list(islice(remaining, _CHUNKS_PER_INSERT)):
        await connection.execute(_new_chunks(), rows)


@cache
def _new_chunks() -> Insert:
    return insert(_chunks())


def _chunks() -> Table:
    # The table, not the class: no ORM objects are needed.
    return cast(Table, mapper_of(Chunk).local_table)
