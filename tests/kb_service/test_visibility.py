"""Restricted documents in searches and lists, compared with a filter by hand."""

import random
from collections.abc import Sequence

import pytest
from sqlalchemy import insert
from sqlmodel import col, select

from core.auth.models import Role, User
from core.auth.principal import Access
from core.auth.sharing import ShareSpec
from core.db.pagination import PageRequest
from core.db.types import new_id
from core.db.unit_of_work import unit_of_work
from core.errors.auth import DocumentNotFound
from core.errors.requests import InvalidRequest
from ingestion.context import WorkerContext
from kb_service import visibility
from kb_service.documents import chunks, permissions
from kb_service.documents import progress as document_progress
from kb_service.documents import queries as document_queries
from kb_service.documents.chunks import ReadScope as Reading
from kb_service.models import Chunk, Document, KnowledgeBase
from kb_service.retrieval.request import RetrievalOptions
from kb_service.retrieval.results import SearchResult
from kb_service.vector_index.protocol import ChunkPoint
from kb_service.visibility import SYSTEM_VIEWER, UserViewer, Viewer
from tests.fixtures.database.databases import one_database
from tests.fixtures.database.rows import add_document, add_knowledge_base, add_user
from tests.fixtures.knowledge.kb_transfers import principal_of
from tests.kb_service.retrieval.test_retrieval_options import SearchableKb

pytestmark = pytest.mark.anyio

WORDS = ("zebra", "okapi", "lion", "heron", "otter", "sleeps", "hunts", "noon", "midnight", "river")
QUERIES = ("When does the zebra sleep?", "okapi midnight river", "the heron hunts at noon")
CHOICES = (
    RetrievalOptions(top_k=100),
    RetrievalOptions(top_k=3),
    RetrievalOptions(top_k=5, dense_weight=0),
    RetrievalOptions(top_k=5, rerank=False, deduplicate=False),
)
DOCUMENTS = 12
ROUNDS = 2


@pytest.fixture
async def searchable_kb(context: WorkerContext) -> SearchableKb:
    async with unit_of_work(context.database) as work:
        row = await add_knowledge_base(work, is_public=True)
    made, chance = SearchableKb(context, row.id), random.Random(11)
    for number in range(DOCUMENTS):
        text = " ".join(chance.choices(WORDS, k=8))
        await made.put(f"{number:02}.md", f"# Note {number}\n\nThe {text}.")
    return made


async def person(context: WorkerContext, role: str = "user") -> User:
    async with unit_of_work(context.database) as work:
        user = await add_user(work)
        found = select(Role.id).where(Role.name == role)
        user.role_id = (await work.session.exec(found)).one()
        work.session.add(user)
        return user


async def owner_of(searchable_kb: SearchableKb) -> User:
    async with searchable_kb.context.database.reading() as session:
        return await session.get_one(User, (await searchable_kb.row()).owner_id)


async def restrict(searchable_kb: SearchableKb, name: str, wanted: Sequence[ShareSpec] | None) -> None:
    """Restrict a document to these; None: open it."""
    owner, ids = principal_of(await owner_of(searchable_kb)), (searchable_kb.kb_id, searchable_kb.ids[name])
    async with unit_of_work(searchable_kb.context.database) as work:
        if wanted is None:
            await permissions.unrestrict(work, owner, *ids)
        else:
            await permissions.restrict(work, owner, *ids, permissions.DocumentAclUpdate(wanted))


async def twin_of(searchable_kb: SearchableKb, names: set[str]) -> KnowledgeBase:
    """Another knowledge base with copies of these documents and nothing else."""
    database, index = searchable_kb.context.database, searchable_kb.context.spaces.default.index
    points: list[ChunkPoint] = []
    async with unit_of_work(database) as work:
        base = await add_knowledge_base(work)
        for name in names:
            row = (await work.session.get_one(Document, searchable_kb.ids[name])).model_dump()
            query = select(Chunk).where(col(Chunk.document_id) == row["id"])
            parts = (await work.session.exec(query)).all()
            new = {"id": new_id(), "knowledge_base_id": base.id, "restricted": False}
            await work.session.exec(insert(Document), params=[row | new])
            ids = {one.id: new_id() for one in parts}
            for one in parts:
                own = {"id": ids[one.id], "document_id": new["id"], "knowledge_base_id": base.id}
                await work.session.exec(insert(Chunk), params=[one.model_dump() | own])
            points += [
                ChunkPoint(
                    id=ids[one.id],
                    kb_id=base.id,
                    document_id=str(new["id"]),
                    revision=one.revision,
                    index=one.index,
                    dense=one.dense,
                    sparse=one.sparse,
                )
                for one in await index.points(row["id"], row["revision"])
            ]
    if points:
        await index.upsert(points)
    return base


async def search(
    searchable_kb: SearchableKb, reader: Viewer, base: KnowledgeBase, query: str, options: RetrievalOptions
) -> SearchResult:
    request = searchable_kb.searcher.resolve([base], query, options)
    return await searchable_kb.searcher.search(reader, [base], request, explain=True)


def passages_of(result: SearchResult) -> list[tuple[str, str, float]]:
    passages = result.passages
    return [(one.document_name, one.chunk.content, round(one.hit.score, 5)) for one in passages]


async def test_search_is_that_of_a_knowledge_base_without_what_is_hidden(searchable_kb: SearchableKb):
    context, chance = searchable_kb.context, random.Random(5)
    people = [await person(context), await person(context, "developer"), await person(context)]
    owner = await owner_of(searchable_kb)
    for _ in range(ROUNDS):
        readable = {one.id: set(searchable_kb.ids) for one in people}
        for name in searchable_kb.ids:
            listed = None if chance.random() < 0.4 else chance.sample(people, chance.randrange(3))
            by_role = chance.random() < 0.3
            if listed is None:
                await restrict(searchable_kb, name, None)
                continue
            wanted = [ShareSpec(Access.READ, user_id=one.id) for one in listed]
            if by_role:
                wanted.append(ShareSpec(Access.READ, role="developer"))
            await restrict(searchable_kb, name, wanted)
            admitted = {one.id for one in listed} | {one.id for one in people[1:2] if by_role}
            for one in people:
                if one.id not in admitted:
                    readable[one.id].discard(name)
        base = await searchable_kb.row()
        for reader, names in [*readable.items(), (owner.id, set(searchable_kb.ids))]:
            await check(searchable_kb, base, UserViewer(reader), names)


async def check(searchable_kb: SearchableKb, base: KnowledgeBase, reader: Viewer, names: set[str]) -> None:
    twin = await twin_of(searchable_kb, names)
    for query in QUERIES:
        for options in CHOICES:
            found = await search(searchable_kb, reader, base, query, options)
            alone = await search(searchable_kb, SYSTEM_VIEWER, twin, query, options)
            assert passages_of(found) == passages_of(alone)
            assert {one.document_id for one in found.dropped} <= {searchable_kb.ids[n] for n in names}
    async with searchable_kb.context.database.reading() as session:
        listing = await document_queries.list_documents(session, reader, base.id, PageRequest(size=100))
        assert ({one.name for one in listing.items}, listing.total) == (names, len(names))
        assert (await visibility.count_documents(session, reader, [base])).get(base.id, 0) == len(names)
        progress = await document_progress.get_progress(session, reader, base)
        assert sum(progress.counts.values()) == len(names)
        hidden = await visibility.hidden_document_ids(session, [base], reader)
        assert hidden == {id_ for name, id_ in searchable_kb.ids.items() if name not in names}
        for name in searchable_kb.ids:
            place = Reading([base.id], reader)
            try:
                await chunks.read_span(session, place, name, start=0, end=10)
                assert name in names
            except DocumentNotFound:
                assert name not in names


@one_database
async def test_search_is_refused_when_more_is_hidden_than_it_can_name(
    searchable_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(visibility, "MOST_HIDDEN", 2)
    reader, owner = await person(searchable_kb.context), await owner_of(searchable_kb)
    for count, name in enumerate(("01.md", "02.md", "03.md"), start=1):
        await restrict(searchable_kb, name, [])
        row = await searchable_kb.row()
        assert len((await search(searchable_kb, UserViewer(owner.id), row, QUERIES[0], CHOICES[0])).passages)
        if count < 3:
            await search(searchable_kb, UserViewer(reader.id), row, QUERIES[0], CHOICES[0])
    with pytest.raises(InvalidRequest):
        await search(searchable_kb, UserViewer(reader.id), row, QUERIES[0], CHOICES[0])


async def test_first_restriction_and_the_last_possible_one_leave_all_else_to_be_found(
    searchable_kb: SearchableKb, monkeypatch: pytest.MonkeyPatch
):
    """A run holds the rows that it began with for as long as it takes."""
    monkeypatch.setattr(permissions, "MOST_RESTRICTED", 50)
    stale, reader = await searchable_kb.row(), await person(searchable_kb.context)
    before = await search(searchable_kb, UserViewer(reader.id), stale, QUERIES[0], CHOICES[0])
    assert len(before.passages) == DOCUMENTS
    await restrict(searchable_kb, "03.md", [])
    first = await add_document(searchable_kb.context.database, knowledge_base_id=searchable_kb.kb_id, restricted=True)
    async with unit_of_work(searchable_kb.context.database) as work:
        fields = (await work.session.get_one(Document, first)).model_dump()
        rows = [{**fields, "id": new_id()} for _ in range(permissions.MOST_RESTRICTED - 2)]
        await work.session.exec(insert(Document), params=rows)
    found = await search(searchable_kb, UserViewer(reader.id), stale, QUERIES[0], CHOICES[0])
    names = {one.document_name for one in found.passages}
    assert names == {*searchable_kb.ids} - {"03.md"}
    with pytest.raises(InvalidRequest):
        await restrict(searchable_kb, "04.md", [])
    await restrict(searchable_kb, "03.md", [ShareSpec(Access.READ, role="viewer")])
    await restrict(searchable_kb, "03.md", None)
    await restrict(searchable_kb, "04.md", [])
