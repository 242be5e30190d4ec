"""The recorded retrievals of the caller's runs, and their replay."""

from datetime import datetime
from typing import Literal

from fastapi import Depends

from api.dependencies import CurrentDatabase, CurrentPrincipal, Knowledge, Reading, requires
from api.http.errors import EMBEDDING_FAILURES, error_responses
from api.http.responses import Envelope, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.search_schemas import ReasonAnswer, SearchAnswer, reason_answer, reason_answers, search_answer
from core.auth.permissions import Permission
from core.errors.auth import RetrievalNotFound
from kb_service.models import RetrievalRecord
from kb_service.retrieval import retrieval_log
from kb_service.retrieval.request import RetrievalRequest
from kb_service.retrieval.results import SearchWarning
from kb_service.retrieval.retrieval_log import RecordedPassage, Replay

router = Router(prefix="/api/v1/retrievals", tags=["search"])
View = Depends(requires(Permission.KB_VIEW))


class RecordedAnswer(ResponseModel):
    """A passage as it was shown; its text is not kept."""

    place: int
    chunk_id: str
    document_id: str
    document_name: str
    knowledge_base_id: str
    revision: int
    score: float


class RetrievalAnswer(ResponseModel):
    """A retrieval as it was; ``request`` may be sent to a search as it stands.

    ``generations`` number the settings that each knowledge base had.
    """

    id: str
    created_at: datetime
    request: RetrievalRequest
    generations: dict[str, int]
    results: list[RecordedAnswer]


class ChangeAnswer(ResponseModel):
    """What became of one passage; places count from 1, null where it is not shown."""

    status: Literal["same", "moved", "gone", "new"]
    chunk_id: str
    document_id: str
    document_name: str
    place_then: int | None
    place_now: int | None
    score_then: float | None
    score_now: float | None
    reason: ReasonAnswer | None = None


class ReplayAnswer(ResponseModel):
    """A recorded retrieval beside the same retrieval of today.

    ``same`` says that passages, places and scores are equal.
    """

    retrieval: RetrievalAnswer
    same: bool
    changes: list[ChangeAnswer]
    missing_knowledge_base_ids: list[str]
    now: SearchAnswer


@router.get("/{retrieval_id}", dependencies=[View], responses=error_responses(RetrievalNotFound))
async def read_retrieval(
    retrieval_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[RetrievalAnswer]:
    """What a run of one's own asked the search, and what it got."""
    return Envelope(data=_recorded(await retrieval_log.get(session, principal, retrieval_id)))


@router.post(
    "/{retrieval_id}/replay", dependencies=[View], responses=error_responses(RetrievalNotFound, *EMBEDDING_FAILURES)
)
async def replay_retrieval(
    retrieval_id: Text, principal: CurrentPrincipal, database: CurrentDatabase, knowledge: Knowledge
) -> Envelope[ReplayAnswer]:
    """Run a recorded retrieval again, exactly as it was asked, and see what has changed."""
    async with database.reading() as session:
        record = await retrieval_log.get(session, principal, retrieval_id)
    replay = await retrieval_log.replay(database, knowledge.searcher, principal, record)
    now = search_answer(replay.result, explain=True)
    if replay.missing:
        now.warnings += reason_answers([SearchWarning.KNOWLEDGE_BASE_MISSING])
    answer = ReplayAnswer(
        retrieval=_recorded(record),
        same=replay.is_same,
        changes=_changes(replay),
        missing_knowledge_base_ids=list(replay.missing),
        now=now,
    )
    return Envelope(data=answer)


def _recorded(record: RetrievalRecord) -> RetrievalAnswer:
    passages = enumerate(retrieval_log.recorded_passages(record), start=1)
    return RetrievalAnswer(
        id=record.id,
        created_at=record.created_at,
        request=retrieval_log.recorded_request(record),
        generations=retrieval_log.recorded_generations(record),
        results=[RecordedAnswer(place=place, **vars(passage)) for place, passage in passages],
    )


def _changes(replay: Replay) -> list[ChangeAnswer]:
    found_again = [
        _change(
            "same" if passage.is_same else "moved",
            passage.recorded,
            place_then=passage.place_then,
            place_now=passage.place_now,
            score_now=passage.score_now,
        )
        for passage in replay.retained
    ]
    lost = [
        _change("gone", passage.recorded, place_then=passage.place_then).model_copy(
            update={"reason": reason_answer(passage.reason)}
        )
        for passage in replay.lost
    ]
    new = [
        ChangeAnswer(
            status="new",
            chunk_id=passage.chunk.id,
            document_id=passage.chunk.document_id,
            document_name=passage.document_name,
            place_then=None,
            place_now=place,
            score_then=None,
            score_now=round(passage.hit.score, 4),
        )
        for place, passage in replay.new
    ]
    return [*sorted([*found_again, *lost], key=lambda change: change.place_then or 0), *new]


def _change(
    status: Literal["same", "moved", "gone"],
    recorded: RecordedPassage,
    *,
    place_then: int,
    place_now: int | None = None,
    score_now: float | None = None,
) -> ChangeAnswer:
    return ChangeAnswer(
        status=status,
        chunk_id=recorded.chunk_id,
        document_id=recorded.document_id,
        document_name=recorded.document_name,
        place_then=place_then,
        place_now=place_now,
        score_then=round(recorded.score, 4),
        score_now=None if score_now is None else round(score_now, 4),
    )
