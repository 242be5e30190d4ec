"""The lease of a transfer, by the database's clock."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import update

from core.db.database import Database
from core.db.types import utc_now
from core.db.unit_of_work import unit_of_work
from kb_service.models import Transfer
from kb_service.transfer import jobs as transfers
from kb_service.transfer.jobs import TransferSpec
from kb_service.work_queue.job_leases import LONGEST_LEASE, JobLease
from tests.fixtures.database.rows import add_knowledge_base

pytestmark = pytest.mark.anyio
AHEAD = timedelta(hours=1)


@pytest.fixture
async def transfer_id(database: Database) -> str:
    async with unit_of_work(database) as work:
        target = await add_knowledge_base(work, enabled=False)
        return (await transfers.create_transfer(work, target, TransferSpec(transfers.COPY, "source", 0, {}))).id


def set_workers_clock(patch: pytest.MonkeyPatch, ahead: timedelta) -> None:
    """What a worker on another machine reads from its own clock."""
    patch.setattr("kb_service.transfer.jobs.utc_now", lambda: utc_now() + ahead)


async def take(database: Database, transfer_id: str, owner: str) -> Transfer | None:
    async with unit_of_work(database) as work:
        return await transfers.LEASES.acquire(work, transfer_id, owner=owner, seconds=60)


async def lease_until(database: Database, transfer_id: str) -> datetime:
    async with database.reading() as session:
        until = (await session.get_one(Transfer, transfer_id)).lease_until
    assert until is not None
    return until


async def waiting(database: Database) -> set[str]:
    async with database.reading() as session:
        return {id_ for id_, _ in await transfers.LEASES.stale(session, timedelta(0))}


async def test_worker_whose_clock_is_ahead_leaves_a_held_transfer_alone(
    database: Database, transfer_id: str, monkeypatch: pytest.MonkeyPatch
):
    assert await take(database, transfer_id, "one") is not None
    set_workers_clock(monkeypatch, AHEAD)
    assert await waiting(database) == set()
    assert await take(database, transfer_id, "two") is None


async def test_lease_of_a_worker_whose_clock_is_ahead_ends_in_time(
    database: Database, transfer_id: str, monkeypatch: pytest.MonkeyPatch
):
    set_workers_clock(monkeypatch, AHEAD)
    row = await take(database, transfer_id, "one")
    assert row is not None
    lease = JobLease.of(row)
    soon = utc_now() + AHEAD / 2
    assert await lease_until(database, transfer_id) < soon
    async with unit_of_work(database) as work:
        assert await transfers.renew(work, lease, seconds=60)
    assert await lease_until(database, transfer_id) < soon
    async with unit_of_work(database) as work:
        await transfers.LEASES.reschedule(work, lease, {}, pause=timedelta(seconds=60))
    assert await lease_until(database, transfer_id) < soon


async def test_lease_from_before_a_clock_was_set_back_holds_nobody_up(database: Database, transfer_id: str):
    assert await take(database, transfer_id, "one") is not None
    async with unit_of_work(database) as work:
        far = utc_now() + LONGEST_LEASE + timedelta(seconds=30)
        await work.session.exec(update(Transfer).values(lease_until=far))
    assert await waiting(database) == {transfer_id}
    assert await take(database, transfer_id, "two") is not None
