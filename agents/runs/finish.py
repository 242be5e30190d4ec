"""The end of a run, by its driver or, if that is gone, from outside."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import update
from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.close_open import closing_events, end_activities
from agents.agui.encoder import AguiEncoder
from agents.agui.transcript import Transcript
from agents.event_log import LogClosed, LogEntry
from agents.events import Finished, Interrupt, RunUsage, WireEvent
from agents.llm_registry import usage
from agents.memory import queue
from agents.models import AgentRun, ChatMessage, ChatSession, RunInterrupt, RunStatus
from agents.runs import journal_store, task_logs
from agents.sessions.service import add_messages, last_question
from agents.strategies.shared.base import failure_event
from core.db.now import database_now
from core.db.types import now_ms, utc_now
from core.db.unit_of_work import UnitOfWork
from core.errors.base import AgentexError
from core.json_access import as_text
from kb_service.text.tokenizer import is_cjk_dominant


@dataclass(frozen=True)
class RunOutcome:
    """How a run ended, and what it leaves behind.

    ``waits`` if others must answer its calls before the work can go on; ``own_events`` is the
    journal's count including the last event.
    """

    status: RunStatus
    usage: RunUsage
    transcript: Transcript
    waits: bool = False
    interrupts: tuple[Interrupt, ...] = ()
    own_events: int = 0


async def finish(
    work: UnitOfWork, run_key: str, events: Sequence[WireEvent], ending: RunOutcome, *, driver: str
) -> list[LogEntry]:
    """Write a run's last events, the assistant's messages and the status, and free the thread.

    Raises ``LogClosed`` and writes nothing if it had ended or another process drives it.
    """
    run = await _hold(work.session, run_key)
    if run is None or run.lease_owner != driver:
        raise LogClosed
    return await _finish(work.session, run, events, ending)


async def abort(
    work: UnitOfWork, run_key: str, failure: AgentexError | None, *, if_lost: bool, driver: str | None = None
) -> list[LogEntry]:
    """End a run from outside its driver; messages so far are kept.

    A run that was asked to stop ends as cancelled, any other with the failure.

    Args:
        if_lost: Only if its lease has expired.
        driver: Only if this driver has the lease; None for any.

    Returns:
        The final events; empty if there was nothing to end.
    """
    run = await _hold(work.session, run_key)
    if run is None or driver not in {None, run.lease_owner}:
        return []
    if if_lost and run.lease_until >= await database_now(work.session):
        return []
    logged = await event_log.read_all(work.session, run_key)
    transcript = Transcript()
    transcript.carry_over(await task_logs.transcript_before(work.session, run), is_told=False)
    for event in logged:
        transcript.observe(event)
    mapper = AguiEncoder(as_text(logged[0]["threadId"]), run.run_id, now=now_ms)
    spent = replace(await journal_store.read_usage(work.session, run.task_id), model=run.model)
    if failure is None or run.stop_requested_at is not None:
        status = RunStatus.CANCELLED
        before = await task_logs.logs_before(work.session, run)
        # A call that an earlier run left to a person gets its result here.
        last = closing_events(chain(*before, logged), now=now_ms)
        last += end_activities(logged, "stopped", now=now_ms)
        last += mapper.translate(Finished(spent, outcome="cancelled"))
    else:
        status = RunStatus.FAILED
        is_chinese = is_cjk_dominant(await last_question(work.session, run.session_id))
        failed = failure_event(failure, spent, is_chinese=is_chinese)
        last = end_activities(logged, "failed", now=now_ms, failure=failed)
        last += mapper.translate(failed)
    for event in last:
        transcript.observe(event)
    return await _finish(work.session, run, last, RunOutcome(status, spent, transcript))


async def _hold(session: AsyncSession, run_key: str) -> AgentRun | None:
    """Lock the run's row until the transaction ends; None if it is not running."""
    query = select(AgentRun).where(AgentRun.id == run_key, AgentRun.status == RunStatus.RUNNING.value)
    return (await session.exec(query.with_for_update())).first()


async def _finish(
    session: AsyncSession, run: AgentRun, events: Sequence[WireEvent], ending: RunOutcome
) -> list[LogEntry]:
    run.status = ending.status.value
    run.finished_at = utc_now()
    run.prompt_tokens = ending.usage.prompt_tokens
    run.completion_tokens = ending.usage.completion_tokens
    session.add(run)
    await session.flush()
    entries = await event_log.append(session, run.id, events, own_events=ending.own_events)
    await add_messages(session, run.session_id, _messages(run, ending))
    for interrupt in ending.interrupts:
        session.add(
            RunInterrupt(
                id=interrupt.id,
                run_id=run.id,
                call_id=interrupt.call_id,
                interrupt=TypeAdapter(Interrupt).dump_python(interrupt, mode="json"),
                expires_at=datetime.fromisoformat(interrupt.expires_at),
            )
        )
    freed = update(ChatSession).where(col(ChatSession.active_run_id) == run.id)
    # Older interrupts were handled when the run took the thread.
    freed = freed.values(waiting_run_id=run.id) if ending.waits else freed
    await session.exec(freed.values(active_run_id=None))
    await usage.record_run(session, run)
    await queue.enqueue(session, run)
    return entries


def _milliseconds(run: AgentRun) -> int:
    lasted = (run.finished_at or utc_now()) - run.created_at
    return max(0, round(lasted.total_seconds() * 1000))


def _messages(run: AgentRun, ending: RunOutcome) -> list[ChatMessage]:
    """One row per message; the last one has the thoughts, calls and usage of the whole run.

    A run that waits without text leaves the message of its calls, with empty text, so that returning
    clients see what was done and asked.
    """
    spoken = ending.transcript.messages
    if ending.waits and not spoken and (asking := ending.transcript.asking) is not None:
        spoken = [asking]
    about: dict[str, JsonValue] = {"agent_type": run.agent_type}
    if run.model_id:
        about |= {"model_id": run.model_id, "model": run.model}
    whole: dict[str, JsonValue] = {
        **ending.transcript.metadata(),
        "usage": ending.usage.to_json(),
        "duration": _milliseconds(run),
    }
    if ending.interrupts:
        whole["interrupts"] = [
            {"id": ask.id, "reason": ask.reason, "message": ask.message, "tool_call_id": ask.call_id}
            for ask in ending.interrupts
        ]
    return [
        ChatMessage(
            session_id=run.session_id,
            message_id=message.message_id,
            position=0,
            role="assistant",
            content=message.content,
            content_type="markdown",
            details={**about, **message.details, **(whole if message is spoken[-1] else {})},
            run_id=run.run_id,
        )
        for message in spoken
    ]
