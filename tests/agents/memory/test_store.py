"""Memories in SQL on both databases: duplicates, limits, ownership."""

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.memory import store
from agents.memory.models import MemorySource
from agents.memory.store import MemoryDraft
from agents.memory.text import text_digest
from core.auth.principal import Principal
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.unit_of_work import unit_of_work
from core.errors.auth import MemoryNotFound
from core.errors.conflicts import Conflict, MemoryFull
from core.errors.requests import InvalidRequest
from tests.agents.memory.helpers import memories_of, remember, texts_of
from tests.agents.runs.helpers import register

pytestmark = pytest.mark.anyio

FACTS = ("I am Ada.", "i am ada", "我住在里昂", "我住在里昂。", "Ｉ ａｍ Ａｄａ", "b", "c", "d")
STEPS = st.lists(st.tuples(st.sampled_from(["save", "delete", "change"]), st.sampled_from(FACTS)), max_size=14)


@pytest.fixture
async def principal(database: Database) -> Principal:
    return await register(database)


async def save(database: Database, owner: Principal, text: str, *, most: int = 50):
    async with unit_of_work(database) as work:
        return await store.save(work, owner.user_id, MemoryDraft(text), most=most)


async def test_same_text_is_remembered_once(database: Database, principal: Principal):
    first = await save(database, principal, "I am Ada.")
    second = await save(database, principal, " i am  ADA ")

    assert (first.is_new, second.is_new) == (True, False)
    assert second.row.id == first.row.id
    assert await texts_of(database, principal.user_id) == ["I am Ada."]


async def test_same_text_of_two_people_is_two_memories(database: Database, principal: Principal):
    other = await register(database)
    first = await save(database, principal, "I am Ada.")
    second = await save(database, other, "I am Ada.")

    assert second.is_new
    assert second.row.id != first.row.id


async def test_text_that_comes_many_times_at_once_is_remembered_once(database: Database, principal: Principal):
    made = await asyncio.gather(*(save(database, principal, "I am Ada.") for _ in range(8)))

    assert [one.is_new for one in made].count(True) == 1
    assert len({one.row.id for one in made}) == 1


async def test_last_place_is_given_once_when_many_come_at_once(database: Database, principal: Principal):
    await save(database, principal, "first", most=3)
    coming = (save(database, principal, f"fact {n}", most=3) for n in range(6))
    made = await asyncio.gather(*coming, return_exceptions=True)

    assert [type(one) for one in made if isinstance(one, Exception)] == [MemoryFull] * 4
    assert len(await texts_of(database, principal.user_id)) == 3


async def test_known_text_is_no_error_when_there_is_no_room(database: Database, principal: Principal):
    await save(database, principal, "first", most=1)

    assert not (await save(database, principal, "First", most=1)).is_new
    with pytest.raises(MemoryFull) as error:
        await save(database, principal, "second", most=1)
    assert error.value.details == {"limit": 1}


async def test_change_makes_it_the_users_own_and_searchable_anew(database: Database, principal: Principal):
    draft = MemoryDraft("I live in Paris", MemorySource.DISTILLED, "run-1")
    memories = memories_of(database)
    row = (await memories.remember(principal.user_id, draft)).row
    assert await memories.search(principal.user_id, "Where do I live?")
    async with unit_of_work(database) as work:
        changed = await store.update(work, principal.user_id, row.id, text="I live in Lyon")

    assert (changed.text, changed.source, changed.run_id) == ("I live in Lyon", "user", "run-1")
    assert changed.vector is None
    assert changed.updated_at > row.created_at
    (found,) = await memories.search(principal.user_id, "Lyon")
    assert found.memory.text == "I live in Lyon"


async def test_change_into_what_another_memory_says_is_refused(database: Database, principal: Principal):
    memories = memories_of(database)
    first, second = await remember(memories, principal.user_id, "one", "two")
    with pytest.raises(Conflict) as error:
        async with unit_of_work(database) as work:
            await store.update(work, principal.user_id, second, text="ONE")
    assert error.value.details["memory_id"] == first
    with pytest.raises(InvalidRequest):
        async with unit_of_work(database) as work:
            await store.update(work, principal.user_id, second, text="  ")
    assert await texts_of(database, principal.user_id) == ["one", "two"]
    async with unit_of_work(database) as work:
        same = await store.update(work, principal.user_id, second, text="Two")
    assert same.text == "Two"


async def test_memory_is_not_there_for_anybody_else(database: Database, principal: Principal):
    memories, other = memories_of(database), await register(database)
    (mine,) = await remember(memories, principal.user_id, "The vault is behind the picture.")
    theirs = other.user_id

    assert await memories.search(theirs, "Where is the vault?") == []
    async with database.reading() as session:
        assert (await store.list_page(session, theirs, PageRequest(sort_by="updated_at"))).total == 0
        assert await store.list_all(session, theirs) == []
        with pytest.raises(MemoryNotFound):
            await store.get(session, theirs, mine)
    async with unit_of_work(database) as work:
        with pytest.raises(MemoryNotFound):
            await store.update(work, theirs, mine, text="mine now")
        with pytest.raises(MemoryNotFound):
            await store.delete(work, theirs, mine)
        assert await store.delete_all(work, theirs) == 0
    assert await texts_of(database, principal.user_id) == ["The vault is behind the picture."]


async def play(database: Database, owner: Principal, steps: Sequence[tuple[str, str]]) -> None:
    """Saves, changes and deletes, beside a model of what must be there."""
    model: dict[str, str] = {}
    ids: dict[str, str] = {}
    most = 4
    for step, text in steps:
        digest = text_digest(text)
        try:
            async with unit_of_work(database) as work:
                if step == "save":
                    row = (await store.save(work, owner.user_id, MemoryDraft(text), most=most)).row
                    assert digest in model or len(model) < most
                    model.setdefault(digest, text)
                    ids[digest] = row.id
                elif step == "delete" and digest in ids:
                    await store.delete(work, owner.user_id, ids.pop(digest))
                    del model[digest]
                elif step == "change" and ids:
                    before, id_ = next(iter(ids.items()))
                    await store.update(work, owner.user_id, id_, text=text)
                    del model[before], ids[before]
                    model[digest], ids[digest] = text, id_
        except MemoryFull:
            assert digest not in model
            assert len(model) == most
        except Conflict:
            assert digest in model
        assert sorted(await texts_of(database, owner.user_id)) == sorted(model.values())


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_any_order_keeps_texts_distinct_and_within_the_limit(database_url: str, steps):
    async def run() -> None:
        database = Database(database_url)
        try:
            await play(database, await register(database), steps)
        finally:
            await database.close()

    asyncio.run(run())
