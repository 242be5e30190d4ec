"""Re-indexing of a knowledge base with other settings, without interrupting searches."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import Depends
from pydantic import Field

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.schemas import Words
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import KnowledgeBaseNotFound, ReadOnly
from core.errors.conflicts import Conflict, NoReindex, ReindexNotReady, ReindexOver, ReindexRunning
from core.errors.requests import InvalidRequest, UnknownEmbeddingModel
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.index_version import Generation
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import KnowledgeBase, SplitterName
from kb_service.reindex import service as reindex_service
from kb_service.reindex import status as reindex_status
from kb_service.reindex.service import Cutover, ReindexOutcome
from kb_service.reindex.status import ReindexStatus, State

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/reindex", tags=["re-index"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))
_WRITE_ERRORS = (ReadOnly, KnowledgeBaseNotFound)


class ReindexBody(RequestModel):
    """The settings wished for; what is left out stays as it is."""

    splitter: Text | None = Field(default=None, description=f"One of {', '.join(SplitterName)}", max_length=50)
    chunk_size: int | None = Field(default=None, description="Tokens per chunk, 32 to 2000")
    chunk_overlap: int | None = Field(default=None, description="Tokens, at most half a chunk")
    embedding_model: Text | None = Field(default=None, max_length=200)
    cutover: Cutover = Field(
        default=Cutover.AUTO,
        description="`auto`: the new settings come into force when all documents are done. "
        "`manual`: they wait for `POST .../reindex/cutover`",
    )
    force: bool = Field(default=False, description="Make all documents anew even if no setting changes")

    def draft(self) -> KnowledgeBaseDraft:
        return KnowledgeBaseDraft(**self.model_dump(exclude={"cutover", "force"}))


class CutoverBody(RequestModel):
    """How to put a re-index in force."""

    without_failed: bool = Field(
        default=False, description="Go ahead although documents failed; searches don't find those afterwards"
    )


class SettingsAnswer(ResponseModel):
    """The settings of one generation; sizes are in tokens."""

    generation: int
    embedding_model: str
    splitter: str
    chunk_size: int
    chunk_overlap: int


class DocumentsAnswer(ResponseModel):
    """How many searchable documents there are, and how many of them are made anew."""

    total: int
    done: int
    failed: int
    left: int


class FailedDocumentAnswer(ResponseModel):
    """A document that could not be made anew; it stays searchable as it is."""

    id: str
    name: str
    failure: dict[str, str] | None


class PreviousAnswer(SettingsAnswer):
    """The settings that a rollback brings back, and until when their passages are kept."""

    kept_until: datetime


class FiguresAnswer(ResponseModel):
    """Means over the saved questions, from 0 to 1."""

    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_10: float


class RecallAnswer(ResponseModel):
    """What the saved questions find with the present settings and with the new ones."""

    questions: int
    present: FiguresAnswer
    target: FiguresAnswer


class ReindexAnswer(ResponseModel):
    """How a re-index stands.

    `state` is `none`, `running`, `ready` (waits for the cut-over), `blocked` (documents
    failed: retry or delete them, or cut over without them) or `held` (the saved questions find
    less than before: cut over all the same, or cancel).
    """

    state: State
    percent: int
    eta_seconds: float | None
    documents: DocumentsAnswer
    failed_documents: list[FailedDocumentAnswer]
    present: SettingsAnswer
    target: SettingsAnswer | None
    previous: PreviousAnswer | None
    cutover: Cutover | None
    started_at: datetime | None
    edited_chunks: int = Field(description="Chunks whose edits the new generation does not have")
    paused: bool
    waiting: Words | None = Field(
        description="Why documents are not made anew yet, or the saved questions not asked: what "
        "the try ended with that is repeated"
    )
    recall: RecallAnswer | None = Field(
        description="Measured once all documents are done, and shown after the cut-over, too"
    )
    recall_missing: Words | None = Field(
        description="Why the settings before could not be measured: their embedding model is gone"
    )


class RequestedAnswer(ReindexAnswer):
    """What a request for other settings led to, and how the re-index stands."""

    outcome: ReindexOutcome


def _settings(generation: Generation | None) -> dict[str, object] | None:
    return None if generation is None else generation.to_json()


def _fields(report: ReindexStatus) -> dict[str, object]:
    tally, previous = report.tally, _settings(report.previous)
    if previous is not None:
        previous["kept_until"] = report.kept_until
    return {
        "state": report.state,
        "percent": 0 if report.state is State.NONE else tally.percent,
        "eta_seconds": report.eta_seconds,
        "documents": {"total": tally.total, "done": tally.done, "failed": tally.failed, "left": tally.left},
        "failed_documents": [vars(failed) for failed in report.failures],
        "present": _settings(report.present),
        "target": _settings(report.target),
        "previous": previous,
        "cutover": report.options.get("cutover"),
        "started_at": report.options.get("started_at"),
        "edited_chunks": report.options.get("edited_chunks", 0),
        "paused": report.is_paused,
        "waiting": report.waiting,
        "recall": report.recall,
        "recall_missing": report.recall_missing,
    }


@router.get("", dependencies=[View], responses=error_responses(KnowledgeBaseNotFound))
async def read_reindex(kb_id: Text, principal: CurrentPrincipal, session: Reading) -> Envelope[ReindexAnswer]:
    """How the re-index of a knowledge base stands; `state` is `none` where there is none."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    return Envelope(
        data=ReindexAnswer.model_validate(_fields(await reindex_status.get_status(session, principal, row)))
    )


@router.post(
    "",
    dependencies=[Write],
    responses=error_responses(InvalidRequest, UnknownEmbeddingModel, *_WRITE_ERRORS, Conflict, ReindexRunning),
)
async def start_reindex(
    kb_id: Text, body: ReindexBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[RequestedAnswer]:
    """Make all documents anew with other settings, beside what searches see.

    Searches go on with the present passages until all documents are done; then the new ones come
    into force at one moment. Edits of chunks are not carried over.
    """
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    outcome = await reindex_service.request_reindex(work, row, body.draft(), cutover=body.cutover, force=body.force)
    fields = _fields(await reindex_status.get_status(work.session, principal, row))
    return Envelope(data=RequestedAnswer.model_validate({**fields, "outcome": outcome}))


async def _locked(work: UnitOfWork, principal: CurrentPrincipal, kb_id: str) -> KnowledgeBase:
    await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    row = await reindex_service.get_for_update(work.session, kb_id)
    if row is None:
        raise KnowledgeBaseNotFound
    return row


async def _kept_for(context: CurrentContext, work: Writing) -> timedelta:
    # In the same session: who holds one connection and waits for another may wait for ever.
    return timedelta(hours=(await context.live.read(work.session)).reindex_keep_hours)


KeptFor = Annotated[timedelta, Depends(_kept_for, scope="function")]


async def _answer(work: UnitOfWork, principal: Principal, row: KnowledgeBase) -> Envelope[ReindexAnswer]:
    await work.session.flush()
    report = await reindex_status.get_status(work.session, principal, row)
    return Envelope(data=ReindexAnswer.model_validate(_fields(report)))


@router.post(
    "/cutover", dependencies=[Write], responses=error_responses(*_WRITE_ERRORS, ReindexNotReady, NoReindex, ReindexOver)
)
async def cut_over(
    kb_id: Text, principal: CurrentPrincipal, work: Writing, keep: KeptFor, body: CutoverBody | None = None
) -> Envelope[ReindexAnswer]:
    """Put the new settings and passages in force now."""
    row = await _locked(work, principal, kb_id)
    without_failed = body is not None and body.without_failed
    await reindex_service.cut_over(work, row, keep=keep, without_failed=without_failed)
    return await _answer(work, principal, row)


@router.post("/cancel", dependencies=[Write], responses=error_responses(*_WRITE_ERRORS, NoReindex, ReindexOver))
async def cancel_reindex(kb_id: Text, principal: CurrentPrincipal, work: Writing) -> Envelope[ReindexAnswer]:
    """Give the re-index up; searches stay as they are."""
    row = await _locked(work, principal, kb_id)
    await reindex_service.cancel(work, row)
    return await _answer(work, principal, row)


@router.post(
    "/rollback",
    dependencies=[Write],
    responses=error_responses(UnknownEmbeddingModel, *_WRITE_ERRORS, ReindexRunning, NoReindex),
)
async def roll_back(kb_id: Text, principal: CurrentPrincipal, work: Writing, keep: KeptFor) -> Envelope[ReindexAnswer]:
    """Go back to the settings and passages before the last cut-over, while they are kept.

    It happens at once, unless documents came or changed since: those are made anew first.
    """
    row = await _locked(work, principal, kb_id)
    await reindex_service.roll_back(work, row, keep=keep)
    return await _answer(work, principal, row)
