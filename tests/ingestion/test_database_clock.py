"""Times of document changes, by the database's clock on whatever machine."""

import sys
from datetime import timedelta

import pytest
from sqlmodel import select

from core.db import types
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from ingestion.context import WorkerContext
from ingestion.reindex import maintain
from kb_service.documents import actions as document_actions
from kb_service.documents import update as document_update
from kb_service.documents.actions import ActionName
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import Document, KnowledgeBase
from kb_service.reindex import service as reindex_service
from kb_service.visibility import SYSTEM_VIEWER
from kb_service.work_queue import leases
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.kb_transfers import begin_copy, run_and_load
from tests.fixtures.knowledge.stored_documents import reread, upload

pytestmark = pytest.mark.anyio
AHEAD = timedelta(hours=1)
SMALL = KnowledgeBaseDraft(chunk_size=40, chunk_overlap=0)


@pytest.fixture
def own_clock_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's clock goes an hour before the database's."""
    for name, module in list(sys.modules.items()):
        is_ours = name.startswith(("kb_service.", "ingestion.", "api."))
        if is_ours and getattr(module, "utc_now", None) is types.utc_now:
            monkeypatch.setattr(module, "utc_now", lambda: utc_now() + AHEAD)


async def check_moments(context: WorkerContext, what: str) -> None:
    async with context.database.reading() as session:
        rows = (await session.exec(select(Document))).all()
    soon = utc_now() + AHEAD / 2
    assert [what for row in rows if row.updated_at > soon] == []


@pytest.mark.usefixtures("own_clock_ahead")
async def test_every_change_of_a_document_is_dated_by_the_database(context: WorkerContext):
    async with unit_of_work(context.database) as work:
        kb_id = (await add_knowledge_base(work)).id
    document = await upload(context, b"# A\n\nAn animal sleeps at noon.", name="a.md", kb_id=kb_id)
    await check_moments(context, "upload")

    async def act(name: ActionName) -> None:
        async with unit_of_work(context.database) as work:
            await document_actions.apply_action(work, SYSTEM_VIEWER, name, kb_id, document.id)
        await check_moments(context, name)

    for name in (ActionName.PAUSE, ActionName.RESUME, ActionName.CANCEL, ActionName.RETRY):
        await act(name)
    async with unit_of_work(context.database) as work:
        (row,) = await leases.acquire(work, [document.id], owner="one", seconds=60)
        await leases.release_for_retry(work, leases.lease_from_row(row))
    await check_moments(context, "hand back")
    async with unit_of_work(context.database) as work:
        (row,) = await leases.acquire(work, [document.id], owner="two", seconds=60)
        lease = leases.lease_from_row(row)
        await document_actions.pause_all(work, await work.session.get_one(KnowledgeBase, kb_id))
        document_actions.resume_all(work, await work.session.get_one(KnowledgeBase, kb_id))
        await leases.release(work, lease)
    await check_moments(context, "pause all")
    await ingest(context, document.id)
    assert (await reread(context.database, document.id)).status == "completed"
    await check_moments(context, "ingest")
    async with unit_of_work(context.database) as work:
        await document_update.update(work, SYSTEM_VIEWER, kb_id, document.id, document_update.DocumentUpdate("b.md"))
    await check_moments(context, "rename")
    async with unit_of_work(context.database) as work:
        base = await work.session.get_one(KnowledgeBase, kb_id)
        assert await reindex_service.request_reindex(work, base, SMALL) == "started"
    await maintain(context, kb_id)
    await check_moments(context, "re-index")
    await ingest(context, document.id)
    await maintain(context, kb_id)
    await check_moments(context, "cut over")
    assert (await run_and_load(context, await begin_copy(context, kb_id))).status == "completed"
    await check_moments(context, "copy")
    async with unit_of_work(context.database) as work:
        base = await work.session.get_one(KnowledgeBase, kb_id)
        await knowledge_bases.delete(work, base)
    await check_moments(context, "delete")
