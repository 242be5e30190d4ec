"""The unit of work: all or nothing, its jobs with it, times in UTC."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from sqlalchemy import func, text
from sqlalchemy.exc import IntegrityError, StatementError
from sqlmodel import select

from core.auth.models import Role, StoredSigningKey
from core.db.database import Database
from core.db.outbox import OutboxJob
from core.db.types import new_id, utc_now
from core.db.unit_of_work import unit_of_work

pytestmark = pytest.mark.anyio


def role(name: str = "tester") -> Role:
    return Role(name=name, display_name=name, permissions=["kb:view"])


async def count(database: Database, table: type[Role | OutboxJob | StoredSigningKey]) -> int:
    async with database.reading() as session:
        return (await session.exec(select(func.count()).select_from(table))).one()


async def test_rows_and_jobs_are_committed_together_and_then_pushed(database: Database):
    seen: list[tuple[int, int]] = []

    async def push(jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        seen.append((len(jobs), await count(database, Role)))

    async with unit_of_work(database, push) as work:
        work.session.add(role())
        work.enqueue("document.erase", {"document_id": "d", "n": 1}, key="k")
        assert seen == []
    assert seen == [(1, 1)]
    async with database.reading() as session:
        job = (await session.exec(select(OutboxJob))).one()
    assert (job.name, job.key, job.payload) == (
        "document.erase",
        "k",
        {"document_id": "d", "n": 1},
    )


async def test_exception_keeps_neither_row_nor_job_and_pushes_nothing(database: Database):
    pushed: list[object] = []

    async def push(jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        pushed.extend(jobs)

    async def fail() -> None:
        async with unit_of_work(database, push) as work:
            work.session.add(role())
            work.enqueue("document.erase", {}, key="k")
            await work.session.flush()
            raise LookupError

    with pytest.raises(LookupError):
        await fail()
    assert pushed == []
    assert await count(database, Role) == await count(database, OutboxJob) == 0


async def test_cancelled_work_keeps_nothing(database: Database):
    entered = asyncio.Event()

    async def write() -> None:
        async with unit_of_work(database) as work:
            work.session.add(role())
            await work.session.flush()
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(write())
    await entered.wait()
    task.cancel()
    await asyncio.wait({task})
    assert await count(database, Role) == 0
    async with unit_of_work(database) as work:
        work.session.add(role())
    assert await count(database, Role) == 1


async def test_broken_constraint_at_the_commit_reaches_the_caller_and_pushes_nothing(
    database: Database,
):
    async with unit_of_work(database) as work:
        work.session.add(role())
    pushed: list[object] = []

    async def push(jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        pushed.extend(jobs)

    async def collide() -> None:
        async with unit_of_work(database, push) as work:
            work.enqueue("document.erase", {}, key="k")
            work.session.add(role())

    with pytest.raises(IntegrityError):
        await collide()
    assert pushed == []
    assert await count(database, OutboxJob) == 0


async def test_workers_are_woken_after_the_commit_and_nothing_is_written_for_it(
    database: Database,
):
    seen: list[tuple[int, bool, int]] = []

    async def push(jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        seen.append((len(jobs), wake, await count(database, Role)))

    async with unit_of_work(database, push) as work:
        work.session.add(role())
        work.wake_workers()
    assert seen == [(0, True, 1)]
    assert await count(database, OutboxJob) == 0


async def test_work_without_jobs_pushes_nothing(database: Database):
    async def push(jobs: Sequence[OutboxJob], *, wake: bool) -> None:
        raise AssertionError

    async with unit_of_work(database, push) as work:
        work.session.add(role())
    assert await count(database, Role) == 1


async def test_many_writers_at_once_all_come_through(database: Database):
    async def write(number: int) -> None:
        async with unit_of_work(database) as work:
            work.session.add(role(f"role-{number}"))

    await asyncio.gather(*(write(number) for number in range(20)))
    assert await count(database, Role) == 20


async def test_reader_sees_no_half_of_a_transaction(database: Database):
    async with unit_of_work(database) as work:
        work.session.add(role())
        await work.session.flush()
        assert await count(database, Role) == 0
    assert await count(database, Role) == 1


def key_row(moment: datetime) -> StoredSigningKey:
    return StoredSigningKey(id=new_id(), sealed_private_pem="x", public_pem="y", created_at=moment)


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=8)), timezone(timedelta(hours=-11))])
async def test_moment_comes_back_in_utc_to_the_microsecond(database: Database, zone: timezone):
    moment = datetime(2026, 2, 3, 23, 59, 59, 123456, tzinfo=zone)
    async with unit_of_work(database) as work:
        work.session.add(key_row(moment))
    async with database.reading() as session:
        row = (await session.exec(select(StoredSigningKey))).one()
    assert row.created_at == moment
    assert row.created_at.tzinfo is UTC or row.created_at.utcoffset() == timedelta(0)
    assert row.retired_at is None


async def test_moments_of_different_zones_compare_by_time(database: Database):
    now = utc_now()
    async with unit_of_work(database) as work:
        work.session.add(key_row(now.astimezone(timezone(timedelta(hours=14)))))
    later = StoredSigningKey.created_at < now + timedelta(seconds=1)
    earlier = StoredSigningKey.created_at > now.astimezone(timezone(timedelta(hours=-9)))
    async with database.reading() as session:
        assert len((await session.exec(select(StoredSigningKey).where(later))).all()) == 1
        assert len((await session.exec(select(StoredSigningKey).where(earlier))).all()) == 0


async def test_moment_without_a_zone_is_refused(database: Database):
    with pytest.raises((StatementError, ValueError), match="without a zone"):
        async with unit_of_work(database) as work:
            work.session.add(key_row(datetime(2026, 2, 3)))  # noqa: DTZ001 - that is the point


async def test_database_closes_behind_sessions_that_are_about_to_end(database_url: str):
    database = Database(database_url)
    begun = asyncio.Event()

    async def read() -> None:
        async with database.reading() as session:
            begun.set()
            await asyncio.sleep(0.1)
            await (await session.connection()).execute(text("SELECT 1"))

    reading = asyncio.create_task(read())
    await begun.wait()
    await database.close()
    assert reading.done()
    await reading
