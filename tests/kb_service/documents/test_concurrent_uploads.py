"""Concurrent uploads on both databases: names, revisions and the quota."""

import asyncio
import random
from collections import Counter

import pytest
from sqlmodel import col, select

from core.db.database import Database
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors.conflicts import DocumentNameTaken
from core.errors.requests import QuotaExceeded
from kb_service.documents import actions as document_actions
from kb_service.documents import quota as document_quota
from kb_service.documents import upload as document_upload
from kb_service.documents.actions import ActionName
from kb_service.documents.storage import FileType, StoredFile
from kb_service.documents.upload import OnConflict, Upload, UploadRefusal, UploadResult
from kb_service.models import Document, KnowledgeBase
from kb_service.visibility import SYSTEM_VIEWER
from tests.fixtures.database.rows import add_knowledge_base
from tests.fixtures.knowledge.stored_documents import edit

pytestmark = pytest.mark.anyio
KIND = FileType("text/markdown", "markdown")


@pytest.fixture
async def base(database: Database) -> KnowledgeBase:
    async with unit_of_work(database) as work:
        return await add_knowledge_base(work)


def upload(name: str, digest: str, *, size: int = 10, **fields: object) -> Upload:
    return Upload(name, StoredFile(new_id(), size, digest), KIND, **fields)  # pyright: ignore[reportArgumentType]


async def take_in(database: Database, base: KnowledgeBase, sent: Upload, *, quota: int = 0) -> UploadResult:
    async with unit_of_work(database) as work:
        (result,) = await document_upload.apply_uploads(work, SYSTEM_VIEWER, base, [sent], quota_bytes=quota)
        if not isinstance(result, UploadResult):
            raise result
        return result


async def rows(database: Database) -> list[Document]:
    async with database.reading() as session:
        return list((await session.exec(select(Document).order_by(col(Document.name)))).all())


async def test_twenty_uploads_of_two_files_make_one_document(database: Database, base: KnowledgeBase):
    sent = [upload("a.md", digest) for digest in "ab" * 10]
    taken = await asyncio.gather(*(take_in(database, base, one) for one in sent))
    [row] = await rows(database)
    assert {one.document.id for one in taken} == {row.id}
    # However they interleave, each change of bytes is a revision and nothing else is.
    outcomes = Counter(one.outcome.value for one in taken)
    assert outcomes["created"] == 1
    assert row.revision == 1 + outcomes["replaced"]
    kept = {row.storage_key, *row.superseded_keys}
    spare = {key for one in taken for key in one.spare_keys}
    assert {one.file.storage_key for one in sent} - spare <= kept


async def test_keeping_both_at_once_gives_each_a_name(database: Database, base: KnowledgeBase):
    sent = [upload("a.md", str(number), on_conflict=OnConflict.KEEP_BOTH) for number in range(8)]
    await asyncio.gather(*(take_in(database, base, one) for one in sent))
    names = {row.name for row in await rows(database)}
    assert names == {"a.md", *(f"a ({number}).md" for number in range(2, 9))}


async def test_file_that_searches_need_is_kept_and_one_between_is_not(database: Database, base: KnowledgeBase):
    first = upload("a.md", "1", size=100)
    document = (await take_in(database, base, first)).document
    await edit(database, document.id, status="completed", active_revision=1)
    second = await take_in(database, base, upload("a.md", "2", size=10))
    assert second.spare_keys == ()
    third = await take_in(database, base, upload("a.md", "3", size=10))
    assert third.spare_keys == (second.document.storage_key,)
    [row] = await rows(database)
    assert (row.revision, row.superseded_keys) == (3, [first.file.storage_key])
    async with database.reading() as session:
        storage = await document_quota.storage_usage(session, base.owner_id)
    assert (storage.used_bytes, storage.documents) == (110, 1)


async def test_parallel_uploads_do_not_pass_the_quota(database: Database, base: KnowledgeBase):
    sent = [upload(f"{number}.md", str(number)) for number in range(10)]
    results = await asyncio.gather(*(take_in(database, base, one, quota=45) for one in sent), return_exceptions=True)
    refused = [one for one in results if isinstance(one, QuotaExceeded)]
    assert (len(refused), len(await rows(database))) == (6, 4)
    assert refused[0].details["limit_bytes"] == 45


async def test_deleted_documents_make_room(database: Database, base: KnowledgeBase):
    document = (await take_in(database, base, upload("a.md", "1", size=40), quota=45)).document
    with pytest.raises(QuotaExceeded):
        await take_in(database, base, upload("b.md", "2"), quota=45)
    same = await take_in(database, base, upload("a.md", "1", size=40), quota=45)
    assert same.outcome == "unchanged"
    async with unit_of_work(database) as work:
        await document_actions.apply_action(work, SYSTEM_VIEWER, ActionName.DELETE, base.id, document.id)
    assert (await take_in(database, base, upload("b.md", "2"), quota=45)).outcome == "created"


@pytest.mark.parametrize("seed", range(12))
async def test_a_batch_leads_to_what_its_files_would_lead_to_one_by_one(database: Database, seed: int):
    chance = random.Random(seed)
    before = [upload(name, "1", size=chance.randint(1, 20)) for name in ("a.md", "b.md")]
    quota = chance.choice([0, 40, 80])
    sent = [
        upload(
            chance.choice(["a.md", "b.md", "c.md"]),
            chance.choice("123"),
            size=chance.randint(1, 20),
            on_conflict=chance.choice(list(OnConflict)),
        )
        for _ in range(10)
    ]
    ends: list[tuple[object, ...]] = []
    for is_together in (False, True):
        async with unit_of_work(database) as work:
            base = await add_knowledge_base(work)
        for one in before:
            document = (await take_in(database, base, one)).document
            await edit(database, document.id, active_revision=1, status="completed")
        taken = await (take_together if is_together else take_one_by_one)(database, base, sent, quota)
        kept = [row for row in await rows(database) if row.knowledge_base_id == base.id]
        ends.append((taken, [standing(row) for row in kept]))
    assert ends[0] == ends[1]


async def take_one_by_one(
    database: Database, base: KnowledgeBase, sent: list[Upload], quota: int
) -> list[tuple[object, ...]]:
    taken: list[tuple[object, ...]] = []
    for one in sent:
        try:
            taken.append(outcome_of(await take_in(database, base, one, quota=quota)))
        except (DocumentNameTaken, QuotaExceeded) as error:
            taken.append(outcome_of(error))
    return taken


async def take_together(
    database: Database, base: KnowledgeBase, sent: list[Upload], quota: int
) -> list[tuple[object, ...]]:
    async with unit_of_work(database) as work:
        taken = await document_upload.apply_uploads(work, SYSTEM_VIEWER, base, sent, quota_bytes=quota)
    return [outcome_of(one) for one in taken]


def outcome_of(one: UploadResult | UploadRefusal) -> tuple[object, ...]:
    if isinstance(one, UploadResult):
        return one.document.name, one.outcome, tuple(one.spare_keys)
    return type(one), one.details.get("used_bytes")


def standing(row: Document) -> tuple[object, ...]:
    kept = (row.storage_key, tuple(row.superseded_keys), row.superseded_bytes)
    return row.name, row.sha256, row.file_size, row.revision, row.status, kept
