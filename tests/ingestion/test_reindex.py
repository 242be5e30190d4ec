"""Re-indexing on both databases: what searches see at each step, and what is left at the end."""

import asyncio
from dataclasses import replace

import pytest
from sqlmodel import col, select

from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import Conflict, NoReindex, ReindexNotReady, ReindexRunning
from ingestion.context import WorkerContext
from ingestion.reindex import maintain, maintain_all
from ingestion.worker.deletion import erase_document, erase_knowledge_base
from kb_service.documents import actions as document_actions
from kb_service.documents import queries as document_queries
from kb_service.documents import storage as document_storage
from kb_service.documents import upload as document_upload
from kb_service.documents.actions import ActionName
from kb_service.documents.storage import FileType
from kb_service.documents.upload import Upload, UploadResult
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import KnowledgeBaseDraft
from kb_service.models import Chunk, Document, KnowledgeBase, Transfer
from kb_service.reindex import service as reindex_service
from kb_service.reindex import status as reindex_status
from kb_service.reindex.service import Cutover
from kb_service.reindex.status import State
from kb_service.vector_index.protocol import index_scope
from kb_service.visibility import SYSTEM_VIEWER
from kb_service.work_queue import completion, leases
from kb_service.work_queue.completion import RevisionResult
from tests.fixtures.database.rows import PARSED
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.reindex_steps import (
    KEEP,
    SMALL,
    ask_for,
    check_whole,
    count_chunks,
    decide,
    leave_its_model,
    new_base,
    reindexed,
    row_of,
    rows_of,
    shown_chunk_ids,
    text,
    work_off,
)
from tests.fixtures.knowledge.stored_documents import blocks, edit, reread, upload

pytestmark = pytest.mark.anyio


async def test_searches_see_the_old_passages_until_all_new_ones_are_there(context: WorkerContext):
    kb_id = await new_base(context, "zebra", "okapi")
    old = await shown_chunk_ids(context, kb_id)
    assert await ask_for(context, kb_id, SMALL) == "started"
    await maintain(context, kb_id)
    first, second = await rows_of(context, kb_id)
    assert {first.status, second.status} == {"pending"}
    await ingest(context, first.id)
    async with context.database.reading() as session:
        report = await reindex_status.get_status(session, SYSTEM_VIEWER, await row_of(context, kb_id))
    assert (report.state, report.tally.done, report.tally.left) == (State.RUNNING, 1, 1)
    assert 0 < report.tally.percent < 100
    assert await shown_chunk_ids(context, kb_id) == old
    await ingest(context, second.id)
    new = await shown_chunk_ids(context, kb_id)
    assert len(new) > len(old)
    assert not new & old
    assert (await row_of(context, kb_id)).chunk_size == 40
    await check_whole(context, kb_id)


async def test_settings_that_hold_already_are_no_reason_to_start(context: WorkerContext):
    kb_id = await new_base(context, "zebra")
    assert await ask_for(context, kb_id, KnowledgeBaseDraft(chunk_size=500)) == "unchanged"
    assert await ask_for(context, kb_id, KnowledgeBaseDraft(), force=True) == "started"
    assert await ask_for(context, kb_id, KnowledgeBaseDraft(), force=True) == "unchanged"
    with pytest.raises(ReindexRunning):
        await ask_for(context, kb_id, SMALL)
    await work_off(context, kb_id)
    assert (await row_of(context, kb_id)).generation == 2
    await check_whole(context, kb_id)


async def test_knowledge_base_that_is_being_imported_is_left_alone(context: WorkerContext):
    kb_id = await new_base(context, "zebra")
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, kb_id)
        transfer = Transfer(owner_id=row.owner_id, knowledge_base_id=kb_id, kind="import", source="x")
        work.session.add(transfer)
    with pytest.raises(Conflict):
        await ask_for(context, kb_id, SMALL)


async def test_settings_of_an_empty_knowledge_base_change_at_once(context: WorkerContext):
    kb_id = await new_base(context)
    assert await ask_for(context, kb_id, SMALL) == "applied"
    row = await row_of(context, kb_id)
    assert (row.chunk_size, row.generation, row.target) == (40, 1, None)


async def test_nothing_is_left_of_the_old_generation_when_it_is_not_kept(context: WorkerContext):
    context = replace(context, settings=context.settings.model_copy(update={"reindex_keep_hours": 0}))
    kb_id = await new_base(context, "zebra", "okapi")
    await reindexed(context, kb_id)
    row = await row_of(context, kb_id)
    assert (row.previous, row.retired, row.generation) == (None, [], 2)
    assert await context.spaces.default.index.count(kb_id=kb_id) == 0
    assert await count_chunks(context, kb_id) == len(await shown_chunk_ids(context, kb_id))
    await check_whole(context, kb_id)


async def test_way_back_is_there_at_once_and_leads_forth_again(context: WorkerContext):
    kb_id = await new_base(context, "zebra", "okapi")
    old = await shown_chunk_ids(context, kb_id)
    await reindexed(context, kb_id)
    new = await shown_chunk_ids(context, kb_id)
    for expected, size in ((old, 500), (new, 40)):
        await decide(context, kb_id, reindex_service.roll_back, keep=KEEP)
        assert (await row_of(context, kb_id)).chunk_size == size
        assert await shown_chunk_ids(context, kb_id) == expected
        await check_whole(context, kb_id)
        await maintain_all(context)
        assert await shown_chunk_ids(context, kb_id) == expected


async def test_way_back_makes_what_changed_since_anew(context: WorkerContext):
    kb_id = await new_base(context, "zebra", "okapi")
    await reindexed(context, kb_id)
    okapi, _ = await rows_of(context, kb_id)
    await put(context, okapi, "quagga")
    await ingest(context, okapi.id)
    await decide(context, kb_id, reindex_service.roll_back, keep=KEEP)
    row = await row_of(context, kb_id)
    assert row.target is not None
    assert row.chunk_size == 40
    await work_off(context, kb_id)
    row = await row_of(context, kb_id)
    assert (row.chunk_size, row.generation, row.target) == (500, 1, None)
    await check_whole(context, kb_id)
    assert await texts_with(context, kb_id, "quagga") > 0 == await texts_with(context, kb_id, "okapi")


async def put(context: WorkerContext, document: Document, animal: str) -> None:
    """Replace a document's content, as an upload of the same name does."""
    content = text(animal)
    stored = await document_storage.store_stream(context.store, blocks(content), max_bytes=10**8)
    kind = FileType(document.media_type, document.file_type)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, document.knowledge_base_id)
        upload = Upload(document.name, stored, kind)
        (result,) = await document_upload.apply_uploads(work, SYSTEM_VIEWER, row, [upload])
    assert isinstance(result, UploadResult)
    assert result.outcome == "replaced"


async def texts_with(context: WorkerContext, kb_id: str, word: str) -> int:
    found = await shown_chunk_ids(context, kb_id, word)
    async with context.database.reading() as session:
        query = select(Chunk.content).where(col(Chunk.id).in_(found))
        return sum(word in content for content in (await session.exec(query)).all())


async def test_way_back_closes_when_its_time_is_over(context: WorkerContext):
    kb_id = await new_base(context, "zebra")
    await reindexed(context, kb_id)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(KnowledgeBase, kb_id)
        assert row.previous is not None
        row.previous = {**row.previous, "kept_until": "2020-01-01T00:00:00+00:00"}
    await maintain_all(context)
    row = await row_of(context, kb_id)
    assert (row.previous, row.retired) == (None, [])
    assert await context.spaces.default.index.count(kb_id=kb_id) == 0
    assert await count_chunks(context, kb_id) == len(await shown_chunk_ids(context, kb_id))
    with pytest.raises(NoReindex):
        await decide(context, kb_id, reindex_service.roll_back, keep=KEEP)


async def test_document_that_fails_blocks_the_cut_over_until_a_person_decides(
    context: WorkerContext,
):
    kb_id = await new_base(context, "okapi", "zebra")
    old = await shown_chunk_ids(context, kb_id)
    _, zebra = await rows_of(context, kb_id)
    await context.store.delete(zebra.storage_key)
    await reindexed(context, kb_id)
    assert await shown_chunk_ids(context, kb_id) == old
    row = await row_of(context, kb_id)
    async with context.database.reading() as session:
        report = await reindex_status.get_status(session, SYSTEM_VIEWER, row)
    assert (report.state, report.tally.failed) == (State.BLOCKED, 1)
    assert [(f.name, f.failure and f.failure["reason"]) for f in report.failures] == [("zebra.md", "file_missing")]
    with pytest.raises(ReindexNotReady):
        await decide(context, kb_id, reindex_service.cut_over, keep=KEEP)
    await decide(context, kb_id, reindex_service.cut_over, keep=KEEP, without_failed=True)
    assert await texts_with(context, kb_id, "okapi") > 0 == await texts_with(context, kb_id, "zebra")
    await check_whole(context, kb_id)
    await decide(context, kb_id, reindex_service.roll_back, keep=KEEP)
    assert await shown_chunk_ids(context, kb_id) == old


async def test_cancelled_re_index_leaves_all_as_it_was(context: WorkerContext):
    kb_id = await new_base(context, "okapi", "quagga", "zebra")
    old = await shown_chunk_ids(context, kb_id)
    okapi, quagga, zebra = await rows_of(context, kb_id)
    await context.store.delete(zebra.storage_key)
    assert await ask_for(context, kb_id, SMALL) == "started"
    await maintain(context, kb_id)
    await ingest(context, okapi.id)
    await ingest(context, zebra.id)
    async with unit_of_work(context.database) as work:
        (held,) = await leases.acquire(work, [quagga.id], owner="other", seconds=60)
        locked = await reindex_service.get_for_update(work.session, kb_id)
        assert locked is not None
        await reindex_service.cancel(work, locked)
    async with unit_of_work(context.database) as work:
        outcome = RevisionResult(chunks=[], chunk_count=0, parsed=PARSED)
        lease = leases.lease_from_row(held)
        assert await completion.commit_revisions(work, [(lease, outcome)]) == {held.id: None}
    await maintain(context, kb_id)
    assert {row.status for row in await rows_of(context, kb_id)} == {"completed"}
    assert await shown_chunk_ids(context, kb_id) == old
    assert await context.spaces.default.index.count(kb_id=index_scope(kb_id, 2)) == 0
    assert await count_chunks(context, kb_id) == len(old)
    await check_whole(context, kb_id)
    assert await ask_for(context, kb_id, SMALL) == "started"
    target = (await row_of(context, kb_id)).target
    # What a late worker of the cancelled one writes must not come to be found.
    assert target is not None
    assert target["generation"] == 3


async def test_document_replaced_meanwhile_is_found_at_once_and_after_the_cut_over(
    context: WorkerContext,
):
    kb_id = await new_base(context, "okapi", "zebra")
    assert await ask_for(context, kb_id, SMALL, cutover=Cutover.MANUAL) == "started"
    await work_off(context, kb_id)
    okapi, _ = await rows_of(context, kb_id)
    assert okapi.shadow_revision is not None
    await put(context, okapi, "quagga")
    await ingest(context, okapi.id)
    assert await texts_with(context, kb_id, "quagga") > 0 == await texts_with(context, kb_id, "okapi")
    assert (await reread(context.database, okapi.id)).shadow_revision is None
    await work_off(context, kb_id)
    await decide(context, kb_id, reindex_service.cut_over, keep=KEEP)
    assert await texts_with(context, kb_id, "quagga") > 0 == await texts_with(context, kb_id, "okapi")
    await check_whole(context, kb_id)


async def test_document_that_waits_at_the_cut_over_is_made_for_the_new_settings(
    context: WorkerContext,
):
    kb_id = await new_base(context, "okapi")
    assert await ask_for(context, kb_id, SMALL) == "started"
    await maintain(context, kb_id)
    late = await upload(context, text("zebra"), name="zebra.md", kb_id=kb_id)
    async with unit_of_work(context.database) as work:
        (held,) = await leases.acquire(work, [late.id], owner="other", seconds=60)
    await ingest(context, (await rows_of(context, kb_id))[0].id)
    assert (await row_of(context, kb_id)).generation == 2
    # The worker that had it in hand for the old settings comes too late.
    async with unit_of_work(context.database) as work:
        outcome = RevisionResult(chunks=[], chunk_count=0, parsed=PARSED)
        lease = leases.lease_from_row(held)
        assert await completion.commit_revisions(work, [(lease, outcome)]) == {held.id: None}
    await edit(context.database, late.id, lease_until=None)
    await ingest(context, late.id)
    row = await reread(context.database, late.id)
    assert (row.status, row.generation, row.chunk_count > 2) == ("completed", 2, True)
    await check_whole(context, kb_id)


async def test_end_of_a_try_and_a_cut_over_at_one_moment(context: WorkerContext):
    kb_id = await new_base(context, "okapi")
    assert await ask_for(context, kb_id, SMALL, cutover=Cutover.MANUAL) == "started"
    await work_off(context, kb_id)
    late = await upload(context, text("zebra"), name="zebra.md", kb_id=kb_id)

    async def switch() -> None:
        await asyncio.sleep(0.05)
        async with unit_of_work(context.database) as work:
            locked = await reindex_service.get_for_update(work.session, kb_id)
            assert locked is not None
            await reindex_service.cut_over(work, locked, keep=KEEP)
            await asyncio.sleep(0.3)

    for _ in range(3):
        ended = await asyncio.gather(switch(), ingest(context, late.id), return_exceptions=True)
        if not isinstance(ended[0], ReindexNotReady):
            assert ended == [None, None]
            break
        await work_off(context, kb_id)
    await edit(context.database, late.id, lease_until=None)
    await work_off(context, kb_id)
    assert (await row_of(context, kb_id)).generation == 2
    assert await texts_with(context, kb_id, "zebra")
    await check_whole(context, kb_id)


async def test_cut_over_and_the_end_of_a_re_index_are_told_of_each_document(context: WorkerContext):
    kb_id = await new_base(context, "okapi", "zebra")
    okapi, _ = await rows_of(context, kb_id)
    assert await ask_for(context, kb_id, SMALL) == "started"
    async with unit_of_work(context.database) as work:
        locked = await reindex_service.get_for_update(work.session, kb_id)
        await reindex_service.start_next_documents(work, locked)
    since = utc_now()
    await decide(context, kb_id, reindex_service.cancel)
    async with context.database.reading() as session:
        told = await document_queries.changed_since(session, kb_id, since, limit=10)
    assert {row.status for row in told} == {"completed"}
    assert len(told) == 2
    assert await ask_for(context, kb_id, SMALL, cutover=Cutover.MANUAL) == "started"
    await work_off(context, kb_id)
    late = await upload(context, text("quagga"), name="quagga.md", kb_id=kb_id)
    since = utc_now()
    await decide(context, kb_id, reindex_service.cut_over, keep=KEEP)
    async with context.database.reading() as session:
        told = await document_queries.changed_since(session, kb_id, since, limit=10)
    assert {okapi.id, late.id} <= {row.id for row in told}


async def test_knowledge_base_that_crashes_the_round_holds_up_no_other(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    first, second = sorted([await new_base(context, "okapi"), await new_base(context, "zebra")])
    for kb_id in (first, second):
        assert await ask_for(context, kb_id, SMALL, cutover=Cutover.MANUAL) == "started"
    inner = maintain

    async def crashing(context: WorkerContext, kb_id: str) -> None:
        seen.append(kb_id)
        if len(seen) == 1:
            raise ZeroDivisionError
        await inner(context, kb_id)

    seen: list[str] = []
    monkeypatch.setattr("ingestion.reindex.maintain", crashing)
    await maintain_all(context)
    assert sorted(seen) == [first, second]


async def test_deletion_wins_over_a_re_index(context: WorkerContext):
    kb_id = await new_base(context, "okapi", "zebra")
    await reindexed(context, kb_id, cutover=Cutover.MANUAL)
    okapi, _ = await rows_of(context, kb_id)
    async with unit_of_work(context.database) as work:
        await document_actions.apply_action(work, SYSTEM_VIEWER, ActionName.DELETE, kb_id, okapi.id)
    await erase_document(context, okapi.id)
    index = context.spaces.default.index
    assert await index.count(document_id=okapi.id) == 0
    async with unit_of_work(context.database) as work:
        await knowledge_bases.delete(work, await work.session.get_one(KnowledgeBase, kb_id))
    await erase_knowledge_base(context, kb_id)
    assert await index.count() == await count_chunks(context, kb_id) == 0


async def test_another_model_has_its_points_in_another_index(two_models: WorkerContext):
    settings = two_models.settings.model_copy(update={"reindex_keep_hours": 0})
    context = replace(two_models, settings=settings)
    kb_id = await new_base(context, "okapi", "zebra")
    await leave_its_model(context, kb_id)
    assert (await row_of(context, kb_id)).embedding_model == "second"
    first, other = (space.index for space in context.spaces.values())
    assert await first.count() == 0 < await other.count()
    await check_whole(context, kb_id)


async def test_lost_vectors_are_made_again_from_the_files(context: WorkerContext):
    kb_id = await new_base(context, "zebra", "lion")
    before = len(await shown_chunk_ids(context, kb_id))
    index = context.spaces.default.index
    for row in await rows_of(context, kb_id):
        await index.delete_documents([row.id])
    assert before == 2
    assert await shown_chunk_ids(context, kb_id) == set()
    await reindexed(context, kb_id, KnowledgeBaseDraft(), force=True)
    assert len(await shown_chunk_ids(context, kb_id)) == before
