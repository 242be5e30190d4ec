"""The deletion of a knowledge base while a document comes in."""

import pytest
from sqlmodel import func, select

from core.auth.principal import Action, Principal
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound
from ingestion.worker.deletion import erase_knowledge_base
from kb_service.documents import upload as document_upload
from kb_service.documents.storage import FileType, StoredFile
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
async def test_document_that_slips_into_a_deleted_knowledge_base_goes_with_it(context, database_kind):
    async with unit_of_work(context.database) as work:
        row = await add_knowledge_base(work)
    owner = Principal(row.owner_id, "owner", "user", frozenset())

    async def content():
        yield b"# Late\n"

    key = new_id()
    await context.store.write(key, content())
    async with unit_of_work(context.database) as uploading:
        seen = await knowledge_bases.get(uploading.session, owner, row.id, Action.WRITE)
        async with unit_of_work(context.database) as deleting:
            same = await knowledge_bases.get(deleting.session, owner, row.id, Action.WRITE)
            await knowledge_bases.delete(deleting, same)
        file = StoredFile(key, 7, "0" * 64)
        kind = FileType("text/markdown", "markdown")
        await document_upload.add_document(uploading, seen, name="late.md", file=file, file_type=kind)
    await erase_knowledge_base(context, row.id)
    async with context.database.reading() as session:
        with pytest.raises(KnowledgeBaseNotFound):
            await knowledge_bases.get(session, owner, row.id, Action.READ)
        for table in (Document, KnowledgeBase):
            assert (await session.exec(select(func.count()).select_from(table))).one() == 0
    assert await context.store.keys() == []


async def test_erasure_leaves_a_living_knowledge_base_alone(context):
    async with unit_of_work(context.database) as work:
        row = await add_knowledge_base(work)
    await erase_knowledge_base(context, row.id)
    async with context.database.reading() as session:
        assert await session.get(KnowledgeBase, row.id) is not None
