"""Log of the runs' retrievals, and their replay."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import delete
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession
from sqlmodel.sql.expression import SelectOfScalar

from core.auth.principal import Principal
from core.db.database import Database
from core.db.read_pool import event_loop_context
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import RetrievalNotFound
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import KnowledgeBase, RetrievalRecord
from kb_service.retrieval.filters import filter_condition
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.results import DropReason, FoundPassage, SearchResult
from kb_service.retrieval.service import Searcher
from kb_service.retrieval.visibility import DocumentScope, check_visibility
from kb_service.visibility import Viewer, hidden_document_ids

MOST_PER_USER = 2000
"""Records kept per user; the oldest are deleted first."""

_SAME_SCORE = 1e-6
_GENERATIONS = "generations"


@dataclass(frozen=True)
class RecordedPassage:
    """A passage as it was shown, without its text."""

    chunk_id: str
    document_id: str
    document_name: str
    knowledge_base_id: str
    revision: int
    score: float


@dataclass(frozen=True)
class KeptPassage:
    """A recorded passage that the replay shows too; places from 1."""

    recorded: RecordedPassage
    place_then: int
    place_now: int
    score_now: float

    @property
    def is_same(self) -> bool:
        is_moved = self.place_then != self.place_now
        return not is_moved and abs(self.recorded.score - self.score_now) <= _SAME_SCORE


@dataclass(frozen=True)
class LostPassage:
    """A recorded passage that the replay does not show, and why."""

    recorded: RecordedPassage
    place_then: int
    reason: DropReason


@dataclass(frozen=True)
class Replay:
    """A record compared with the same retrieval today.

    Args:
        new: passages only in today's answer, with their places.
        missing: knowledge bases that were deleted or that the caller lost access to.
    """

    result: SearchResult
    retained: Sequence[KeptPassage]
    lost: Sequence[LostPassage]
    new: Sequence[tuple[int, FoundPassage]]
    missing: Sequence[str] = field(default_factory=list[str])

    @property
    def is_same(self) -> bool:
        return not self.lost and not self.new and all(passage.is_same for passage in self.retained)


async def save(work: UnitOfWork, user_id: str, result: SearchResult, *, run_id: str) -> RetrievalRecord:
    """Record the request and the answer of a run's retrieval; deleted with the run."""
    record = RetrievalRecord(
        user_id=user_id,
        run_id=run_id,
        request={**result.request.to_json(), _GENERATIONS: result.generations},
        results=[_to_json(passage) for passage in result.passages],
    )
    work.session.add(record)
    await work.session.flush()
    await _delete_oldest(work.session, user_id)
    return record


def _to_json(passage: FoundPassage) -> dict[str, Any]:
    chunk = passage.chunk
    return {
        "chunk_id": chunk.id,
        "document_id": chunk.document_id,
        "document_name": passage.document_name,
        "knowledge_base_id": chunk.knowledge_base_id,
        "revision": chunk.revision,
        "score": passage.hit.score,
    }


async def _delete_oldest(session: AsyncSession, user_id: str) -> None:
    newest_first = (col(RetrievalRecord.created_at).desc(), col(RetrievalRecord.id).desc())
    surplus = (
        select(RetrievalRecord.id)
        .where(RetrievalRecord.user_id == user_id)
        .order_by(*newest_first)
        .offset(MOST_PER_USER)
        .limit(MOST_PER_USER)
    )
    ids = (await session.exec(surplus)).all()
    if ids:
        await session.exec(delete(RetrievalRecord).where(col(RetrievalRecord.id).in_(ids)))


async def delete_of_runs(work: UnitOfWork, run_ids: SelectOfScalar[str]) -> None:
    """Delete the records of runs, given a query for their keys."""
    await work.session.exec(delete(RetrievalRecord).where(col(RetrievalRecord.run_id).in_(run_ids)))


async def get(session: AsyncSession, principal: Principal, record_id: str) -> RetrievalRecord:
    """Load a record of the caller's."""
    query = select(RetrievalRecord).where(RetrievalRecord.id == record_id, RetrievalRecord.user_id == principal.user_id)
    record = (await session.exec(query)).first()
    if record is None:
        raise RetrievalNotFound
    return record


def recorded_request(record: RetrievalRecord) -> RetrievalRequest:
    """The recorded request with every option resolved."""
    return RetrievalRequest.model_validate(record.request)


def recorded_generations(record: RetrievalRecord) -> dict[str, int]:
    """The settings number of each knowledge base at that time."""
    return dict(record.request.get(_GENERATIONS, {}))


def recorded_passages(record: RetrievalRecord) -> list[RecordedPassage]:
    """The recorded passages, best first."""
    return [RecordedPassage(**entry) for entry in record.results]


async def replay(database: Database, searcher: Searcher, principal: Principal, record: RetrievalRecord) -> Replay:
    """Repeat a recorded retrieval with its own parameters on today's data, as far as its owner has access."""
    request = recorded_request(record)
    async with database.reading() as session:
        rows = await knowledge_bases.reload_visible(session, principal, request.knowledge_base_ids)
    result = await searcher.search(principal, rows, request, explain=True)
    recorded = recorded_passages(record)
    now = {passage.chunk.id: place for place, passage in enumerate(result.passages, start=1)}
    then = {passage.chunk_id for passage in recorded}
    in_both = [
        KeptPassage(passage, place, now[passage.chunk_id], _score(result, now[passage.chunk_id]))
        for place, passage in enumerate(recorded, start=1)
        if passage.chunk_id in now
    ]
    gone = [(place, passage) for place, passage in enumerate(recorded, start=1) if passage.chunk_id not in now]
    reasons = await _reasons(database, principal, [passage for _, passage in gone], result, rows)
    visible = {row.id for row in rows}
    return Replay(
        result=result,
        retained=in_both,
        lost=[LostPassage(passage, place, reasons[passage.chunk_id]) for place, passage in gone],
        new=[
            (place, passage) for place, passage in enumerate(result.passages, start=1) if passage.chunk.id not in then
        ],
        missing=[id_ for id_ in request.knowledge_base_ids if id_ not in visible],
    )


def _score(result: SearchResult, place: int) -> float:
    return result.passages[place - 1].hit.score


async def _reasons(
    database: Database,
    reader: Viewer,
    passages: Sequence[RecordedPassage],
    result: SearchResult,
    rows: Sequence[KnowledgeBase],
) -> dict[str, DropReason]:
    """Why passages are not in the answer; those hidden from the caller count as deleted."""
    ids = [passage.chunk_id for passage in passages]
    filters = result.request.filters
    condition = None
    if not filters.is_empty:
        condition = filter_condition(filters, is_sqlite=database.is_sqlite)
    async with database.reading() as session:
        hidden = await hidden_document_ids(session, rows, reader)
        scope = DocumentScope(result.generations, condition, hidden=hidden)
        connection = await session.connection()
        checked = await connection.run_sync(lambda inner: check_visibility(event_loop_context(inner), ids, scope))
    bases = {row.id: _base_reason(row, result) for row in rows}
    reasons = {
        **{p.chunk_id: bases.get(p.knowledge_base_id, DropReason.GONE) for p in passages},
        **dict.fromkeys(checked.alive, DropReason.BEYOND_DEPTH),
        **checked.refused,
    }
    return reasons | {hit.chunk_id: hit.reason for hit in result.dropped}


def _base_reason(row: KnowledgeBase, result: SearchResult) -> DropReason:
    """The reason for a missing passage when only its knowledge base is known."""
    if not row.enabled:
        return DropReason.KNOWLEDGE_BASE_DISABLED
    return DropReason.GONE if row.id in result.generations else DropReason.KNOWLEDGE_BASE_UNSEARCHED
