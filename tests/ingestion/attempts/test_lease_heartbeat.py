"""The renewal of a lease while its work goes on."""

import asyncio

import pytest

from core.errors.server import DatabaseUnavailable
from ingestion.attempts.lease_heartbeat import renew_while

pytestmark = pytest.mark.anyio


class Lost(Exception):
    pass


class Lease:
    """A lease whose renewals are noted; ``answers`` are given in turn, the last one for ever."""

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)
        self.renewed = 0
        self.enough = asyncio.Event()
        self.at_renewal = lambda: None

    async def renew(self) -> bool:
        self.renewed += 1
        if self.renewed >= len(self.answers):
            self.enough.set()
        self.at_renewal()
        await asyncio.sleep(0)
        answer = self.answers[min(self.renewed, len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


class Work:
    """Goes on until it is told to end; notes that it was cut off."""

    def __init__(self) -> None:
        self.end = asyncio.Event()
        self.begun = asyncio.Event()
        self.cut = False

    async def run(self) -> str:
        self.begun.set()
        try:
            await self.end.wait()
        except asyncio.CancelledError:
            self.cut = True
            raise
        return "done"


async def test_work_gives_its_result_and_the_lease_is_renewed_meanwhile():
    lease, work = Lease(True, True, True), Work()
    holding = asyncio.create_task(renew_while(work.run(), lease.renew, seconds=0.004, lost=Lost))
    await asyncio.wait_for(lease.enough.wait(), 30)
    work.end.set()
    assert await holding == "done"


async def test_work_is_ended_when_the_lease_is_lost():
    lease, work = Lease(True, False), Work()
    with pytest.raises(Lost):
        await asyncio.wait_for(renew_while(work.run(), lease.renew, seconds=0.004, lost=Lost), 30)
    assert work.cut


async def test_lease_that_ended_with_the_work_is_not_lost():
    lease, work = Lease(False), Work()
    # The work's last transaction gave the lease back while its renewal was on its way.
    lease.at_renewal = work.end.set
    assert await renew_while(work.run(), lease.renew, seconds=0.004, lost=Lost) == "done"
    assert not work.cut


async def test_database_that_does_not_answer_ends_no_work():
    lease, work = Lease(DatabaseUnavailable(), DatabaseUnavailable(), True), Work()
    holding = asyncio.create_task(renew_while(work.run(), lease.renew, seconds=0.004, lost=Lost))
    await asyncio.wait_for(lease.enough.wait(), 30)
    work.end.set()
    assert await holding == "done"


async def test_error_of_the_work_is_the_callers():
    async def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await renew_while(fail(), Lease(True).renew, seconds=20, lost=Lost)


async def test_work_ends_with_who_holds_the_lease():
    work = Work()
    holding = asyncio.create_task(renew_while(work.run(), Lease(True).renew, seconds=20, lost=Lost))
    await work.begun.wait()
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert work.cut
