"""Logs of a task's runs: a task that waited goes on in another run."""

from sqlmodel import col, select
from sqlmodel.ext.asyncio.session import AsyncSession

from agents import event_log
from agents.agui.transcript import Transcript
from agents.events import WireEvent
from agents.models import AgentRun, ChatMessage


async def answered_call_ids(session: AsyncSession, run: AgentRun) -> set[str]:
    """Ids of a task's calls whose result is in an event."""
    return {
        str(event["toolCallId"])
        for key, _ in await _runs_of(session, run)
        for event in await event_log.read_all(session, key)
        if event["type"] == "TOOL_CALL_RESULT"
    }


async def transcript_before(session: AsyncSession, run: AgentRun) -> Transcript:
    """Work of a task's earlier runs that is in none of their messages."""
    transcript = Transcript()
    is_told = False
    for key, run_id in await _runs_before(session, run):
        earlier, transcript = transcript, Transcript()
        transcript.carry_over(earlier, is_told=is_told)
        for event in await event_log.read_all(session, key):
            transcript.observe(event)
        is_told = await _has_spoken(session, run.session_id, run_id)
    before = Transcript()
    before.carry_over(transcript, is_told=is_told)
    return before


async def logs_before(session: AsyncSession, run: AgentRun) -> list[list[WireEvent]]:
    """The logs of a task's earlier runs, in order."""
    return [await event_log.read_all(session, key) for key, _ in await _runs_before(session, run)]


async def _runs_before(session: AsyncSession, run: AgentRun) -> list[tuple[str, str]]:
    if run.task_id in {"", run.id}:
        # Most runs began their task; runs of old versions have no task.
        return []
    runs = await _runs_of(session, run)
    return runs[: runs.index((run.id, run.run_id))]


async def _runs_of(session: AsyncSession, run: AgentRun) -> list[tuple[str, str]]:
    query = select(AgentRun.id, AgentRun.run_id).where(
        # By thread, because a task has no index.
        AgentRun.session_id == run.session_id,
        AgentRun.task_id == run.task_id,
    )
    in_order = query.order_by(col(AgentRun.created_at), col(AgentRun.id))
    return [(key, run_id) for key, run_id in (await session.exec(in_order)).all()]


async def _has_spoken(session: AsyncSession, session_key: str, run_id: str) -> bool:
    """Whether a run left a message; runs of old versions that only asked left none."""
    answers = select(ChatMessage.id).where(
        ChatMessage.session_id == session_key, ChatMessage.run_id == run_id, ChatMessage.role == "assistant"
    )
    return (await session.exec(answers)).first() is not None
