"""The audit log: written with the act, searched, and trimmed by age."""

from contextlib import suppress
from datetime import timedelta

import pytest
from sqlmodel import select

from core.audit.context import Actor, AuditOrigin, acting_as, use_origin
from core.audit.log import AuditAction, AuditTarget, audit
from core.audit.models import AuditEntry
from core.audit.queries import AuditFilter, delete_older, iterate_batches, list_page
from core.db.database import Database
from core.db.pagination import PageRequest
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work

pytestmark = pytest.mark.anyio
ANN = Actor("0" * 36, "ann")


async def entries(database: Database) -> list[AuditEntry]:
    async with database.reading() as session:
        return list((await session.exec(select(AuditEntry))).all())


async def test_act_is_noted_with_its_origin_and_only_if_it_is_committed(database: Database):
    with use_origin(AuditOrigin("request-1", "203.0.113.9")), acting_as(ANN):
        async with unit_of_work(database) as work:
            target = AuditTarget("api_key", "key-1")
            audit(work.session, AuditAction.API_KEY_CREATED, target, details={"api_key": "sk-x"})
        with suppress(RuntimeError):
            async with unit_of_work(database) as work:
                audit(work.session, AuditAction.API_KEY_REVOKED)
                raise RuntimeError
    (row,) = await entries(database)
    seen = (row.action, row.actor_id, row.actor_name, row.object_type, row.object_id)
    assert seen == ("api_key.created", ANN.user_id, "ann", "api_key", "key-1")
    assert (row.request_id, row.address) == ("request-1", "203.0.113.9")
    assert row.details == {"api_key": "[redacted]"}


async def test_only_an_address_is_noted_as_one(database: Database):
    for address in ("x" * 300, "203.0.113.9, 10.0.0.1", f"fe80::1%{'e' * 300}", "::1"):
        async with unit_of_work(database) as work:
            with use_origin(AuditOrigin("request", address)):
                audit(work.session, AuditAction.LOGIN_FAILED)
    noted = {row.address for row in await entries(database)}
    assert noted == {"", f"fe80::1%{'e' * 92}", "::1"}


async def test_named_actor_counts_more_than_the_caller(database: Database):
    async with unit_of_work(database) as work:
        audit(work.session, AuditAction.LOGIN_FAILED)
        audit(work.session, AuditAction.LOGIN_SUCCEEDED, actor=ANN)
    names = {row.action: (row.actor_id, row.actor_name) for row in await entries(database)}
    assert names == {"login.failed": (None, ""), "login.succeeded": (ANN.user_id, "ann")}


async def add_old(database: Database, *days: int, **fields: str) -> None:
    async with unit_of_work(database) as work:
        for age in days:
            moment = utc_now() - timedelta(days=age)
            work.session.add(AuditEntry(created_at=moment, action="login.failed", **fields))


async def test_old_entries_are_forgotten_and_nothing_else(database: Database):
    await add_old(database, *([40] * 600), 29)
    assert await delete_older(database, days=0) == 0
    assert await delete_older(database, days=30) == 600
    assert len(await entries(database)) == 1


async def test_walk_gives_every_entry_once_the_newest_first(database: Database):
    await add_old(database, *([3] * 700), 1, 2)
    found = [row async for rows in iterate_batches(database, AuditFilter()) for row in rows]
    assert len({row.id for row in found}) == 702
    moments = [row.created_at for row in found]
    assert moments == sorted(moments, reverse=True)


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        (AuditFilter(), 3),
        (AuditFilter(text="100%_"), 1),
        (AuditFilter(text="LOGIN"), 3),
        (AuditFilter(actions=("login.failed",), actor="ann"), 1),
        (AuditFilter(actions=("config.changed",)), 0),
        (AuditFilter(object_type="user", object_id="u-1"), 1),
        (AuditFilter(since=utc_now() - timedelta(hours=36)), 2),
        (AuditFilter(until=utc_now() - timedelta(hours=36)), 1),
    ],
)
async def test_filters_give_what_was_asked_for(database: Database, wanted: AuditFilter, count: int):
    await add_old(database, 0, actor_name="ann", object_name="100%_sure")
    await add_old(database, 1, object_type="user", object_id="u-1")
    await add_old(database, 2, object_name="100 sure")
    async with database.reading() as session:
        listing = await list_page(session, wanted, PageRequest())
    assert (listing.total, len(listing.items)) == (count, count)
