"""Saved questions of a knowledge base, single and as files."""

from datetime import datetime
from typing import Annotated

from fastapi import Depends, Query, Request, Response
from pydantic import Field

from api.dependencies import CurrentContext, CurrentPrincipal, Reading, Writing, paging, requires
from api.http.errors import error_responses
from api.http.multipart import single_file_form
from api.http.responses import Empty, Envelope, Items, RequestModel, ResponseModel, Text, page_of
from api.http.routing import Router
from core.auth.permissions import Permission
from core.auth.principal import Action
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound, QuestionNotFound, ReadOnly
from core.errors.requests import FileTooLarge, InvalidPagination
from kb_service import question_files, questions
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Question
from kb_service.question_files import FileFormat
from kb_service.questions import QuestionDraft

router = Router(prefix="/api/v1/knowledge-bases/{kb_id}/questions", tags=["evaluation"])
View = Depends(requires(Permission.KB_VIEW))
Write = Depends(requires(Permission.KB_WRITE))

_CHANGE_ERRORS = error_responses(ReadOnly, KnowledgeBaseNotFound, QuestionNotFound)
_MEDIA_TYPES: dict[FileFormat, str] = {"jsonl": "application/x-ndjson; charset=utf-8", "csv": "text/csv; charset=utf-8"}
_FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "additionalProperties": False,
                }
            }
        },
    }
}


class ExpectedPassageBody(RequestModel):
    """A passage that answers the question: its document's name and, if given, words of it."""

    document: Text = Field(examples=["handbook.md"])
    text: Text = ""


class QuestionBody(RequestModel):
    """A question and at least one passage that would answer it."""

    question: Text = Field(examples=["How long is the warranty?"])
    expected: list[ExpectedPassageBody]

    def draft(self) -> QuestionDraft:
        return QuestionDraft(self.question, [passage.model_dump() for passage in self.expected])


class ExpectedAnswer(ResponseModel):
    """An expected passage; without words any passage of the document is right."""

    document: str
    text: str = ""


class QuestionAnswer(ResponseModel):
    """A saved question."""

    id: str
    question: str
    expected: list[ExpectedAnswer]
    created_at: datetime
    updated_at: datetime


class QuestionImportAnswer(ResponseModel):
    """How many questions came new, got more expected passages, or were already there."""

    added: int
    extended: int
    unchanged: int


def _answer(row: Question) -> QuestionAnswer:
    return QuestionAnswer.model_validate({**row.model_dump(), "question": row.text})


@router.get("", dependencies=[View], responses=error_responses(InvalidPagination, KnowledgeBaseNotFound))
async def list_questions(
    kb_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    page: Annotated[PageRequest, Depends(paging(*questions.SORT_FIELDS))],
) -> Envelope[Items[QuestionAnswer]]:
    """One page of a knowledge base's saved questions."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    listing = await questions.list_questions(session, principal, row, page)
    items = [_answer(question) for question in listing.items]
    return page_of(items, page, total=listing.total)


@router.post("", dependencies=[Write], responses=_CHANGE_ERRORS)
async def create_question(
    kb_id: Text, body: QuestionBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[QuestionAnswer]:
    """Save a question; one that is already there gets the passages that are new."""
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    return Envelope(data=_answer(await questions.create(work, principal, row, body.draft())))


@router.post(
    "/import",
    dependencies=[Write],
    openapi_extra=_FILE_BODY,
    responses=error_responses(ReadOnly, KnowledgeBaseNotFound, FileTooLarge),
)
async def import_questions(
    kb_id: Text,
    request: Request,
    principal: CurrentPrincipal,
    context: CurrentContext,
    replace: Annotated[bool, Query(description="Remove the present questions first")] = False,
) -> Envelope[QuestionImportAnswer]:
    """Save the questions of a file: JSON Lines, or CSV where its name ends in ``.csv``.

    Each line has ``question``, ``document`` and, if wanted, ``text``. All lines are saved or none.
    """
    async with context.database.reading() as session:
        await knowledge_bases.get(session, principal, kb_id, Action.WRITE)
    async with single_file_form(request, max_bytes=context.settings.max_request_bytes) as form:
        kind: FileFormat = "csv" if (form.file.filename or "").lower().endswith(".csv") else "jsonl"
        drafts = question_files.parse(await form.file.read(), kind)
    async with unit_of_work(context.database) as work:
        row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
        if replace:
            await questions.delete_all(work, principal, row)
        added = await questions.add_questions(work, principal, row, drafts)
        return Envelope(data=QuestionImportAnswer(**vars(added)))


@router.get(
    "/export",
    dependencies=[View],
    response_class=Response,
    responses={
        **error_responses(KnowledgeBaseNotFound),
        200: {
            "description": "The file",
            "content": {kind: {"schema": {"type": "string"}} for kind in _MEDIA_TYPES.values()},
        },
    },
)
async def export_questions(
    kb_id: Text,
    principal: CurrentPrincipal,
    session: Reading,
    kind: Annotated[FileFormat, Query(alias="format")] = "jsonl",
) -> Response:
    """The saved questions as a file that can be imported again."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    content = question_files.render(await questions.list_all(session, principal, row), kind)
    headers = {"Content-Disposition": f'attachment; filename="questions.{kind}"'}
    return Response(content, media_type=_MEDIA_TYPES[kind], headers=headers)


@router.get("/{question_id}", dependencies=[View], responses=error_responses(KnowledgeBaseNotFound, QuestionNotFound))
async def read_question(
    kb_id: Text, question_id: Text, principal: CurrentPrincipal, session: Reading
) -> Envelope[QuestionAnswer]:
    """One saved question."""
    row = await knowledge_bases.get(session, principal, kb_id, Action.READ)
    return Envelope(data=_answer(await questions.get(session, principal, row, question_id)))


@router.put("/{question_id}", dependencies=[Write], responses=_CHANGE_ERRORS)
async def change_question(
    kb_id: Text, question_id: Text, body: QuestionBody, principal: CurrentPrincipal, work: Writing
) -> Envelope[QuestionAnswer]:
    """Put another text and other expected passages in place of a question's."""
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    question = await questions.get(work.session, principal, row, question_id)
    changed = await questions.change(work, principal, row, question, body.draft())
    return Envelope(data=_answer(changed))


@router.delete("/{question_id}", dependencies=[Write], responses=_CHANGE_ERRORS)
async def delete_question(kb_id: Text, question_id: Text, principal: CurrentPrincipal, work: Writing) -> Empty:
    """Remove a saved question."""
    row = await knowledge_bases.get(work.session, principal, kb_id, Action.WRITE)
    await questions.delete(work, await questions.get(work.session, principal, row, question_id))
    return Empty()
