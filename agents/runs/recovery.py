"""Recovery of runs whose process is gone, by another process."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import TypeAdapter
from sqlalchemy import update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.transcript import Transcript
from agents.events import WireEvent
from agents.journal import Effect
from agents.llm_registry.selection import ModelRef
from agents.models import AgentRun, RunStatus
from agents.run_request import RunRequest
from agents.runs import journal_store, store, task_logs
from agents.runs.store import StartedRun
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork

MOST_TAKEOVERS = 3
_REQUESTS = TypeAdapter(RunRequest)


@dataclass(frozen=True)
class RecoverableRun:
    """A run with everything needed to continue it.

    Args:
        request: Of the task's first run.
        own_events: The journal's count including the last event.
        answered: Keys of finished tool calls whose result is in no event yet.
        model: The model that answered at the start.
        before: Work of the task's earlier runs that is in none of their messages.
        follow_ups: Of the task's later runs, those that brought messages beside answers; in order.
    """

    run: StartedRun
    request: RunRequest
    knowledge_base_ids: tuple[str, ...]
    past: tuple[Effect, ...]
    logged: tuple[WireEvent, ...]
    own_events: int
    answered: frozenset[str]
    model: ModelRef
    before: Transcript
    follow_ups: tuple[RunRequest, ...] = ()

    @property
    def had_skills(self) -> bool:
        """Whether it uses skills, or one waits to be loaded, even if they are gone now."""
        return any(effect.outcome.keys() & {"skill", "skill_note"} for effect in self.past)


async def find_lost(session: AsyncSession) -> Sequence[str]:
    """Keys of the running runs whose lease has expired."""
    now = await database_now(session)
    query = select(AgentRun.id).where(AgentRun.status == RunStatus.RUNNING.value, col(AgentRun.lease_until) < now)
    return (await session.exec(query)).all()


async def acquire(work: UnitOfWork, run_key: str, *, driver: str, seconds: float) -> bool:
    """Take over the lease of a lost run; False to close the run, or if another process was quicker.

    Refuses a run that was asked to stop, is older than its journal, or was taken over so often that
    it may be the cause of its drivers' end.
    """
    now = await database_now(work.session)
    statement = (
        update(AgentRun)
        .where(
            col(AgentRun.id) == run_key,
            col(AgentRun.status) == RunStatus.RUNNING.value,
            col(AgentRun.lease_until) < now,
            col(AgentRun.stop_requested_at).is_(None),
            col(AgentRun.task_id) != "",
            col(AgentRun.takeovers) < MOST_TAKEOVERS,
        )
        .values(lease_owner=driver, lease_until=now + timedelta(seconds=seconds), takeovers=AgentRun.takeovers + 1)
        .execution_options(synchronize_session=False)
    )
    return (await work.session.exec(statement)).rowcount > 0


async def load(session: AsyncSession, run_key: str) -> RecoverableRun:
    """All that is needed to go on with a run."""
    run = await session.get_one(AgentRun, run_key)
    task = run if run.task_id == run.id else await session.get_one(AgentRun, run.task_id)
    request = _REQUESTS.validate_python(task.request["input"])
    follow_ups = await _follow_ups(session, run)
    if task is not run:
        # A weaker API key that answers, or wrote beside an answer, must not gain the task's permissions.
        others = (_REQUESTS.validate_python(run.request["input"]), *follow_ups)
        request = replace(request, lacking=(*request.lacking, *(name for other in others for name in other.lacking)))
    past = await journal_store.read(session, run.task_id)
    logged = await event_log.read_all(session, run_key)
    answered = await task_logs.answered_call_ids(session, run)
    calls = {effect.key for effect in past if effect.status == "done" and effect.key.startswith("call:")}
    begun = await store.load_started(session, run, request)
    return RecoverableRun(
        begun,
        request,
        tuple(TypeAdapter(list[str]).validate_python(task.request["knowledge_base_ids"])),
        tuple(past),
        tuple(logged),
        run.own_events,
        frozenset(key for key in calls if key.removeprefix("call:") not in answered),
        ModelRef(run.model_id, run.model),
        await task_logs.transcript_before(session, run),
        follow_ups,
    )


async def _follow_ups(session: AsyncSession, run: AgentRun) -> tuple[RunRequest, ...]:
    if run.task_id == run.id:
        return ()
    query = select(AgentRun).where(
        # By thread, because a task has no index.
        AgentRun.session_id == run.session_id,
        AgentRun.task_id == run.task_id,
        col(AgentRun.id) != run.task_id,
    )
    rows = (await session.exec(query.order_by(col(AgentRun.created_at), col(AgentRun.id)))).all()
    requests = [_REQUESTS.validate_python(row.request["input"]) for row in rows]
    return tuple(request for request in requests if request.follow_ups)
