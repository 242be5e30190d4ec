"""Deletion of a session, whose run is stopped first."""

from sqlmodel import select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, ChatSession
from agents.runs.service import RunService
from agents.sessions import service as sessions
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import RunNotFound
from core.errors.conflicts import ThreadBusy

# A new run may start each time one was stopped.
_ATTEMPTS = 5


async def delete_session(database: Database, runs: RunService, principal: Principal, session_id: str) -> None:
    """Stop the run that holds one of the caller's sessions, then delete the session.

    Accepts session and thread ids. Raises ``ThreadBusy`` if new runs keep starting on it.
    """
    for _ in range(_ATTEMPTS):
        async with database.reading() as session:
            row = await sessions.get(session, principal, session_id)
            run_id = await _active_run(session, row)
        if run_id is not None:
            try:
                await runs.stop(principal, run_id)
            except RunNotFound:
                # Another request deleted the session and its run.
                continue
        try:
            async with unit_of_work(database) as work:
                await sessions.delete(work, await sessions.get(work.session, principal, row.id))
        except ThreadBusy:
            continue
        return
    raise ThreadBusy


async def _active_run(session: AsyncSession, row: ChatSession) -> str | None:
    query = select(AgentRun.run_id).where(AgentRun.id == row.active_run_id)
    return (await session.exec(query)).first()
