"""Deletion of a session, whose run is stopped first."""

from collections.abc import Sequence

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.models import AgentRun, ChatSession
from agents.runs.service import RunService
from agents.sessions import service as sessions
from agents.sessions.branches import list_branches
from core.auth.principal import Principal
from core.db.database import Database
from core.db.unit_of_work import unit_of_work
from core.errors.auth import RunNotFound
from core.errors.conflicts import ThreadBusy

# A new run may start each time one was stopped.
_ATTEMPTS = 5


async def delete_session(
    database: Database, runs: RunService, principal: Principal, session_id: str, *, only_branch: bool = False
) -> None:
    """Stop the runs that hold one of the caller's sessions and its branches, then delete all of them.

    Accepts session and thread ids; with ``only_branch`` the other branches stay. Raises ``ThreadBusy`` if new runs
    keep starting.
    """
    row_id = ""
    for _ in range(_ATTEMPTS):
        async with database.reading() as session:
            row = await sessions.get(session, principal, row_id or session_id)
            row_id = row.id
            run_ids = await _active_runs(session, await _doomed(session, row, only_branch=only_branch))
        try:
            for run_id in run_ids:
                await runs.stop(principal, run_id)
        except RunNotFound:
            # Another request deleted the session and its run.
            continue
        try:
            async with unit_of_work(database) as work:
                row = await sessions.get(work.session, principal, row_id)
                await sessions.delete(work, await _doomed(work.session, row, only_branch=only_branch))
        except ThreadBusy:
            continue
        return
    raise ThreadBusy


async def _doomed(session: AsyncSession, row: ChatSession, *, only_branch: bool) -> Sequence[ChatSession]:
    return [row] if only_branch else await list_branches(session, row)


async def _active_runs(session: AsyncSession, rows: Sequence[ChatSession]) -> Sequence[str]:
    query = select(AgentRun.run_id).where(col(AgentRun.id).in_([row.active_run_id for row in rows]))
    return (await session.exec(query)).all()
