"""Saving of questions while access to their document changes."""

import asyncio

import pytest
from sqlmodel import select

from core.auth.models import User
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import QuestionNotFound
from kb_service import questions
from kb_service.documents import permissions
from kb_service.documents.permissions import DocumentAclUpdate
from kb_service.models import Document, KnowledgeBase, Question
from kb_service.questions import QuestionDraft
from kb_service.visibility import UserViewer
from tests.fixtures.database.rows import add_document
from tests.fixtures.knowledge.kb_transfers import principal_of

pytestmark = [
    pytest.mark.anyio,
    # SQLite lets one write at a time.
    pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True),
]

STRANGER = UserViewer("somebody who reads the knowledge base")
DRAFT = QuestionDraft("When does it sleep?", [{"document": "note.md", "text": "at noon"}])


@pytest.fixture
async def base(database: Database) -> KnowledgeBase:
    document_id = await add_document(database)
    async with database.reading() as session:
        document = await session.get_one(Document, document_id)
        return await session.get_one(KnowledgeBase, document.knowledge_base_id)


async def restrict(database: Database, base: KnowledgeBase) -> None:
    async with unit_of_work(database) as work:
        owner = principal_of(await work.session.get_one(User, base.owner_id))
        query = select(Document.id).where(Document.knowledge_base_id == base.id)
        document_id = (await work.session.exec(query)).one()
        await permissions.restrict(work, owner, base.id, document_id, DocumentAclUpdate([]))


async def test_question_is_tied_that_gets_words_of_a_document_while_that_is_restricted(
    database: Database, base: KnowledgeBase
):
    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeBase, base.id)
        harmless = QuestionDraft(DRAFT.text, [{"document": "other.md"}])
        await questions.add_questions(work, STRANGER, row, [harmless])
    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeBase, base.id)
        await questions.add_questions(work, STRANGER, row, [DRAFT])
        restricting = asyncio.create_task(restrict(database, base))
        await asyncio.wait({restricting}, timeout=0.5)
    await restricting

    async with database.reading() as session:
        row = await session.get_one(KnowledgeBase, base.id)
        assert await questions.list_all(session, STRANGER, row) == []
        assert len(await questions.list_all(session, UserViewer(base.owner_id), row)) == 1


async def test_question_is_changed_by_nobody_who_may_not_know_of_it_by_then(database: Database, base: KnowledgeBase):
    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeBase, base.id)
        await questions.add_questions(work, STRANGER, row, [DRAFT])
    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeBase, base.id)
        (question,) = await questions.list_all(work.session, STRANGER, row)
        await restrict(database, base)
        other = QuestionDraft("Mine?", DRAFT.expected)
        with pytest.raises(QuestionNotFound):
            await questions.change(work, STRANGER, row, question, other)

    async with database.reading() as session:
        (question,) = (await session.exec(select(Question))).all()
    assert (question.text, len(question.restricted_to)) == (DRAFT.text, 1)
