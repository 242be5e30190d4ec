"""Transfers of a knowledge base: exact at the target, whole or not at all."""

import errno
import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import func
from sqlmodel import select

from core.auth.models import User
from core.auth.principal import Access
from core.auth.sharing import ShareSpec
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from core.errors.auth import KnowledgeBaseNotFound
from core.errors.conflicts import SettingsChanged
from core.errors.requests import QuotaExceeded
from core.errors.server import EmbeddingModelUnusable, EngineUnavailable, ObjectStoreUnavailable, VectorIndexUnavailable
from ingestion.context import WorkerContext
from ingestion.worker.deletion import erase_knowledge_base
from ingestion.worker.reconciler import OrphanSweep
from kb_service import questions
from kb_service.documents import permissions
from kb_service.documents.permissions import DocumentAclUpdate
from kb_service.embedding_spaces import EmbeddingSpaces
from kb_service.embeddings.catalog import DEFAULT
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.models import Document, DocumentStatus, KnowledgeBase, Question, SplitterName, Transfer
from kb_service.questions import QuestionDraft
from kb_service.transfer import jobs as transfers
from kb_service.transfer.export_source import KnowledgeBaseSource, SourceStores
from kb_service.visibility import SYSTEM_VIEWER, UserViewer
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_knowledge_base, add_user
from tests.fixtures.knowledge.ingest import ingest
from tests.fixtures.knowledge.kb_transfers import (
    begin_copy,
    begin_import,
    chunks_of,
    documents_of,
    export,
    load,
    principal_of,
    replace_part,
    run_and_load,
    search_passages,
    source_of,
    unpack,
)
from tests.fixtures.knowledge.stored_documents import edit, reread, upload

pytestmark = pytest.mark.anyio


def english(*animals: str) -> str:
    return "\n\n".join(
        f"# Part {number}\n\nThe {animal} sleeps at noon. It hunts in the {place} when the moon is "
        f"up. Nobody has counted the {animal}s of the {place}."
        for number, (animal, place) in enumerate(itertools.product(animals, ["river", "desert", "forest"]))
    )


def chinese(*animals: str) -> str:
    return "\n\n".join(
        f"# 第{number}章\n\n{animal}在中午睡觉。月亮升起时它在{place}里捕食。没有人数过{place}里有多少{animal}。"
        for number, (animal, place) in enumerate(itertools.product(animals, ["河流", "沙漠", "森林"]))
    )


TEXTS = {
    "en.md": english("zebra", "lion", "otter", "heron"),
    "zh.md": chinese("斑马", "狮子", "水獭", "苍鹭"),
    "mixed.md": english("badger", "falcon") + "\n\n" + chinese("刺猬", "猎鹰"),
}
# The same texts in several places: their order must not be the index's choice.
REPEATED = TEXTS | {f"{n}.md": english("otter") + "\n\n" + chinese("斑马") for n in range(4)}
# No more windows than a leg has hits: behind those the index chooses among equal ones.
FEW = {"en.md": english("zebra", "otter"), "zh.md": chinese("斑马", "水獭"), "0.md": english("otter")}
QUERIES = (
    "When does the otter hunt in the desert?",
    "zebra river",
    "水獭什么时候在沙漠捕食？",
    "斑马",
)


async def filled(context: WorkerContext, texts: Mapping[str, str] = TEXTS, **fields: Any) -> str:
    """A knowledge base with indexed documents in both languages and saved questions."""
    async with unit_of_work(context.database) as work:
        row = await add_knowledge_base(work, chunk_size=64, chunk_overlap=8, **fields)
        expected = [{"document": "en.md", "text": "hunts in the desert"}, {"document": "zh.md"}]
        await questions.add_questions(work, SYSTEM_VIEWER, row, [QuestionDraft("When?", expected)])
    for name, text in texts.items():
        document = await upload(context, text.encode(), name=name, kb_id=row.id)
        await ingest(context, document.id)
        assert (await reread(context.database, document.id)).status == DocumentStatus.COMPLETED
    return row.id


async def count(context: WorkerContext, table: type[Any]) -> int:
    async with context.database.reading() as session:
        return (await session.exec(select(func.count()).select_from(table))).one()


async def check_equal(context: WorkerContext, source_id: str, target_id: str) -> None:
    """Check that two knowledge bases can't be told apart by what they find or export."""
    for query in QUERIES:
        expected = await search_passages(context, source_id, query)
        assert expected
        assert await search_passages(context, target_id, query) == expected
    one, other = [unpack(await export(context, id_)) for id_ in (source_id, target_id)]
    assert one.keys() == other.keys()
    assert [name for name in one if one[name] != other[name]] in ([], ["manifest.json"])
    manifests = [json.loads(parts["manifest.json"]) for parts in (one, other)]
    for manifest in manifests:
        manifest["knowledge_base"].pop("name")
    assert manifests[0] == manifests[1]


@one_database
@pytest.mark.parametrize("splitter", list(SplitterName))
async def test_import_finds_what_the_source_finds_to_the_last_bit(context: WorkerContext, splitter: SplitterName):
    texts = FEW if splitter is SplitterName.LLAMA_INDEX_SENTENCE_WINDOWS else REPEATED
    kb_id = await filled(context, texts, splitter=splitter.value)
    transfer = await run_and_load(context, await begin_import(context, await export(context, kb_id)))
    assert (transfer.status, transfer.progress, transfer.failure) == ("completed", 100, None)
    assert transfer.facts["embeds_anew"] is False
    await check_equal(context, kb_id, transfer.knowledge_base_id)
    row, original = [await load(context, id_) for id_ in (transfer.knowledge_base_id, kb_id)]
    assert row.enabled
    assert not row.is_public
    assert (row.name, row.splitter, row.chunk_size) == (original.name, splitter, 64)
    assert await context.store.keys() != []
    assert transfer.source not in await context.store.keys()


async def test_copy_finds_what_the_source_finds_to_the_last_bit(context: WorkerContext):
    kb_id = await filled(context, REPEATED)
    transfer = await run_and_load(context, await begin_copy(context, kb_id))
    assert transfer.status == "completed"
    await check_equal(context, kb_id, transfer.knowledge_base_id)
    # Their files are their own: one may go without the other.
    keys = {row.storage_key for id_ in (kb_id, transfer.knowledge_base_id) for row in await documents_of(context, id_)}
    assert len(keys) == 2 * len(REPEATED)
    assert keys == set(await context.store.keys())


async def test_edited_and_disabled_chunks_and_attributes_travel(context: WorkerContext):
    kb_id = await filled(context)
    (first, *_) = sorted(await chunks_of(context, kb_id), key=lambda chunk: chunk.id)
    async with unit_of_work(context.database) as work:
        row = await work.session.merge(first)
        row.content, row.enabled, row.version = "Edited by hand. 手工修改。", False, 3
    (english, *_) = await documents_of(context, kb_id)
    await edit(context.database, english.id, attributes={"year": 2024, "tags": ["a", "乙"]})
    transfer = await run_and_load(context, await begin_import(context, await export(context, kb_id)))
    copies = await chunks_of(context, transfer.knowledge_base_id)
    (copy,) = [chunk for chunk in copies if not chunk.enabled]
    assert (copy.content, copy.version, copy.position) == (
        "Edited by hand. 手工修改。",
        3,
        first.position,
    )
    (document, *_) = await documents_of(context, transfer.knowledge_base_id)
    assert document.attributes == {"year": 2024, "tags": ["a", "乙"]}


async def test_documents_that_are_not_indexed_travel_in_their_state(context: WorkerContext):
    kb_id = await filled(context)
    waiting = await upload(context, b"# W\n\nwaits", name="waiting.md", kb_id=kb_id)
    failed = await upload(context, b"# F\n\nfails", name="failed.md", kb_id=kb_id)
    failure = {"reason": "corrupt_file", "message": "It is broken"}
    await edit(context.database, failed.id, status="failed", failure=failure)
    newer = (await documents_of(context, kb_id))[0]
    await edit(context.database, newer.id, status="pending", revision=2, superseded_keys=["x"])
    transfer = await run_and_load(context, await begin_import(context, await export(context, kb_id)))
    rows = {row.name: row for row in await documents_of(context, transfer.knowledge_base_id)}
    assert (rows["waiting.md"].status, rows["waiting.md"].active_revision) == ("pending", None)
    assert (rows["failed.md"].status, rows["failed.md"].failure) == ("failed", failure)
    changed_row = rows[newer.name]
    assert (changed_row.status, changed_row.revision, changed_row.active_revision) == (
        "pending",
        2,
        1,
    )
    for name in ("waiting.md", newer.name):
        await ingest(context, rows[name].id)
        assert (await reread(context.database, rows[name].id)).status == "completed"
    assert waiting.id != rows["waiting.md"].id


class Failing:
    """A vector index that fails at its n-th write, as one whose process dies does."""

    def __init__(self, index: Any, at: int) -> None:
        self._index, self._left = index, at

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    async def upsert(self, points: Any) -> None:
        self._left -= 1
        if self._left == 0:
            await self._index.upsert(points[: len(points) // 2])
            raise VectorIndexUnavailable(reason="cut off")
        await self._index.upsert(points)


def with_index(context: WorkerContext, index: Any) -> WorkerContext:
    space = context.spaces.default
    return replace(context, spaces=EmbeddingSpaces([replace(space, index=index)]))


@pytest.mark.parametrize("kind", ["import", "copy"])
async def test_transfer_that_was_cut_off_goes_on_without_doubles(
    context: WorkerContext, kind: str, monkeypatch: pytest.MonkeyPatch
):
    # One document at a time, so that there is something to be between.
    monkeypatch.setattr("ingestion.transfer_restore.SHARD_DOCUMENTS", 1)
    kb_id = await filled(context)
    content = await export(context, kb_id)
    for at in (1, 2, 3):
        begin = begin_import(context, content) if kind == "import" else begin_copy(context, kb_id)
        transfer = await begin
        broken = with_index(context, Failing(context.spaces.default.index, at))
        cut = await run_and_load(broken, transfer)
        assert (cut.status, cut.failure and cut.failure["reason"]) == (
            "pending",
            "vector_index_unavailable",
        )
        # What is not whole is not shown, and no sweep takes it for lost.
        await OrphanSweep(context).run()
        rows = await documents_of(context, cut.knowledge_base_id)
        assert [row.status for row in rows].count("completed") == at - 1
        assert not (await load(context, cut.knowledge_base_id)).enabled
        async with unit_of_work(context.database) as work:
            (await work.session.get_one(Transfer, cut.id)).lease_until = None
        done = await run_and_load(context, cut)
        assert (done.status, done.attempt) == ("completed", 1)
        await check_equal(context, kb_id, done.knowledge_base_id)
        points = [await context.spaces.default.index.count(kb_id=id_) for id_ in (kb_id, cut.knowledge_base_id)]
        assert points[0] == points[1] > 0
        assert len(await chunks_of(context, kb_id)) == len(await chunks_of(context, cut.knowledge_base_id))


class Away:
    """A store that answers nothing but an error."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, _: str) -> Any:
        def fail(*_args: object, **_options: object) -> None:
            raise self._error

        return fail


def without_model(context: WorkerContext) -> WorkerContext:
    """A worker whose settings do not name the built-in model."""
    space = context.spaces.default
    return replace(context, spaces=EmbeddingSpaces([replace(space, model=replace(space.model, name="x"))]))


OUTAGES = [
    (without_model, "embedding_model_not_configured", DEFAULT.name),
    (
        lambda context: replace(context, store=Away(ObjectStoreUnavailable())),
        "object_store_unavailable",
        "storage of the files",
    ),
    (
        lambda context: with_index(context, Away(EmbeddingModelUnusable(model=DEFAULT.name))),
        "embedding_model_not_loaded",
        DEFAULT.name,
    ),
    (
        lambda context: with_index(context, Away(EngineUnavailable())),
        "engine_unavailable",
        "engine",
    ),
    (
        lambda context: replace(context, store=Away(OSError(errno.ENOSPC, "no room"))),
        "storage_full",
        "full",
    ),
    (
        lambda context: replace(context, store=Away(ConnectionResetError())),
        "service_unavailable",
        "part of the server",
    ),
]


@one_database
@pytest.mark.parametrize("kind", ["import", "copy"])
@pytest.mark.parametrize(("broken", "reason", "named"), OUTAGES, ids=[row[1] for row in OUTAGES])
async def test_transfer_that_waits_names_what_is_away(
    context: WorkerContext,
    kind: str,
    broken: Callable[[WorkerContext], WorkerContext],
    reason: str,
    named: str,
):
    kb_id = await filled(context)
    if kind == "import":
        transfer = await begin_import(context, await export(context, kb_id))
    else:
        transfer = await begin_copy(context, kb_id)
    waiting = await run_and_load(broken(context), transfer)
    assert (waiting.status, waiting.attempt) == ("pending", 0)
    assert waiting.failure is not None
    assert waiting.failure["reason"] == reason
    assert named in waiting.failure["message"]
    assert all(waiting.failure[key] for key in ("message_zh", "next_action", "next_action_zh"))
    # What is imported is not there yet to be re-indexed.
    is_told_to_import_anew = "import the file again" in waiting.failure["next_action"]
    assert is_told_to_import_anew == (kind == "import" and broken is without_model)


@one_database
async def test_worker_that_fails_after_another_took_over_leaves_the_file(
    context: WorkerContext, monkeypatch: pytest.MonkeyPatch
):
    transfer = await begin_import(context, await export(context, await filled(context)))

    async def overtaken(*_: object) -> None:
        async with unit_of_work(context.database) as work:
            row = await work.session.get_one(Transfer, transfer.id)
            row.attempt, row.lease_owner, row.lease_until = 2, "worker-2", None
        raise QuotaExceeded

    with monkeypatch.context() as patch:
        patch.setattr("ingestion.transfer._transfer", overtaken)
        assert (await run_and_load(context, transfer)).status == "processing"
    assert (await run_and_load(context, transfer)).status == "completed"


async def test_copy_whose_source_shrank_between_tries_has_no_points_left_over(
    context: WorkerContext,
):
    kb_id = await filled(context)
    cut = await run_and_load(
        with_index(context, Failing(context.spaces.default.index, 1)),
        await begin_copy(context, kb_id),
    )
    row = (await documents_of(context, kb_id))[0]
    await replace_content(context, row.id, b"# New\n\nAll new.")
    async with unit_of_work(context.database) as work:
        (await work.session.get_one(Transfer, cut.id)).lease_until = None
    done = await run_and_load(context, cut)
    assert done.status == "completed"
    await check_equal(context, kb_id, done.knowledge_base_id)
    index = context.spaces.default.index
    points = [await index.count(kb_id=id_) for id_ in (kb_id, done.knowledge_base_id)]
    assert points[0] == points[1] > 0


async def replace_content(context: WorkerContext, document_id: str, content: bytes) -> None:
    """Give a document other bytes and index them."""
    row = await reread(context.database, document_id)
    fresh = await upload(context, content, name="fresh.md")
    await edit(
        context.database,
        row.id,
        status="pending",
        revision=row.revision + 1,
        storage_key=fresh.storage_key,
        file_size=len(content),
        sha256=fresh.sha256,
        superseded_keys=[row.storage_key],
    )
    await ingest(context, row.id)


async def test_damaged_vector_fails_the_import_and_leaves_nothing(context: WorkerContext):
    kb_id = await filled(context)
    before = await context.spaces.default.index.count()
    content = await export(context, kb_id)
    # The last number of the last shard becomes none, after two documents could be restored.
    nan = b"\x00\x00\xc0\x7f"
    bad = replace_part(content, "shards/000000/dense.npy", lambda array: array[:-4] + nan)
    transfer = await run_and_load(context, await begin_import(context, bad))
    assert transfer.status == "failed"
    assert transfer.failure is not None
    assert (transfer.failure["reason"], transfer.failure["message"]) == (
        "invalid_archive",
        "points: a vector is not finite",
    )
    await erase_knowledge_base(context, transfer.knowledge_base_id)
    assert await count(context, KnowledgeBase) == 1
    assert await count(context, Document) == 3
    assert await count(context, Question) == 1
    assert await context.spaces.default.index.count() == before
    assert len(await context.store.keys()) == 3


@pytest.mark.parametrize("who", ["cancelled", "knowledge base deleted"])
async def test_transfer_that_is_ended_by_a_person_leaves_nothing(context: WorkerContext, who: str):
    kb_id = await filled(context)
    before = await context.spaces.default.index.count()
    transfer = await begin_copy(context, kb_id)
    cut = await run_and_load(with_index(context, Failing(context.spaces.default.index, 1)), transfer)
    assert len(await documents_of(context, cut.knowledge_base_id)) == 3
    async with unit_of_work(context.database) as work:
        if who == "cancelled":
            await transfers.cancel(work, await work.session.get_one(Transfer, cut.id))
        else:
            row = await work.session.get_one(KnowledgeBase, cut.knowledge_base_id)
            await knowledge_bases.delete(work, row)
            (await work.session.get_one(Transfer, cut.id)).lease_until = None
    ended = await run_and_load(context, cut)
    assert ended.status == "cancelled"
    await erase_knowledge_base(context, cut.knowledge_base_id)
    assert await count(context, KnowledgeBase) == 1
    assert await count(context, Document) == 3
    assert await context.spaces.default.index.count() == before


async def test_file_that_waits_for_its_import_is_not_swept(context: WorkerContext):
    kb_id = await filled(context)
    transfer = await begin_import(context, await export(context, kb_id))
    sweep = OrphanSweep(context)
    assert await sweep.run() == (0, 0)
    assert await sweep.run() == (0, 0)
    assert transfer.source in await context.store.keys()


async def test_copy_whose_source_outgrew_the_quota_ends_and_leaves_nothing(context: WorkerContext):
    kb_id = await filled(context)
    transfer = await begin_copy(context, kb_id)
    size = transfer.original_bytes
    assert size == sum(row.file_size for row in await documents_of(context, kb_id))
    await upload(context, b"x" * size, name="grown.md", kb_id=kb_id)
    limited = replace(context, settings=context.settings.model_copy(update={"user_quota_bytes": 3 * size}))
    failed = await run_and_load(limited, transfer)
    assert failed.failure
    assert (failed.status, failed.failure["reason"]) == ("failed", "quota_exceeded")
    assert await documents_of(context, transfer.knowledge_base_id) == []


async def test_copy_of_what_became_private_fails(context: WorkerContext):
    kb_id = await filled(context, is_public=True)
    async with unit_of_work(context.database) as work:
        reader = await add_user(work)
    transfer = await begin_copy(context, kb_id, owner=reader)
    async with unit_of_work(context.database) as work:
        (await work.session.get_one(KnowledgeBase, kb_id)).is_public = False
    failed = await run_and_load(context, transfer)
    assert (failed.status, failed.failure and failed.failure["reason"]) == ("failed", "source_gone")


async def test_worker_that_dies_again_and_again_ends_the_transfer(context: WorkerContext):
    kb_id = await filled(context)
    transfer = await begin_copy(context, kb_id)
    async with unit_of_work(context.database) as work:
        row = await work.session.get_one(Transfer, transfer.id)
        row.attempt = context.settings.ingest_attempts
    failed = await run_and_load(context, transfer)
    assert (failed.status, failed.failure and failed.failure["reason"]) == ("failed", "poison")


async def test_model_that_is_not_served_here_is_embedded_anew(context: WorkerContext):
    kb_id = await filled(context)
    content = await export(context, kb_id)
    elsewhere = replace_part(
        content,
        "manifest.json",
        lambda text: text.replace(DEFAULT.name.encode(), b"text-embedding-3-small"),
    )
    transfer = await run_and_load(context, await begin_import(context, elsewhere))
    assert (transfer.status, transfer.facts["embeds_anew"]) == ("completed", True)
    rows = await documents_of(context, transfer.knowledge_base_id)
    assert [row.status for row in rows] == ["pending"] * 3
    for row in rows:
        await ingest(context, row.id)
    assert (await load(context, transfer.knowledge_base_id)).embedding_model == DEFAULT.name
    for query in QUERIES:
        expected = await search_passages(context, kb_id, query)
        assert await search_passages(context, transfer.knowledge_base_id, query) == expected


async def test_document_that_is_replaced_while_it_is_read_comes_whole(context: WorkerContext):
    kb_id = await filled(context)
    rows = await documents_of(context, kb_id)
    source = source_of(context, await load(context, kb_id))
    seen: dict[str, tuple[str, bytes]] = {}
    contents = source.contents()
    async for content in contents:
        if not seen:
            # While the first is read, the second is replaced and the third deleted.
            await replace_content(context, rows[1].id, b"# New\n\nAll new.")
            await edit(context.database, rows[2].id, deleted_at=utc_now())
        original = b"".join([block async for block in content.original])
        seen[content.entry.name] = (" ".join(chunk.content for chunk in content.chunks), original)
        assert {point.chunk for point in content.points} == set(range(len(content.chunks)))
    assert list(seen) == [rows[0].name, rows[1].name]
    text, original = seen[rows[1].name]
    assert "All new." in text
    assert original == b"# New\n\nAll new."


async def test_cut_over_to_another_generation_ends_the_reading(context: WorkerContext):
    kb_id = await filled(context)
    source = source_of(context, await load(context, kb_id))
    contents = source.contents()
    await anext(contents)
    async with unit_of_work(context.database) as work:
        (await work.session.get_one(KnowledgeBase, kb_id)).generation = 2
    with pytest.raises(SettingsChanged):
        await anext(contents)
    await contents.aclose()


@one_database
async def test_reading_ends_when_the_knowledge_base_is_not_the_readers_any_more(
    context: WorkerContext,
):
    kb_id = await filled(context, is_public=True)
    stores = SourceStores(context.database, context.store, context.spaces)
    source = KnowledgeBaseSource(stores, UserViewer("somebody"), await load(context, kb_id))
    contents = source.contents()
    await anext(contents)
    async with unit_of_work(context.database) as work:
        (await work.session.get_one(KnowledgeBase, kb_id)).is_public = False
    with pytest.raises(KnowledgeBaseNotFound):
        await anext(contents)
    await contents.aclose()
    with pytest.raises(KnowledgeBaseNotFound):
        await source.questions()


@one_database
async def test_copy_that_goes_on_keeps_what_its_owner_said_meanwhile_of_who_reads(
    context: WorkerContext,
):
    kb_id = await filled(context)
    async with unit_of_work(context.database) as work:
        reader = await add_user(work)
        owner = await work.session.get_one(User, (await load(context, kb_id)).owner_id)
        wanted = DocumentAclUpdate([ShareSpec(Access.READ, user_id=reader.id)])
        for row in (await documents_of(context, kb_id))[:2]:
            await permissions.restrict(work, principal_of(owner), kb_id, row.id, wanted)
    broken = with_index(context, Failing(context.spaces.default.index, 1))
    cut = await run_and_load(broken, await begin_copy(context, kb_id))
    copied = (
        cut.knowledge_base_id,
        [row.id for row in await documents_of(context, cut.knowledge_base_id)],
    )
    async with unit_of_work(context.database) as work:
        await permissions.restrict(work, principal_of(owner), copied[0], copied[1][0], DocumentAclUpdate([]))
        (await work.session.get_one(Transfer, cut.id)).lease_until = None
    assert (await run_and_load(context, cut)).status == "completed"
    async with context.database.reading() as session:
        lists = [
            await permissions.get_acl(session, principal_of(owner), copied[0], document_id) for document_id in copied[1]
        ]
    named = [[one.user.id for one in each.readers if one.user] for each in lists]
    assert ([each.restricted for each in lists], named) == (
        [True, True, False],
        [[], [reader.id], []],
    )
