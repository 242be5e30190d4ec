"""Sharing of a knowledge base while its owner changes."""

import asyncio
from collections.abc import Awaitable, Callable

import anyio
import pytest
from sqlalchemy import text
from sqlmodel import select

from core.auth.models import Share
from core.auth.principal import Access, Action, Principal
from core.auth.sharing import ShareSpec
from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from core.errors.auth import KnowledgeBaseNotFound
from kb_service.knowledge_bases import service as knowledge_bases
from kb_service.knowledge_bases.service import get_for_update, replace_shares
from kb_service.models import KnowledgeBase
from tests.fixtures.database.rows import add_knowledge_base, add_user

pytestmark = pytest.mark.anyio
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


async def _share(work: UnitOfWork, owner: Principal, kb_id: str) -> None:
    await replace_shares(work, owner, kb_id, [ShareSpec(Access.READ, role="viewer")])


async def _delete(work: UnitOfWork, owner: Principal, kb_id: str) -> None:
    row = await get_for_update(work.session, owner, kb_id, Action.MANAGE)
    await knowledge_bases.delete(work, row)


async def _is_waited(database: Database) -> None:
    with anyio.fail_after(20):
        while True:
            async with database.reading() as session:
                if (await (await session.connection()).execute(text(WAITING))).scalar():
                    return


@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
@pytest.mark.parametrize("act", [_share, _delete])
@pytest.mark.parametrize("is_deleted", [False, True])
async def test_former_owner_who_waited_for_the_lock_decides_nothing(
    database: Database,
    act: Callable[[UnitOfWork, Principal, str], Awaitable[None]],
    is_deleted: bool,
):
    async with unit_of_work(database) as work:
        heir, base = await add_user(work), await add_knowledge_base(work)
        kb_id, owner = base.id, Principal(base.owner_id, "owner", "user", frozenset())

    async def wait_and_act() -> None:
        async with unit_of_work(database) as work:
            await act(work, owner, kb_id)

    async with unit_of_work(database) as work:
        row = await work.session.get_one(KnowledgeBase, kb_id, with_for_update=True)
        waiting = asyncio.create_task(wait_and_act())
        await _is_waited(database)
        row.owner_id = heir.id
        row.deleted_at = utc_now() if is_deleted else None
        work.session.add(row)
    with pytest.raises(KnowledgeBaseNotFound):
        await waiting
    async with database.reading() as session:
        assert (await session.exec(select(Share))).all() == []
        assert ((await session.get_one(KnowledgeBase, kb_id)).deleted_at is not None) == is_deleted
