"""The caller's long-term memories."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query
from pydantic import Field

from agents.memory import store
from agents.memory.models import Memory, MemorySource
from agents.memory.store import SORT_FIELDS, MemoryDraft
from agents.memory.text import MAX_CHARACTERS
from api.dependencies import Agents, CurrentDatabase, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.db.pagination import PageRequest
from core.errors.auth import MemoryNotFound
from core.errors.conflicts import Conflict, MemoryFull
from core.errors.requests import InvalidPagination

router = Router(prefix="/api/v1/memories", tags=["memories"])
View = Depends(requires(Permission.MEMORY_VIEW))
Write = Depends(requires(Permission.MEMORY_WRITE))
_MAX_QUERY = 1000


class MemoryBody(RequestModel):
    """Something to remember."""

    text: Text = Field(min_length=1, max_length=MAX_CHARACTERS, examples=["I prefer answers in German."])


class MemoryAnswer(ResponseModel):
    """A memory; ``run_id`` is the run it comes from, ``score`` how well it fits a search."""

    id: str
    text: str
    source: MemorySource
    run_id: str | None
    created_at: datetime
    updated_at: datetime
    score: float | None = None


class Forgotten(ResponseModel):
    """How many memories were deleted."""

    deleted: int


def _answer(row: Memory, score: float | None = None) -> MemoryAnswer:
    fields = row.model_dump(exclude={"owner_id", "digest", "vector", "vector_model"})
    return MemoryAnswer(**fields, score=score)


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination))
async def list_memories(
    principal: CurrentPrincipal,
    database: CurrentDatabase,
    agents: Agents,
    page: Annotated[PageRequest, Depends(paging(*SORT_FIELDS))],
    q: Annotated[Text, Query(max_length=_MAX_QUERY, description="Only those that have to do with this")] = "",
) -> Envelope[Items[MemoryAnswer]]:
    """One's own memories; those that fit ``q`` best first, whatever the sort order says."""
    if q.strip():
        hits = await agents.memories.search(principal.user_id, q)
        part = hits[(page.number - 1) * page.size : page.number * page.size]
        items = [_answer(hit.memory, hit.score) for hit in part]
        return page_of(items, page, total=len(hits))
    async with database.reading() as session:
        listing = await store.list_page(session, principal.user_id, page)
    return page_of([_answer(row) for row in listing.items], page, total=listing.total)


@router.post("", dependencies=[Write], responses=error_responses(MemoryFull))
async def create_memory(
    body: MemoryBody, principal: CurrentPrincipal, agents: Agents, work: Writing
) -> Envelope[MemoryAnswer]:
    """Remember something; what is remembered already is answered as it is."""
    saved = await agents.memories.save(work, principal.user_id, MemoryDraft(body.text))
    return Envelope(data=_answer(saved.row))


@router.get("/{memory_id}", dependencies=[View], responses=error_responses(MemoryNotFound))
async def read_memory(memory_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[MemoryAnswer]:
    """One memory."""
    return Envelope(data=_answer(await store.get(session, principal.user_id, memory_id)))


@router.patch("/{memory_id}", dependencies=[Write], responses=error_responses(MemoryNotFound, Conflict))
async def change_memory(
    memory_id: Text, body: MemoryBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[MemoryAnswer]:
    """Put another text in place of a memory's."""
    row = await store.update(work, principal.user_id, memory_id, text=body.text)
    return Envelope(data=_answer(row))


@router.delete("/{memory_id}", dependencies=[Write], responses=error_responses(MemoryNotFound))
async def delete_memory(memory_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Forget one memory."""
    await store.delete(work, principal.user_id, memory_id)
    return Empty()


@router.delete("", dependencies=[Write])
async def delete_memories(principal: CurrentPrincipal, work: Writing) -> Envelope[Forgotten]:
    """Forget everything, also what finished runs have not been looked through for yet."""
    deleted = await store.delete_all(work, principal.user_id)
    return Envelope(data=Forgotten(deleted=deleted))
