"""Leases: a part of the work that one process does at a time."""

from datetime import timedelta

from sqlalchemy import update
from sqlmodel import col

from core.db.database import Database
from core.db.insert import insert_into
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork, unit_of_work
from rules.models import RuleLease


async def acquire(work: UnitOfWork, name: str, driver: str, *, seconds: float) -> bool:
    """Take or renew a lease; False while another process holds it."""
    now = await database_now(work.session)
    until = now + timedelta(seconds=seconds)
    new = insert_into(work.session, RuleLease).values(name=name, driver=driver, until=until)
    new = new.on_conflict_do_nothing(index_elements=["name"])
    if (await work.session.exec(new)).rowcount:
        return True
    is_mine = (col(RuleLease.driver) == driver) | (col(RuleLease.until) < now)
    # A clock that was set back must not keep a dead process's lease for long.
    is_absurd = col(RuleLease.until) > now + timedelta(seconds=2 * seconds)
    renewal = update(RuleLease).where(col(RuleLease.name) == name, is_mine | is_absurd)
    return (await work.session.exec(renewal.values(driver=driver, until=until))).rowcount > 0


async def release(database: Database, driver: str) -> None:
    """Give up all leases of a process, for the next one to take at once."""
    async with unit_of_work(database) as work:
        mine = update(RuleLease).where(col(RuleLease.driver) == driver)
        await work.session.exec(mine.values(until=await database_now(work.session)))
