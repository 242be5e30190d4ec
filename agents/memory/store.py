"""Memories in the database; every query names the owner."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import delete as delete_rows
from sqlalchemy import func
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.memory.models import Distillation, Memory, MemorySource
from agents.memory.text import clean, text_digest
from agents.models import AgentRun
from core.auth.locks import lock_owner
from core.db.pagination import PageRequest, paginate
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import MemoryNotFound
from core.errors.conflicts import Conflict, MemoryFull

SORT_FIELDS = ("updated_at", "created_at")


@dataclass(frozen=True)
class MemoryDraft:
    """A memory to save, with its source and the client's id of its run."""

    text: str
    source: MemorySource = MemorySource.USER
    run_id: str | None = None


@dataclass(frozen=True)
class SavedMemory:
    """The memory of a text, and whether it is new."""

    row: Memory
    is_new: bool


@dataclass(frozen=True)
class MemoryListing:
    """One page of memories, and how many there are in all."""

    items: Sequence[Memory]
    total: int


async def save(work: UnitOfWork, owner_id: str, draft: MemoryDraft, *, most: int) -> SavedMemory:
    """Save a memory, at most ``most`` per owner; an equal one stays as it is."""
    text = clean(draft.text)
    digest = text_digest(text)
    # Two at once must not both find room for the last one, nor both be new.
    await lock_owner(work.session, owner_id)
    present = await _of_digest(work.session, owner_id, digest)
    if present is not None:
        return SavedMemory(present, is_new=False)
    if await count(work.session, owner_id) >= most:
        raise MemoryFull(limit=most)
    row = Memory(owner_id=owner_id, text=text, digest=digest, source=draft.source.value, run_id=draft.run_id)
    work.session.add(row)
    await work.session.flush()
    return SavedMemory(row, is_new=True)


async def count(session: AsyncSession, owner_id: str) -> int:
    """How many memories an owner has."""
    query = select(func.count()).select_from(Memory).where(col(Memory.owner_id) == owner_id)
    return (await session.exec(query)).one()


async def get(session: AsyncSession, owner_id: str, memory_id: str) -> Memory:
    """One of an owner's memories."""
    query = select(Memory).where(Memory.id == memory_id, Memory.owner_id == owner_id)
    row = (await session.exec(query)).first()
    if row is None:
        raise MemoryNotFound
    return row


async def list_page(session: AsyncSession, owner_id: str, page: PageRequest) -> MemoryListing:
    """One page of an owner's memories."""
    columns = {"updated_at": col(Memory.updated_at), "created_at": col(Memory.created_at)}
    mine = select(Memory).where(col(Memory.owner_id) == owner_id)
    query = paginate(mine, page, columns=columns, tie=col(Memory.id))
    return MemoryListing((await session.exec(query)).all(), await count(session, owner_id))


async def list_all(session: AsyncSession, owner_id: str) -> Sequence[Memory]:
    """All of an owner's memories, last written first."""
    query = select(Memory).where(Memory.owner_id == owner_id).order_by(col(Memory.updated_at).desc(), col(Memory.id))
    return (await session.exec(query)).all()


async def update(work: UnitOfWork, owner_id: str, memory_id: str, *, text: str) -> Memory:
    """Replace a memory's text, with the user as its source; ``Conflict`` if the owner has an equal one."""
    await lock_owner(work.session, owner_id)
    row = await get(work.session, owner_id, memory_id)
    cleaned = clean(text)
    digest = text_digest(cleaned)
    twin = await _of_digest(work.session, owner_id, digest)
    if twin is not None and twin.id != row.id:
        raise Conflict(field="text", reason="another memory says this", memory_id=twin.id)
    row.text, row.digest, row.source = cleaned, digest, MemorySource.USER.value
    row.vector = row.vector_model = None
    row.updated_at = utc_now()
    work.session.add(row)
    await work.session.flush()
    return row


async def delete(work: UnitOfWork, owner_id: str, memory_id: str) -> None:
    """Delete a memory."""
    mine = (col(Memory.id) == memory_id, col(Memory.owner_id) == owner_id)
    if (await work.session.exec(delete_rows(Memory).where(*mine))).rowcount == 0:
        raise MemoryNotFound


async def delete_all(work: UnitOfWork, owner_id: str) -> int:
    """Delete an owner's memories and distillation jobs; returns the number of memories."""
    runs = select(AgentRun.id).where(AgentRun.owner_id == owner_id)
    await work.session.exec(delete_rows(Distillation).where(col(Distillation.run_key).in_(runs)))
    statement = delete_rows(Memory).where(col(Memory.owner_id) == owner_id)
    return (await work.session.exec(statement)).rowcount


async def _of_digest(session: AsyncSession, owner_id: str, digest: str) -> Memory | None:
    query = select(Memory).where(Memory.owner_id == owner_id, Memory.digest == digest)
    return (await session.exec(query)).first()
