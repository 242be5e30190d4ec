"""Actions on documents: on a single one, on many, on a whole knowledge base."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Self

from fastapi import Depends
from pydantic import Field, model_validator

from api.dependencies import CurrentPrincipal, Writing, requires
from api.http.errors import error_responses
from api.http.responses import Envelope, RequestModel, ResponseModel, Text
from api.http.routing import Router
from api.knowledge_bases.schemas import DocumentAnswer, document_answer
from core.auth.permissions import Permission
from core.auth.principal import Action, Principal
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import DocumentNotFound, KnowledgeBaseNotFound, ReadOnly
from core.errors.conflicts import Conflict
from core.types.errors import FieldValueError
from kb_service.documents import actions as document_actions
from kb_service.documents.actions import ACTIONS, ActionName, ActionOutcome
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import DocumentStatus, KnowledgeBase

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}", tags=["documents"])
Write = Depends(requires(Permission.KB_WRITE))

_MOST = 1000
_SUMMARIES = {
    ActionName.PAUSE: "Set a document aside that waits or is processed, until it is resumed.",
    ActionName.RESUME: "Let a paused document go on.",
    ActionName.CANCEL: "Stop processing a document; what was searchable before stays so.",
    ActionName.RETRY: "Process a document again that failed or was cancelled.",
}


class BulkBody(RequestModel):
    """An action on many documents: those named, or all of a status (at most 1,000 at a time)."""

    action: ActionName
    document_ids: list[Annotated[Text, Field(max_length=64)]] | None = Field(
        default=None, min_length=1, max_length=_MOST
    )
    status: DocumentStatus | None = None

    @model_validator(mode="after")
    def _one_choice(self) -> Self:
        if (self.document_ids is None) == (self.status is None):
            raise FieldValueError("send either document_ids or status", "请给出 document_ids 或 status 之一")
        return self


class BulkItem(ResponseModel):
    """What happened to one document."""

    document_id: str
    outcome: ActionOutcome
    error: str | None
    error_zh: str | None


class BulkAnswer(ResponseModel):
    """What happened, by document and in numbers; ``more`` says that a status has further ones."""

    items: list[BulkItem]
    counts: dict[str, int]
    more: bool


class PausedAnswer(ResponseModel):
    """Whether the processing of a knowledge base is paused."""

    id: str
    paused: bool


Endpoint = Callable[[str, str, CurrentPrincipal, Writing], Awaitable[Envelope[DocumentAnswer]]]


def _endpoint(name: ActionName) -> Endpoint:
    async def endpoint(
        kb_id: Text, doc_id: Text, principal: CurrentPrincipal, work: Writing
    ) -> Envelope[DocumentAnswer]:
        base = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
        row = await document_actions.apply_action(work, principal, name, base.id, doc_id)
        return Envelope(data=document_answer(row, base))

    endpoint.__name__, endpoint.__doc__ = f"{name.value}_document", _SUMMARIES[name]
    return endpoint


for _name in _SUMMARIES:
    router.add_api_route(
        f"/documents/{{doc_id}}/{_name.value}",
        _endpoint(_name),
        methods=["POST"],
        dependencies=[Write],
        responses=error_responses(ReadOnly, KnowledgeBaseNotFound, DocumentNotFound, Conflict),
    )


@router.post("/documents/bulk", dependencies=[Write], responses=error_responses(ReadOnly, KnowledgeBaseNotFound))
async def act_on_documents(
    kb_id: Text, body: BulkBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[BulkAnswer]:
    """Do one thing with many documents; says for each what happened."""
    base = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    ids, more = await _select_ids(work, principal, base, body)
    outcomes = await document_actions.apply_action_to_many(work, principal, body.action, base.id, ids)
    items = [_item(body.action, id_, outcome) for id_, outcome in outcomes.items()]
    counts = {outcome.value: count for outcome in ActionOutcome if (count := list(outcomes.values()).count(outcome))}
    return Envelope(data=BulkAnswer(items=items, counts=counts, more=more))


def _item(name: ActionName, document_id: str, outcome: ActionOutcome) -> BulkItem:
    is_refused, action = outcome is ActionOutcome.REFUSED, ACTIONS[name]
    return BulkItem(
        document_id=document_id,
        outcome=outcome,
        error=action.refusal if is_refused else None,
        error_zh=action.refusal_zh if is_refused else None,
    )


async def _select_ids(
    work: UnitOfWork, principal: Principal, base: KnowledgeBase, body: BulkBody
) -> tuple[Sequence[str], bool]:
    if body.status is None:
        return body.document_ids or [], False
    ids = await document_actions.ids_with_status(work.session, principal, base.id, body.status, limit=_MOST + 1)
    return ids[:_MOST], len(ids) > _MOST


_PAUSE_ERRORS = error_responses(ReadOnly, KnowledgeBaseNotFound)


@router.post("/pause", dependencies=[Write], responses=_PAUSE_ERRORS)
async def pause_knowledge_base(kb_id: Text, principal: CurrentPrincipal, work: Writing) -> Envelope[PausedAnswer]:
    """Process no document of a knowledge base until it is resumed; searches go on."""
    base = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    await document_actions.pause_all(work, base)
    return Envelope(data=PausedAnswer(id=base.id, paused=True))


@router.post("/resume", dependencies=[Write], responses=_PAUSE_ERRORS)
async def resume_knowledge_base(kb_id: Text, principal: CurrentPrincipal, work: Writing) -> Envelope[PausedAnswer]:
    """Let the documents of a knowledge base go on."""
    base = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    document_actions.resume_all(work, base)
    return Envelope(data=PausedAnswer(id=base.id, paused=False))
