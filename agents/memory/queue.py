"""Queue of completed runs to distill: SQL rows with leases."""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import JsonValue
from sqlalchemy import ColumnElement, delete, func, update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents.llm_registry.selection import ModelRef
from agents.memory.models import Distillation
from agents.models import AgentRun, ChatMessage, RunStatus
from core.auth.authentication import principal_for_user
from core.auth.permissions import Permission
from core.auth.users import get_memory_choices
from core.db.now import database_now
from core.db.unit_of_work import UnitOfWork
from core.errors.auth import AccountDisabled, InvalidToken
from core.json_access import as_list, as_object


@dataclass(frozen=True)
class DistillJob:
    """A leased run; ``holder`` is unique for each lease."""

    run_key: str
    holder: str
    attempts: int


@dataclass(frozen=True)
class UserUtterances:
    """What a run's owner wrote in it, oldest first."""

    owner_id: str
    run_id: str
    messages: tuple[str, ...]
    model: ModelRef


async def enqueue(session: AsyncSession, run: AgentRun) -> None:
    """Queue a completed run in the transaction that ends it, if its owner wants that."""
    if run.status != RunStatus.COMPLETED.value:
        return
    if not (await get_memory_choices(session, run.owner_id)).remember_after_runs:
        return
    if await session.get(Distillation, run.id) is None:
        session.add(Distillation(run_key=run.id))


async def has_free(session: AsyncSession) -> bool:
    """Whether a run waits; polled often, so without a lock."""
    now = await database_now(session)
    free = select(Distillation.run_key).where(col(Distillation.lease_until) <= now).limit(1)
    return (await session.exec(free)).first() is not None


async def claim(work: UnitOfWork, holder: str, *, seconds: float) -> DistillJob | None:
    """Lease the next waiting run; None if there is none."""
    now = await database_now(work.session)
    free = (
        select(Distillation)
        .where(col(Distillation.lease_until) <= now)
        .order_by(col(Distillation.lease_until))
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    row = (await work.session.exec(free)).first()
    if row is None:
        return None
    row.lease_owner, row.lease_until = holder, now + timedelta(seconds=seconds)
    row.attempts += 1
    work.session.add(row)
    return DistillJob(row.run_key, holder, row.attempts)


async def load_utterances(session: AsyncSession, job: DistillJob) -> UserUtterances | None:
    """What the owner wrote; None if the run is gone, or the owner or a permission no longer allows distilling it."""
    run = await session.get(AgentRun, job.run_key)
    if run is None or not await _may_remember(session, run):
        return None
    theirs = select(ChatMessage.content).where(ChatMessage.session_id == run.session_id, ChatMessage.role == "user")
    own = theirs.where(ChatMessage.run_id == run.run_id).order_by(col(ChatMessage.position))
    messages = (await session.exec(own)).all()
    if not messages:
        # Asked again after a run that failed: the question is that run's.
        of_run = (ChatMessage.session_id == run.session_id, ChatMessage.run_id == run.run_id)
        answered = select(func.min(col(ChatMessage.position))).where(*of_run).scalar_subquery()
        earlier = theirs.where(col(ChatMessage.position) < answered)
        last = earlier.order_by(col(ChatMessage.position).desc()).limit(1)
        messages = (await session.exec(last)).all()
    model = ModelRef(run.model_id, run.model)
    return UserUtterances(run.owner_id, run.run_id, tuple(messages), model)


async def _may_remember(session: AsyncSession, run: AgentRun) -> bool:
    if not (await get_memory_choices(session, run.owner_id)).remember_after_runs:
        return False
    try:
        owner = await principal_for_user(session, run.owner_id)
    except (AccountDisabled, InvalidToken):
        return False
    lacking = [*owner.lacking, *_lacking(run)]
    if run.task_id not in {"", run.id}:
        # Who answers does not give more leave than the task had that waited.
        task = await session.get(AgentRun, run.task_id)
        lacking += [Permission.MEMORY_WRITE] if task is None else _lacking(task)
    return Permission.MEMORY_WRITE not in lacking


def _lacking(run: AgentRun) -> list[JsonValue]:
    return as_list(as_object(run.request.get("input")).get("lacking"))


async def complete(work: UnitOfWork, job: DistillJob) -> bool:
    """Delete a job, in the transaction that stores its results; False if its lease was lost."""
    statement = delete(Distillation).where(*_is_held(job))
    return (await work.session.exec(statement)).rowcount > 0


async def reschedule(work: UnitOfWork, job: DistillJob, *, seconds: float) -> None:
    """Release a job until later."""
    until = await database_now(work.session) + timedelta(seconds=seconds)
    statement = update(Distillation).where(*_is_held(job))
    await work.session.exec(statement.values(lease_owner=None, lease_until=until))


def _is_held(job: DistillJob) -> tuple[ColumnElement[bool], ...]:
    return (col(Distillation.run_key) == job.run_key, col(Distillation.lease_owner) == job.holder)
