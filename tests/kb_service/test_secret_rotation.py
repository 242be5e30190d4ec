"""Secrets of sources that are replaced when they are used."""

import asyncio

import pytest

from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from kb_service.knowledge_sources import secret_rotation
from kb_service.knowledge_sources.credentials import seal, source_vault, unseal
from kb_service.knowledge_sources.secret_rotation import SecretClaim, SecretGone, claim_secret, release_secret
from kb_service.models import KnowledgeSource
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio

TARGET = "imap+tls://example.org:993 https://example.org:443"
NAME = "refresh_token"
VAULT = source_vault(b"k" * 32)


async def add_source(database: Database) -> str:
    async with unit_of_work(database) as work:
        base = await add_knowledge_base(work)
        source = KnowledgeSource(knowledge_base_id=base.id, name="s", connector="imap")
        work.session.add(source)
        await work.session.flush()
    await give(database, source.id, "0")
    return source.id


async def give(database: Database, source_id: str, value: str) -> None:
    """What a person does who gives other credentials."""
    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeSource, source_id)
        row.sealed_credentials = dict(seal(VAULT, TARGET, {"username": "otter", NAME: value}) or {})
        work.session.add(row)


async def stored(database: Database, source_id: str) -> dict[str, str]:
    async with database.reading() as session:
        row = await session.get_one(KnowledgeSource, source_id)
    assert "rotation" not in (row.sealed_credentials or {})
    return unseal(VAULT, row.sealed_credentials, TARGET)


async def claim(database: Database, source_id: str, target: str = TARGET) -> SecretClaim | None:
    async with unit_of_work(database) as work:
        return await claim_secret(work.session, VAULT, source_id, name=NAME, target=target)


async def release(database: Database, claim: SecretClaim, replacement: str | None) -> bool:
    async with unit_of_work(database) as work:
        return await release_secret(work.session, VAULT, claim, replacement)


async def test_each_secret_is_used_once(database: Database):
    source_id = await add_source(database)
    used: list[str] = []

    async def rotate() -> None:
        while (mine := await claim(database, source_id)) is None:  # noqa: ASYNC110 - as workers do it
            await asyncio.sleep(0.01)
        used.append(mine.value)
        await asyncio.sleep(0.01)
        assert await release(database, mine, str(int(mine.value) + 1))

    await asyncio.gather(*(rotate() for _ in range(6)))
    assert used == [*"012345"]
    assert await stored(database, source_id) == {"username": "otter", NAME: "6"}


async def test_secret_of_a_worker_that_is_gone_can_be_used_after_a_while(
    database: Database, monkeypatch: pytest.MonkeyPatch
):
    source_id = await add_source(database)
    monkeypatch.setattr(secret_rotation, "ROTATION_SECONDS", 0.3)
    first = await claim(database, source_id)
    assert first is not None
    assert await claim(database, source_id) is None
    await asyncio.sleep(0.4)
    second = await claim(database, source_id)
    assert second is not None
    # It was only asleep: what it brings is good, and what the other worker brings instead is too late.
    assert await release(database, first, "1")
    assert await claim(database, source_id) is None
    assert not await release(database, second, "2")
    await asyncio.sleep(0.4)
    third = await claim(database, source_id)
    assert third is not None
    assert third.value == "1"
    assert await release(database, third, None)
    assert (await stored(database, source_id))[NAME] == "1"


async def test_secret_that_a_person_gives_meanwhile_stays(database: Database):
    source_id = await add_source(database)
    mine = await claim(database, source_id)
    assert mine is not None
    # Also the very same one: it is theirs.
    await give(database, source_id, "0")
    assert not await release(database, mine, "1")
    assert (await stored(database, source_id))[NAME] == "0"
    with pytest.raises(SecretGone):
        await claim(database, source_id, "imap+tls://example.org:993 https://example.com:443")
